"""Pairs of vertices and what shortest paths between them are, for tests on every device."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy

from gravel.kernels.csr.reversed import reversed_rows
from gravel.kernels.point_to_point import prepare
from tests.kernels.sssp_case import WeightedGraph, as_floats, distances, weighted


def unweighted(graph: WeightedGraph) -> WeightedGraph:
    """The same with arcs that are 1 long."""
    ones = numpy.ones(len(graph.columns), numpy.uint32)
    return WeightedGraph(graph.name, graph.row_offsets, graph.columns, ones, graph.heads)


def pairs_of(graph: WeightedGraph, count: int = 20) -> tuple[Any, Any]:
    """Draw pairs, one of them of a vertex and itself."""
    n = len(graph.row_offsets) - 1
    rng = numpy.random.default_rng(n)
    sources, targets = rng.integers(0, n, (2, count))
    targets[0] = sources[0]
    return sources, targets


def lost_in_rounding() -> list[WeightedGraph]:
    """Return graphs both ways whose sums lose small weights: a vertex comes nearer, others by it do not."""
    edges = numpy.array([(3, 4), (8, 0), (5, 8), (3, 8), (0, 5)])
    lengths = numpy.array([0.5, 0.0, 1.4e-45, 1.4e-45, 0.0] * 2, numpy.float32)
    few = weighted("five edges", 9, numpy.concatenate([edges, edges[:, ::-1]]), lengths)
    return [few, *map(extreme, range(150))]


def extreme(seed: int) -> WeightedGraph:
    """Draw a graph of few weights, which are far apart."""
    rng = numpy.random.default_rng(seed)
    n = int(rng.integers(2, 14))
    pairs = rng.integers(0, n, (int(rng.integers(1, 3 * n + 1)), 2))
    pool = rng.choice([0, 1.4e-45, 1e-38, 1e-20, 1e-10, 0.5, 7, 1e10, 1e20, 3e38], rng.integers(2, 5))
    drawn = rng.choice(pool, len(pairs)).astype(numpy.float32)
    return weighted(f"extreme {seed}", n, [*pairs, *pairs[:, ::-1]], numpy.concatenate([drawn, drawn]))


def compare(
    graph: WeightedGraph,
    lengths: Any,
    place: Any,
    *,
    index: Any = numpy.uint32,
    on_device: dict[str, Any] | None = None,
    **options: Any,
) -> None:
    """Rows on a device have the lengths and paths of those on the CPU, and a search leaves nothing behind."""

    def placed(rows: Any) -> list[Any]:
        given = rows[0], rows[1].astype(index), rows[2]
        return [None if each is None else place(each) for each in given]

    rows = graph.row_offsets, graph.columns, lengths
    back, pairs = reversed_rows(*rows), pairs_of(graph)
    there = prepare(*placed(rows), reverse=placed(back), **options, **(on_device or {}))
    found, expected = there.run(*pairs), prepare(*rows, reverse=back, **options).run(*pairs)
    check(unweighted(graph) if lengths is None else graph, *pairs, found)
    numpy.testing.assert_array_equal(found.length, expected.length)
    numpy.testing.assert_array_equal(found.offsets, expected.offsets)
    numpy.testing.assert_array_equal(found.vertices, expected.vertices)
    again = there.run(*pairs, path=False)
    numpy.testing.assert_array_equal(again.length, expected.length)
    assert again.vertices is None


def check(graph: WeightedGraph, sources: Any, targets: Any, found: Any) -> None:
    """Hold lengths against searches by Bellman and Ford, and see that each path is one, of that length."""
    lengths = as_floats(found.length)
    # Both ends' sums are rounded on their own.
    close = 1e-12 if graph.weights.dtype.kind == "f" else 0
    for i, (source, target) in enumerate(zip(sources.tolist(), targets.tolist(), strict=True)):
        expected = distances(graph, source)[target]
        numpy.testing.assert_allclose(lengths[i], expected, rtol=close)
        if found.vertices is None:
            continue
        way = found.vertices[found.offsets[i] : found.offsets[i + 1]].tolist()
        if numpy.isinf(expected):
            assert not way
            continue
        assert (way[0], way[-1]) == (source, target)
        assert len({*way}) == len(way)
        total = 0.0
        for u, v in pairwise(way):
            row = slice(graph.row_offsets[u], graph.row_offsets[u + 1])
            total += float(graph.weights[row][graph.columns[row] == v].min())
        numpy.testing.assert_allclose(total, expected, rtol=close)
