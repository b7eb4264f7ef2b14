"""Rows from edges: equal to the slow and obvious way, whatever the options, ranges and parts."""

from collections import Counter

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array

from gravel.kernels.csr import DIRECTIONS, build, degrees
from gravel.kernels.csr.rows import RowBuilder
from gravel.kernels.csr.sort import LONG_ROW, SHORT_ROW
from gravel.kernels.csr.split import next_bound, split
from gravel.kernels.generate import generate
from tests.zoo import zoo

ZOO = list(zoo())


def arcs_of(source, target, direction, keep_duplicates, keep_loops):
    arcs = Counter()
    for u, v in zip(source.tolist(), target.tolist(), strict=True):
        if u == v:
            arcs[u, v] += keep_loops
            continue
        arcs[u, v] += direction != "reverse"
        arcs[v, u] += direction != "as_given"
    if keep_duplicates:
        return sorted(arcs.elements())
    return sorted(arc for arc, count in arcs.items() if count)


def as_arcs(rows, first=0):
    lengths = numpy.diff(rows.row_offsets)
    source = numpy.repeat(numpy.arange(first, first + len(lengths)), lengths)
    return list(zip(source.tolist(), rows.column_indices.tolist(), strict=True))


@pytest.mark.parametrize("graph", ZOO, ids=lambda graph: graph.name)
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("keep_duplicates", [False, True])
@pytest.mark.parametrize("keep_loops", [False, True])
def test_zoo(graph, direction, keep_duplicates, keep_loops):
    options = {"direction": direction, "keep_duplicates": keep_duplicates, "keep_loops": keep_loops}
    rows = build(graph.source, graph.target, graph.vertex_count, **options)
    expected = arcs_of(graph.source, graph.target, **options)
    assert as_arcs(rows) == expected
    assert rows.row_offsets.dtype == numpy.int64
    assert rows.column_indices.dtype == numpy.uint32
    assert len(rows.row_offsets) == graph.vertex_count + 1
    assert rows.loop_count == sum(u == v for u, v in expected)


@st.composite
def edge_lists(draw):
    vertices = draw(st.integers(1, 30))
    ends = st.integers(0, vertices - 1)
    pairs = draw(st.lists(st.tuples(ends, ends), max_size=80))
    edges = numpy.array(pairs, numpy.uint32).reshape(-1, 2)
    return vertices, edges[:, 0].copy(), edges[:, 1].copy()


OPTIONS = st.fixed_dictionaries(
    {"direction": st.sampled_from(DIRECTIONS), "keep_duplicates": st.booleans(), "keep_loops": st.booleans()}
)


@given(edges=edge_lists(), options=OPTIONS, data=st.data())
@settings(max_examples=60, deadline=None)
def test_ranges_are_parts_of_the_whole(edges, options, data):
    vertices, source, target = edges
    expected = arcs_of(source, target, **options)
    first = data.draw(st.integers(0, vertices))
    last = data.draw(st.integers(first, vertices))
    rows = build(source, target, vertices, **options, first_vertex=first, last_vertex=last)
    assert as_arcs(rows, first) == [(u, v) for u, v in expected if first <= u < last]
    assert rows.loop_count == sum(u == v and first <= u < last for u, v in expected)


@given(edges=edge_lists(), options=OPTIONS, data=st.data())
@settings(max_examples=40, deadline=None)
def test_edges_may_come_in_parts(edges, options, data):
    vertices, source, target = edges
    keep_duplicates = options.pop("keep_duplicates")
    whole = build(source, target, vertices, **options, keep_duplicates=keep_duplicates)
    cut = data.draw(st.integers(0, len(source)))
    parts = [(source[:cut], target[:cut]), (source[cut:], target[cut:])]
    counts = numpy.zeros(vertices + 2, numpy.int64)
    for one, other in parts:
        degrees(one, other, vertices, **options, out=counts[2:])
    builder = RowBuilder(counts, source.dtype, **options)
    for one, other in parts:
        builder.add(one, other)
    rows = builder.finish(keep_duplicates=keep_duplicates, vertex_count=vertices)
    assert as_arcs(rows) == as_arcs(whole)


@given(edges=edge_lists(), options=OPTIONS, data=st.data())
@settings(max_examples=40, deadline=None)
def test_split_deals_each_arc_to_its_range(edges, options, data):
    vertices, source, target = edges
    options.pop("keep_duplicates")
    inner = data.draw(st.lists(st.integers(0, vertices), max_size=4))
    bounds = numpy.array(sorted({0, vertices, *inner}))
    rows, columns, ends = split(source, target, bounds, **options)
    assert len(ends) == len(bounds)
    assert ends[-1] == len(rows) == len(columns)
    dealt = []
    for part in range(len(bounds) - 1):
        own = slice(ends[part], ends[part + 1])
        assert ((rows[own] >= bounds[part]) & (rows[own] < bounds[part + 1])).all()
        dealt += zip(rows[own].tolist(), columns[own].tolist(), strict=True)
    assert sorted(dealt) == arcs_of(source, target, **options, keep_duplicates=True)


