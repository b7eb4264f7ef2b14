"""Betweenness against NetworkX, and by what its sums must be on any graph."""

from __future__ import annotations

import networkx
import numpy
import pytest

from gravel.kernels.betweenness import brandes, on_threads
from gravel.kernels.betweenness.buffers import workspace
from gravel.kernels.betweenness.interface import TooManyPaths, Wanted
from gravel.kernels.betweenness.parts_cuda import PART_ARCS, SHARES, part_of
from gravel.kernels.betweenness.sums import betweenness, prepare, scale
from gravel.kernels.buffers import exact
from gravel.kernels.csr.reversed import reversed_rows
from gravel.kernels.distances.interface import TooNarrow
from gravel.kernels.ids.distinct import distinct
from tests.kernels.cuda_case import on_device
from tests.kernels.distances.test_many import random_rows, scipy_all
from tests.zoo import zoo

ON = [pytest.param("cpu"), pytest.param("cuda", marks=pytest.mark.gpu)]
FORMS = {"vertices": {}, "endpoints": {"endpoints": True}, "arcs": {"of_arcs": True}}


def simple(rows):
    """Drop parallel arcs and loops, which NetworkX's graphs have no more of."""
    offsets, columns = rows
    n = len(offsets) - 1
    row = numpy.repeat(numpy.arange(n), numpy.diff(offsets))
    keys = distinct((row * n + columns)[row != columns])
    counts = numpy.bincount(keys // n, minlength=n)
    return numpy.concatenate([[0], numpy.cumsum(counts)]), (keys % n).astype(columns.dtype)


def arcs_of(rows):
    return numpy.repeat(numpy.arange(len(rows[0]) - 1), numpy.diff(rows[0])).tolist(), rows[1].tolist()


def of_networkx(rows, symmetric, endpoints=False, of_arcs=False):
    made = networkx.empty_graph(len(rows[0]) - 1, networkx.Graph if symmetric else networkx.DiGraph)
    arcs = list(zip(*arcs_of(rows), strict=True))
    made.add_edges_from(arcs)
    if not of_arcs:
        found = networkx.betweenness_centrality(made, normalized=False, endpoints=endpoints)
        return numpy.array([found[v] for v in made])
    found = networkx.edge_betweenness_centrality(made, normalized=False)
    return numpy.array([found[arc] if arc in found else found[arc[::-1]] for arc in arcs])


@pytest.mark.parametrize("backend", ON)
@pytest.mark.parametrize("deep", [False, True], ids=["rows", "one by one"])
@pytest.mark.parametrize("form", FORMS)
def test_random_graphs_have_the_values_of_networkx(backend, deep, form):
    for seed in range(12):
        symmetric = seed % 3 > 0
        rows = simple(random_rows(seed, symmetric=symmetric, vertices=90))
        back = rows if symmetric else reversed_rows(*rows)[:2]
        expected = of_networkx(rows, symmetric, **FORMS[form])
        there = (rows, back) if backend == "cpu" else (on_device(*rows), on_device(*back))
        found = betweenness(*there, deep=deep, **FORMS[form])
        if symmetric and form == "arcs":  # each of the two arcs has the paths of its own direction
            one_way = dict(zip(zip(*arcs_of(rows), strict=True), found.tolist(), strict=True))
            numpy.testing.assert_allclose(found, [one_way[w, v] for v, w in one_way], rtol=1e-10)
        elif symmetric:
            expected = 2 * expected
        numpy.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("backend", ON)
@pytest.mark.parametrize("deep", [False, True], ids=["rows", "one by one"])
@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
def test_sums_over_vertices_and_arcs_are_sums_of_distances(backend, deep, symmetric):
    for graph in zoo():
        if not 0 < graph.vertex_count < 2000:
            continue
        rows = graph.csr(symmetric=symmetric)
        back = rows if symmetric else reversed_rows(*rows)[:2]
        there = (rows, back) if backend == "cpu" else (on_device(*rows), on_device(*back))
        sources = numpy.random.default_rng(2).integers(0, graph.vertex_count, 70)
        distance = scipy_all(rows, sources)
        pairs = distance > 0
        for form, inner in {"vertices": -1, "endpoints": 1, "arcs": 0}.items():
            found = betweenness(*there, sources, deep=deep, **FORMS[form])
            assert found.sum() == pytest.approx((distance + inner)[pairs].sum(), rel=1e-10), graph.name
            assert (found >= 0).all()


def test_the_number_of_threads_and_the_memory_change_no_bit(monkeypatch):
    rows = random_rows(3, vertices=400)
    each = exact(workspace(400, 4, 400))
    sources = numpy.arange(400)
    found = {}
    for threads in (1, 3):
        monkeypatch.setattr(on_threads, "thread_count", lambda threads=threads: threads)
        for memory in (None, each + 3200):
            sums = prepare(Wanted(rows, rows, 400), memory=memory)
            assert sums.threads == (1 if memory else threads)
            assert memory is None or sums.bytes <= memory
            found[threads, memory] = betweenness(rows, rows, sources, memory=memory).tobytes()
    assert len(set(found.values())) == 1
    with pytest.raises(TooNarrow, match=f"1 searches at once take {each + 3200:,} bytes"):
        prepare(Wanted(rows, rows, 400), memory=each + 3199)


@pytest.mark.parametrize("backend", ON)
@pytest.mark.parametrize("deep", [False, True], ids=["rows", "one by one"])
def test_sums_can_be_taken_out_and_go_on(backend, deep):
    rows = random_rows(8, vertices=300)
    there = rows if backend == "cpu" else on_device(*rows)
    sources = numpy.arange(300)
    whole = betweenness(there, there, sources, deep=deep)
    first = prepare(Wanted(there, there, 300), deep=deep)
    first.run(sources[: first.batch])
    after = prepare(Wanted(there, there, 300), deep=deep)
    after.set(first.get())
    for begin in range(first.batch, 300, first.batch):
        after.run(sources[begin : begin + first.batch])
    numpy.testing.assert_array_equal(after.get(), whole)


def diamonds(count):
    """A row of diamonds: the paths double at each."""
    ends = [(3 * i + a, 3 * i + b) for i in range(count) for a, b in ((0, 1), (0, 2), (1, 3), (2, 3))]
    made = networkx.Graph(ends)
    matrix = networkx.to_scipy_sparse_array(made, nodelist=range(3 * count + 1))
    return matrix.indptr.astype(numpy.int64), matrix.indices.astype(numpy.uint32)


@pytest.mark.parametrize("backend", ON)
@pytest.mark.parametrize("deep", [False, True], ids=["rows", "one by one"])
def test_more_paths_than_a_float_holds_are_refused(backend, deep):
    rows = diamonds(1000)
    there = rows if backend == "cpu" else on_device(*rows)
    found = betweenness(there, there, [0], deep=deep)
    # 2^1000 paths: the arms of every diamond share those to all behind it.
    behind = 3 * numpy.arange(1000)[::-1] + 1
    numpy.testing.assert_allclose(found[1::3], behind / 2, rtol=1e-10)
    rows = diamonds(1030)
    there = rows if backend == "cpu" else on_device(*rows)
    with pytest.raises(TooManyPaths, match="shortest paths from vertex 0 to some vertex are more than"):
        betweenness(there, there, [2000, 0], deep=deep)


def test_what_sums_are_multiplied_by():
    assert scale(5, normalized=True, directed=False) == 1 / 12
    assert scale(5, normalized=True, directed=True, endpoints=True) == 1 / 20
    assert scale(5, normalized=True, directed=False, of_arcs=True, sampled=0.5) == 1 / 10
    assert scale(5, normalized=False, directed=False, sampled=0.25) == 2
    assert scale(5, normalized=False, directed=True) == 1
    assert scale(2, normalized=True, directed=True) == 1


def test_parts_are_whole_batches():
    for batch, sources, arcs in ((64, 1 << 20, 1 << 20), (64, 100, 1 << 20), (300, 1 << 20, 1 << 27)):
        part = part_of(batch, sources, arcs)
        assert part % batch == 0
        assert part == batch or part <= min(sources / SHARES, PART_ARCS / arcs)
    assert part_of(64, 1 << 20, 1 << 20) == (1 << 20) // SHARES


@pytest.mark.parametrize("seed", range(6))
def test_arcs_of_each_level_are_counted_for_both_directions(seed):
    rows = random_rows(seed, symmetric=seed % 2 == 0, vertices=200)
    back = rows if seed % 2 == 0 else reversed_rows(*rows)[:2]
    own = brandes.Workspace(200, 200, rows[1].dtype)
    _, depth = brandes._forward((*rows, *back), 0, own.search, numpy.zeros(1, numpy.int32))
    for level in range(depth + 1):
        there = own.level == level
        degrees = [int(numpy.diff(offsets)[there].sum()) for offsets, _ in (rows, back)]
        assert own.level_arcs[:, level].tolist() == degrees


def test_no_sources_and_sources_that_are_no_vertices():
    rows = random_rows(5)
    assert not betweenness(rows, rows, []).any()
    with pytest.raises(ValueError, match="there is no vertex 100000"):
        betweenness(rows, rows, [100_000])
