"""Light orders: hubs or groups of degree first, everything else as it was; the same on every backend."""

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gravel.kernels import row_blocks
from gravel.kernels.generate import generate
from gravel.kernels.order import METHODS, permutation
from gravel.kernels.order.groups import above_mean, eight_groups
from gravel.kernels.threads import set_threads
from tests.zoo import zoo

ZOO = list(zoo())
LIGHT = ["hub_sort", "hub_cluster", "degree_groups"]


def expected(method, lengths):
    """The order as a sort of all vertices, with fractions of the mean degree as they are."""
    vertices, arcs = len(lengths), int(lengths.sum())

    def key(vertex):
        degree = int(lengths[vertex])
        hub = degree * vertices > arcs
        if method == "hub_sort":
            return (0, -degree, vertex) if hub else (1, 0, vertex)
        if method == "hub_cluster":
            return (not hub, vertex)
        below = [k for k in range(7) if degree * vertices * 2 < arcs * 64 >> k]
        return (len(below), vertex)

    order = numpy.empty(vertices, numpy.int64)
    order[sorted(range(vertices), key=key)] = numpy.arange(vertices)
    return order.tolist()


def offsets_of(lengths):
    return numpy.concatenate([[0], numpy.cumsum(lengths)]).astype(numpy.int64)


@pytest.mark.parametrize("graph", ZOO, ids=lambda graph: graph.name)
@pytest.mark.parametrize("method", LIGHT)
def test_zoo(graph, method):
    offsets, _ = graph.csr()
    assert permutation(method, offsets, None).tolist() == expected(method, numpy.diff(offsets))


@given(st.lists(st.integers(0, 200), max_size=80), st.sampled_from(LIGHT), st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_any_degrees_in_any_blocks(lengths, method, least_work):
    lengths = numpy.array(lengths, numpy.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_blocks, "LEAST_WORK", least_work)
        found = permutation(method, offsets_of(lengths), None)
    assert found.tolist() == expected(method, lengths)


def test_threads_change_nothing():
    source, _ = generate("rmat", scale=18, edge_factor=4, seed=1)
    offsets = offsets_of(numpy.bincount(source, minlength=1 << 18))
    for method in LIGHT:
        found = []
        for threads in (1, 2):
            set_threads(threads)
            found.append(permutation(method, offsets, None))
        assert numpy.array_equal(*found)


def test_bounds_are_exact():
    assert above_mean(3, 7) == 3
    assert above_mean(3, 6) == 3
    assert eight_groups(2, 3) == [48, 24, 12, 6, 3, 2, 1]
    assert eight_groups(5, 0) == [0] * 7
    huge = eight_groups((1 << 32) + 1, 1 << 40)
    assert huge[0] == 8192
    assert huge[5] == 256


def test_each_order_says_where_it_comes_from():
    assert all(method.about and method.source and method.cpu for method in METHODS.values())


@pytest.mark.gpu
@pytest.mark.parametrize("graph", ZOO, ids=lambda graph: graph.name)
@pytest.mark.parametrize("method", LIGHT)
def test_cuda_orders_the_same(graph, method):
    import cupy

    offsets, _ = graph.csr()
    found = permutation(method, cupy.asarray(offsets), None)
    assert numpy.array_equal(permutation(method, offsets, None), cupy.asnumpy(found))