@pytest.mark.parametrize("length", [SHORT_ROW, SHORT_ROW + 1, 300, LONG_ROW - 1, LONG_ROW, LONG_ROW + 5])
@pytest.mark.parametrize("vertices", [200, 70_000, 2**31])
def test_rows_of_every_length_are_sorted(length, vertices):
    """By insertion, by radix with one to four passes, by NumPy; beside short rows on both sides."""
    random = numpy.random.default_rng(length)
    target = random.integers(0, vertices, length).astype(numpy.uint32)
    source = numpy.full(length, 1, numpy.uint32)
    around = numpy.array([[0, 3], [0, 2], [2, 5], [2, 4]], numpy.uint32)
    source, target = numpy.append(source, around[:, 0]), numpy.append(target, around[:, 1])
    rows = build(
        source,
        target,
        vertices,
        direction="as_given",
        keep_duplicates=True,
        keep_loops=True,
        first_vertex=0,
        last_vertex=3,
    )
    assert rows.row_offsets.tolist() == [0, 2, 2 + length, 4 + length]
    assert rows.column_indices[:2].tolist() == [2, 3]
    assert numpy.array_equal(rows.column_indices[2:-2], numpy.sort(target[:-4]))
    assert rows.column_indices[-2:].tolist() == [4, 5]


def test_wide_vertices():
    base = 2**33
    source = numpy.array([1, 1, 2, 1], numpy.uint64) + numpy.uint64(base)
    target = numpy.array([9, 7, 1, 7], numpy.uint64) + numpy.uint64(base)
    rows = build(source, target, base + 10, direction="as_given", first_vertex=base, last_vertex=base + 3)
    assert rows.column_indices.dtype == numpy.uint64
    assert rows.row_offsets.tolist() == [0, 0, 2, 3]
    assert rows.column_indices.tolist() == [base + 7, base + 9, base + 1]


def test_large_graph_equals_scipys():
    """Large enough for all threads, many row blocks and a hub beyond LONG_ROW."""
    vertices = 1 << 15
    source, target = generate("rmat", scale=15, edge_factor=16, seed=2)
    hub = numpy.arange(vertices, dtype=numpy.uint32)
    source, target = numpy.append(source, hub * 0 + 77), numpy.append(target, hub)
    source, target = numpy.append(source, hub * 0 + 77), numpy.append(target, hub)
    rows = build(source, target, vertices)
    ends = numpy.append(source, target), numpy.append(target, source)
    matrix = coo_array((numpy.ones(len(ends[0]), bool), ends), (vertices, vertices)).tocsr()
    matrix.sum_duplicates()
    matrix.setdiag(False)
    matrix.eliminate_zeros()
    matrix.sort_indices()
    assert numpy.array_equal(rows.row_offsets, matrix.indptr)
    assert numpy.array_equal(rows.column_indices, matrix.indices)
    counted = degrees(source, target, vertices)
    loops = source == target
    assert numpy.array_equal(
        counted, numpy.bincount(numpy.append(source[~loops], target[~loops]), minlength=vertices)
    )


@pytest.mark.parametrize("budget", [10, 25, 1000])
def test_next_bound_is_the_largest_that_fits(budget):
    lengths = numpy.array([3, 0, 2, 5, 0, 0, 1], numpy.int64)
    first = 0
    while first < len(lengths):
        last = next_bound(lengths, first, budget, 2, 1)
        used = 2 * lengths[first:last].sum() + (last - first)
        assert used <= budget
        if last < len(lengths):
            assert used + 2 * lengths[last] + 1 > budget
        if last == first:
            assert 2 * lengths[first] + 1 > budget
            last += 1
        first = last


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vertex_count": 4}, "joins 1 and 4; there are 4 vertices"),
        ({"target": numpy.zeros(2, numpy.uint32)}, "must be alike"),
        ({"target": numpy.zeros(3, numpy.uint64)}, "uint64"),
        ({"direction": "forwards"}, "direction is 'forwards'"),
        ({"first_vertex": 4, "last_vertex": 3}, "rows 4 to 3"),
        ({"last_vertex": 6}, "rows 0 to 6"),
    ],
)
def test_wrong_edges_are_named(change, message):
    edges = {
        "source": numpy.array([0, 1, 2], numpy.uint32),
        "target": numpy.array([1, 4, 3], numpy.uint32),
        "vertex_count": 5,
    }
    with pytest.raises(ValueError, match=message):
        build(**{**edges, **change})
