"""Sums over the results of many searches against SciPy's distances, in every form and width."""

from __future__ import annotations

import numpy
import pytest
from scipy.sparse import csgraph, csr_array

from gravel.kernels.buffers import exact, total
from gravel.kernels.distances import buffers, many
from gravel.kernels.distances.buffers import least_device_bytes, own_searches, workspace
from gravel.kernels.distances.interface import Batches, TooNarrow
from gravel.kernels.distances.many import aggregate, aggregate_rows
from gravel.kernels.distances.many_cpu import Independent
from gravel.kernels.layouts import encode
from tests.kernels.cuda_case import fast_csr, on_device, rmat
from tests.zoo import zoo

ON = [pytest.param("cpu"), pytest.param("cuda", marks=pytest.mark.gpu)]
GRAPHS = [graph for graph in zoo() if graph.vertex_count]
FORMS = {"bit_parallel": False, "independent": True}


def place(backend, *arrays):
    return arrays if backend == "cpu" else on_device(*arrays)


def random_rows(seed, *, symmetric=True, vertices=None):
    """Draw a graph of several components, with isolated vertices, loops and parallel arcs, rows unsorted."""
    rng = numpy.random.default_rng(seed)
    n = vertices or int(rng.integers(1, 400))
    m = int(rng.integers(0, 3 * n))
    source, target = rng.integers(0, n, m), rng.integers(0, n, m)
    target[: m // 5] = source[: m // 5]
    source[m // 2 : m // 2 + m // 8] = 0
    again = slice(m // 3, m // 2)
    source, target = numpy.append(source, source[again]), numpy.append(target, target[again])
    if symmetric:
        source, target = numpy.append(source, target), numpy.append(target, source)
    order = numpy.argsort(source, kind="stable")
    offsets = numpy.zeros(n + 1, numpy.int64)
    numpy.cumsum(numpy.bincount(source, minlength=n), out=offsets[1:])
    return offsets, target[order].astype(numpy.uint32)


def ascending(rows):
    """Sort each row."""
    offsets, columns = rows
    row = numpy.repeat(numpy.arange(len(offsets) - 1), numpy.diff(offsets))
    return offsets, columns[numpy.lexsort((columns, row))]


def encodable(rows, dtype=numpy.uint32):
    """Sort each row and leave out what it says again."""
    offsets, columns = ascending(rows)
    row = numpy.repeat(numpy.arange(len(offsets) - 1), numpy.diff(offsets))
    kept = numpy.ones(len(columns), bool)
    kept[1:] = (row[1:] != row[:-1]) | (columns[1:] != columns[:-1])
    counts = numpy.bincount(row[kept], minlength=len(offsets) - 1)
    return numpy.concatenate([[0], numpy.cumsum(counts)]), columns[kept].astype(dtype)


def scipy_all(rows, sources):
    """Return distances (sources, vertices), -1 for unreached."""
    offsets, columns = rows
    n = len(offsets) - 1
    matrix = csr_array((numpy.ones(len(columns)), columns.astype(numpy.int32), offsets), shape=(n, n))
    found = csgraph.dijkstra(matrix, unweighted=True, indices=sources)
    found[numpy.isinf(found)] = -1
    return found.astype(numpy.int64)


def check(found, rows, sources, *, max_depth=None, levels=0, vertices=False):
    distance = scipy_all(rows, sources)
    if max_depth is not None:
        distance[distance > max_depth] = -1
    reached = distance >= 0
    numpy.testing.assert_array_equal(found.reached, reached.sum(1))
    numpy.testing.assert_array_equal(found.total, numpy.where(reached, distance, 0).sum(1))
    numpy.testing.assert_array_equal(found.eccentricity, distance.max(1))
    inverse = numpy.where(distance > 0, 1 / numpy.maximum(distance, 1), 0.0)
    numpy.testing.assert_allclose(found.reciprocal, inverse.sum(1), rtol=1e-12)
    if levels:
        for level in range(levels):
            numpy.testing.assert_array_equal(found.counts[:, level], (distance == level).sum(1))
    else:
        assert found.counts is None
    if vertices:
        numpy.testing.assert_array_equal(found.vertices.reached, reached.sum(0))
        numpy.testing.assert_array_equal(found.vertices.total, numpy.where(reached, distance, 0).sum(0))
        numpy.testing.assert_array_equal(found.vertices.largest, distance.max(0))
    else:
        assert found.vertices is None


@pytest.mark.parametrize("backend", ON)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
def test_every_small_graph(backend, form, symmetric):
    for graph in GRAPHS:
        rows = graph.csr(symmetric=symmetric)
        sources = numpy.random.default_rng(3).integers(0, graph.vertex_count, 100)
        asked = {"levels": 3, "vertices": True}
        found = aggregate(
            *place(backend, *rows), sources, symmetric=symmetric, independent=FORMS[form], **asked
        )
        check(found, rows, sources, **asked)


@pytest.mark.parametrize("backend", ON)
@pytest.mark.parametrize("form", FORMS)
def test_random_graphs_in_parts(backend, form):
    for seed in range(40):
        symmetric = seed % 4 > 0
        rows = random_rows(seed, symmetric=symmetric)
        n = len(rows[0]) - 1
        sources = numpy.random.default_rng(seed).integers(0, n, 1 + seed * 7)
        asked = {
            "max_depth": seed % 5 if seed % 3 == 0 else None,
            "levels": seed % 4,
            "vertices": seed % 2 == 0,
        }
        found = aggregate(
            *place(backend, *rows), sources, symmetric=symmetric, independent=FORMS[form], **asked
        )
        check(found, rows, sources, **asked)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("batch", "index"),
    [(64, numpy.uint32), (64, numpy.uint64), (256, numpy.uint32), (1024, numpy.uint32), (4096, numpy.uint64)],
)
@pytest.mark.parametrize("layout", ["varint", "blocks", "elias_fano"])
def test_encoded_rows_that_a_gpu_reads_as_they_are(layout, batch, index):
    rows = fast_csr(rmat(14), symmetric=True, index=index)
    there = on_device(*rows)
    sources = numpy.random.default_rng(batch).integers(0, len(rows[0]) - 1, 2 * batch)
    asked = {"symmetric": True, "batch": batch, "levels": 3, "vertices": True}
    expected = aggregate(*there, sources, independent=False, **asked)
    found = aggregate_rows(encode(layout, *there), sources, **asked)
    for name in ("reached", "total", "eccentricity", "reciprocal", "counts"):
        numpy.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    for name in ("reached", "total", "largest"):
        numpy.testing.assert_array_equal(getattr(found.vertices, name), getattr(expected.vertices, name))
    for seed in range(6):
        small = encodable(random_rows(seed, symmetric=seed % 2 == 0), index)
        starts = numpy.random.default_rng(seed).integers(0, len(small[0]) - 1, 70)
        rows_there = encode(layout, *on_device(*small))
        found = aggregate_rows(rows_there, starts, symmetric=seed % 2 == 0, batch=batch, vertices=True)
        check(found, small, starts, vertices=True)


@pytest.mark.parametrize("backend", ON)
@pytest.mark.parametrize("batch", [1, 63, 64, 65, 256, 1000, 2048, 4096])
def test_every_width(backend, batch):
    rows = random_rows(99, vertices=300)
    sources = numpy.random.default_rng(1).integers(0, 300, 4100)
    asked = {"levels": 2, "vertices": True}
    found = aggregate(
        *place(backend, *rows), sources, symmetric=True, batch=batch, independent=False, **asked
    )
    check(found, rows, sources, **asked)


def test_memory_narrows_a_batch():
    rows = random_rows(7, vertices=1000)
    n, columns = 1000, 4
    least = exact(workspace(n, 1, columns))
    found = many.prepare(*rows, symmetric=True, sources=10_000, memory=3 * least, independent=False)
    assert found.bytes <= 3 * least
    assert found.batch < 1024
    sources = numpy.arange(n)
    into = many.Aggregates.empty(n)
    steps = []
    many.run_all(found, sources, into, lambda done, total: steps.append((done, total)))
    check(into, rows, sources)
    assert steps[-1] == (n, n)
    assert len(steps) == -(-n // found.batch)
    with pytest.raises(ValueError, match=f"64 searches at once take {least:,} bytes"):
        many.prepare(*rows, symmetric=True, sources=10_000, memory=least - 1, independent=False)


def test_a_road_gets_searches_of_its_own_and_a_small_world_does_not():
    side = 200
    lattice = [(i, i + 1) for i in range(side * side) if (i + 1) % side]
    lattice += [(i, i + side) for i in range(side * (side - 1))]
    ends = numpy.array(lattice)
    both = numpy.concatenate([ends, ends[:, ::-1]])
    both = both[numpy.lexsort((both[:, 1], both[:, 0]))]
    offsets = numpy.concatenate([[0], numpy.cumsum(numpy.bincount(both[:, 0], minlength=side * side))])
    rows = offsets.astype(numpy.int64), both[:, 1].astype(numpy.uint32)
    assert many.prepare(*rows, symmetric=True, sources=64).independent
    small = random_rows(5, vertices=400)
    assert not many.prepare(*small, symmetric=True, sources=64).independent
    sources = numpy.arange(0, side * side, 1999)
    check(aggregate(*rows, sources, symmetric=True), rows, sources)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sources": [1, 5]}, "no vertex 5"),
        ({"sources": [-1]}, "no vertex -1"),
        ({"sources": [0], "max_depth": -1}, "max_depth is -1"),
        ({"sources": [0], "batch": 0}, "batch is 0"),
    ],
)
def test_what_cannot_be_searched(options, message):
    rows = numpy.array([0, 1, 2, 2, 2, 2], numpy.int64), numpy.array([1, 0], numpy.uint32)
    with pytest.raises(ValueError, match=message):
        aggregate(*rows, options.pop("sources"), symmetric=True, **options)


def test_one_search_that_memory_has_no_room_for_is_refused():
    row_offsets, columns = random_rows(5)
    each = exact(buffers.own_search(len(row_offsets) - 1, columns.itemsize))
    with pytest.raises(TooNarrow, match=f"1 searches at once take {each:,} bytes"):
        Independent(row_offsets, columns, Batches(True, 4, 9, 0, False, each - 1))
    Independent(row_offsets, columns, Batches(True, 4, 9, 0, False, each))


def test_no_sources():
    rows = random_rows(5)
    assert len(aggregate(*rows, [], symmetric=True, levels=2).counts) == 0
    with pytest.raises(ValueError, match="there are no sources"):
        many.prepare(*rows, symmetric=True, sources=0)


@pytest.mark.parametrize("vertices", [1000, 1_524_453, 1 << 24, 1 << 31])
def test_what_a_batch_takes_at_most_holds_for_searches_of_their_own(vertices):
    for sources in (1, 64, 65, 256, 257, 1024):
        stated = total(buffers.on_device(vertices, 2 * vertices, 4, sources))
        for blocks, bits in ((132, False), (264, True)):  # of an H100
            taken = total(own_searches(vertices, 4, min(sources, blocks), bits=bits))
            assert least_device_bytes(vertices, 4) <= taken <= stated


@pytest.mark.gpu
def test_frontiers_longer_than_the_queue_of_a_block():
    legs, length = 40_000, 15
    ends = numpy.arange(1, legs * length + 1)
    before = numpy.maximum(0, ends - legs)
    source, target = numpy.append(ends, before), numpy.append(before, ends)
    order = numpy.lexsort((target, source))
    offsets = numpy.concatenate([[0], numpy.cumsum(numpy.bincount(source))]).astype(numpy.int64)
    rows = offsets, target[order].astype(numpy.uint32)
    sources = numpy.concatenate([[0], numpy.random.default_rng(1).integers(0, len(offsets) - 1, 40)])
    asked = {"symmetric": True, "independent": True, "levels": 4}
    expected = aggregate(*rows, sources, **asked)
    for vertices in (False, True):
        found = aggregate(*on_device(*rows), sources, vertices=vertices, **asked)
        for each in ("reached", "total", "reciprocal", "eccentricity", "counts"):
            numpy.testing.assert_array_equal(getattr(found, each), getattr(expected, each), err_msg=each)
