"""Shortest paths on CUDA, on CPU threads: distances and trees of every kind of graph."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.sssp import prepare
from gravel.kernels.sssp.weights import WeightedRows
from tests.emulation import grid_kernels, strict_cupy
from tests.kernels.sssp_case import as_floats, distances, predecessors, random_graph, special, weighted

pytestmark = pytest.mark.usefixtures("on_cpu")


def check(graph: Any, *, index: Any = numpy.uint32, sources: Any = None, **options: Any) -> None:
    offsets, columns, weights = graph.rows
    placed = [strict_cupy.on_device(each) for each in (offsets, columns.astype(index), weights)]
    search = prepare(*placed, block=grid_kernels.THREADS, **options)
    n = len(offsets) - 1
    for source in sorted({0, n // 2, n - 1}) if sources is None else sources:
        found = search.run(source)
        expected = distances(graph, source)
        numpy.testing.assert_array_equal(as_floats(found.distance.get()), expected)
        tree = found.predecessor.get()
        assert tree.dtype == (numpy.int32 if index == numpy.uint32 else numpy.int64)
        numpy.testing.assert_array_equal(tree, predecessors(graph, expected, source))


@pytest.mark.parametrize("graph", [*special(150), *map(random_graph, range(0, 48, 5))], ids=str)
def test_distances_and_tree(graph: Any) -> None:
    check(graph)


@pytest.mark.parametrize("graph", [*special()[2:7], *map(random_graph, range(24, 48, 5))], ids=str)
def test_columns_of_64_bits_and_any_width(graph: Any) -> None:
    check(graph, index=numpy.uint64)
    for width in (1e-9, 1.0, 1e12):
        check(graph, sources=[0], width=width)


@pytest.mark.parametrize("dtype", [numpy.uint32, numpy.float32])
def test_frontiers_that_the_whole_grid_relaxes(dtype: Any) -> None:
    """More than one block takes, with a row that is split over the grid, and zeros that need rounds."""
    rng = numpy.random.default_rng(1)
    n, m = 9000, 40_000
    hub = numpy.stack([numpy.full(5000, 3), numpy.arange(1000, 6000)], axis=1)
    pairs = numpy.concatenate([rng.integers(0, n, (m, 2)), hub])
    weights = rng.integers(0, 4, len(pairs)).astype(dtype)
    check(weighted("wide", n, pairs, weights), sources=[0, 3])


@pytest.mark.parametrize(
    ("dtype", "few"), [(numpy.uint32, 1), (numpy.uint32, 40), (numpy.float32, 40), (numpy.float32, 1 << 20)]
)
def test_frontiers_go_to_the_grid_and_back(dtype: Any, few: int) -> None:
    """A path between stars: of some the leaves are too many for a block, of one the arcs."""
    pairs, hub = [], 0
    for leaves in (10, 3000, 300, 5000, 20):
        pairs += [(hub, hub + 1 + i) for i in range(leaves)] + [(hub + leaves, hub + leaves + 1)]
        pairs += [(hub + 1 + i, hub + leaves + 1) for i in range(leaves)]
        hub += leaves + 1
    rng = numpy.random.default_rng(few)
    weights = rng.integers(0, 30, len(pairs)).astype(dtype)
    graph = weighted("stars", hub + 1, pairs, weights)
    for width in (0.3, 3.0, 100.0):
        check(graph, sources=[0], width=width, few_arcs=few)


def test_rows_that_all_blocks_share() -> None:
    """The longest is for the whole grid, others are dealt to blocks: more of them than there are blocks."""
    rng = numpy.random.default_rng(2)
    n = 41_000
    pairs = [(0, v) for v in range(1, 40_000)] + [(v, 0) for v in range(1, 40_000, 7)]
    pairs += [(v, w) for v in range(40_000, 40_007) for w in range(v % 7, 2000, 3)]
    pairs += [(5, v) for v in range(40_000, 40_007)]
    weights = rng.integers(0, 50, len(pairs)).astype(numpy.uint32)
    check(weighted("huge", n, pairs, weights), sources=[0, 5])


def test_both_kinds_of_steps_are_taken() -> None:
    graph = random_graph(26)
    placed = [strict_cupy.on_device(each) for each in graph.rows]
    alone = prepare(*placed, block=grid_kernels.THREADS)
    assert alone.run(0).rounds > 3
    assert alone.rounds_of_the_grid == 0
    together = prepare(*placed, block=grid_kernels.THREADS, few_arcs=0)
    together.run(0)
    assert together.rounds_of_the_grid > 0
    with pytest.raises(ValueError, match="few_arcs is -1"):
        prepare(*placed, few_arcs=-1)


@pytest.mark.parametrize(
    ("dtype", "width"), [(numpy.uint32, 1.0), (numpy.float32, 8.0), (numpy.uint32, 1e6), (numpy.float32, 1e6)]
)
def test_blocks_work_alone_on_shares_of_one_bucket(dtype: Any, width: float) -> None:
    """A lattice with shortcuts: blocks come to the same vertices by different ways, and none is a hub."""
    side, rng = 20, numpy.random.default_rng(5)
    at = numpy.arange(side * side).reshape(side, side)
    pairs = [
        numpy.stack([at[:, :-1].ravel(), at[:, 1:].ravel()], 1),
        numpy.stack([at[:-1].ravel(), at[1:].ravel()], 1),
    ]
    pairs = numpy.concatenate([*pairs, rng.integers(0, side * side, (12, 2))])
    weights = rng.integers(0, 9, len(pairs)).astype(dtype)
    graph = weighted(
        "lattice", side * side + 3, numpy.concatenate([pairs, pairs[:, ::-1]]), numpy.tile(weights, 2)
    )
    check(graph, sources=[0, side * side // 2], width=width)
    placed = [strict_cupy.on_device(each) for each in graph.rows]
    search = prepare(*placed, block=grid_kernels.THREADS, width=width, few_arcs=1 << 20)
    search.run(0)
    assert search.rounds_of_the_grid == 0


def test_weights_that_cannot_be_name_their_arc() -> None:
    graph = weighted("", 6, [(0, 1), (3, 5), (4, 4)], numpy.array([1, -2, 2], numpy.int32))
    with pytest.raises(ValueError, match=r"the arc \(3, 5\) has the weight -2; "):
        check(graph)


def test_no_tree_where_none_is_asked_for() -> None:
    graph = random_graph(0)
    placed = [strict_cupy.on_device(each) for each in graph.rows]
    search = prepare(*placed, predecessor=False, block=grid_kernels.THREADS)
    assert search.run(0).predecessor is None
    assert isinstance(search._rows, WeightedRows)
