"""Orders are permutations that do what they say; renumbering and its statistics equal SciPy's."""

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from gravel.kernels.csr import build
from gravel.kernels.csr.sort import LONG_ROW
from gravel.kernels.generate import generate
from gravel.kernels.order import METHODS, apply, permutation, statistics
from gravel.kernels.order.renumber import Renumbering
from tests.zoo import zoo

ZOO = list(zoo())


def matrix_of(offsets, columns):
    vertices = len(offsets) - 1
    return csr_array(
        (numpy.ones(len(columns), numpy.int8), columns.astype(numpy.int32), offsets), (vertices,) * 2
    )


@pytest.mark.parametrize("graph", ZOO, ids=lambda graph: graph.name)
@pytest.mark.parametrize("method", METHODS)
def test_zoo(graph, method):
    offsets, columns = graph.csr()
    new = permutation(method, offsets, columns, seed=3)
    assert new.dtype == numpy.uint32
    assert sorted(new.tolist()) == list(range(graph.vertex_count))
    assert numpy.array_equal(new, permutation(method, offsets, columns, seed=3))
    moved, lists = apply(offsets, columns, new)
    expected = {
        (new[u], new[v]) for u in range(graph.vertex_count) for v in columns[offsets[u] : offsets[u + 1]]
    }
    found = [(u, v) for u in range(graph.vertex_count) for v in lists[moved[u] : moved[u + 1]]]
    assert found == sorted(expected)
    assert lists.dtype == columns.dtype
    assert moved.dtype == numpy.int64


@pytest.mark.parametrize("graph", ZOO, ids=lambda graph: graph.name)
def test_degree_order(graph):
    offsets, _ = graph.csr()
    lengths = numpy.diff(offsets)
    expected = sorted(range(graph.vertex_count), key=lambda vertex: (-lengths[vertex], vertex))
    new = permutation("degree", offsets, None)
    assert [int(new[old]) for old in expected] == list(range(graph.vertex_count))


def test_degree_order_of_rows_longer_than_the_vertices():
    offsets = numpy.array([0, 1, 50, 51, 100], numpy.int64)
    assert permutation("degree", offsets, None).tolist() == [2, 0, 3, 1]


def test_random_orders_differ_by_seed():
    offsets = numpy.zeros(1001, numpy.int64)
    one, other = (permutation("random", offsets, None, seed=seed) for seed in (1, 2))
    assert (one != other).mean() > 0.9
    assert abs(numpy.corrcoef(one, numpy.arange(1000))[0, 1]) < 0.2


def test_large_renumbering_equals_scipys():
    """All threads, many row blocks, a row that NumPy sorts, and ranges of new rows."""
    vertices = LONG_ROW + 5000
    source, target = generate("uniform", vertices=vertices, edges=100_000, seed=1)
    hub = numpy.arange(vertices, dtype=numpy.uint32)
    offsets, columns, _ = build(numpy.append(source, hub * 0 + 9), numpy.append(target, hub), vertices)
    new = permutation("random", offsets, columns, seed=4)
    moved, lists = apply(offsets, columns, new)
    old = numpy.argsort(new)
    expected = matrix_of(offsets, columns)[old][:, old]
    expected.sort_indices()
    assert numpy.array_equal(moved, expected.indptr)
    assert numpy.array_equal(lists, expected.indices)
    renumbering = Renumbering(offsets, columns, new)
    parts = [renumbering.rows(low, min(low + 7777, vertices)) for low in range(0, vertices, 7777)]
    assert numpy.array_equal(numpy.concatenate(parts), lists)


@pytest.mark.parametrize("bits", [7, 14, 21, 28])
def test_the_bytes_of_a_difference_on_both_sides_of_a_border(bits):
    for delta, size in (((1 << bits) - 1, bits // 7), (1 << bits, bits // 7 + 1)):
        columns = numpy.array([delta], numpy.uint32)
        assert statistics(numpy.array([0, 1]), columns) == (1, delta, delta, size)


@given(
    st.lists(st.lists(st.integers(0, 40_000), max_size=12, unique=True).map(sorted), max_size=20), st.data()
)
@settings(max_examples=50, deadline=None)
def test_statistics_of_any_rows(rows, data):
    columns = numpy.array([v for row in rows for v in row], numpy.uint32)
    offsets = numpy.cumsum([0, *map(len, rows)]).astype(numpy.int64)
    gaps = [abs(u - v) for u, row in enumerate(rows) for v in row]
    deltas = [b - a for row in rows for a, b in zip([0, *row], row, strict=False)]
    size = sum(max(1, -(-delta.bit_length() // 7)) for delta in deltas)
    found = statistics(offsets, columns)
    assert found == (len(gaps), max(gaps, default=0), sum(gaps), size)
    assert found.mean_gap == (numpy.mean(gaps) if gaps else 0)
    assert found.bits_per_arc == (8 * size / len(gaps) if gaps else 0)
    cut = data.draw(st.integers(0, len(rows)))
    low = statistics(offsets[: cut + 1], columns[: offsets[cut]])
    high = statistics(offsets[cut:], columns[offsets[cut] :], cut)
    assert low.joined(high) == found


def test_wide_vertices():
    offsets, columns = numpy.array([0, 1, 2]), numpy.array([1, 0], numpy.uint64)
    moved, lists = apply(offsets, columns, numpy.array([1, 0], numpy.uint64))
    assert lists.dtype == numpy.uint64
    assert lists.tolist() == [1, 0]
    assert statistics(moved, lists).bandwidth == 1


@pytest.mark.parametrize("wrong", [[0, 0, 1], [0, 1, 3], [0, 1]])
def test_what_is_no_permutation_is_refused(wrong):
    offsets, columns = numpy.array([0, 1, 2, 2]), numpy.array([1, 0], numpy.uint32)
    with pytest.raises(ValueError, match="permutation"):
        apply(offsets, columns, numpy.array(wrong, numpy.uint32))


def test_an_unknown_order_is_named():
    with pytest.raises(ValueError, match="unknown order 'gorder'"):
        permutation("gorder", numpy.zeros(1, numpy.int64), None)


@pytest.mark.gpu
@pytest.mark.parametrize("graph", ZOO, ids=lambda graph: graph.name)
def test_cuda_measures_the_same(graph):
    import cupy

    offsets, columns = graph.csr()
    on_device = cupy.asarray(offsets), cupy.asarray(columns)
    measured = statistics(offsets, columns)
    assert statistics(*on_device) == measured
    half = len(offsets) // 2
    low = statistics(on_device[0][: half + 1], on_device[1][: int(offsets[half])])
    high = statistics(on_device[0][half:], on_device[1][int(offsets[half]) :], half)
    assert low.joined(high) == measured
