"""Shortest paths on a GPU: every kind of graph, wide frontiers, and the CPU's results."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.sssp import prepare
from gravel.kernels.verify.sssp import check_sssp
from tests.kernels.sssp.test_by_weight import skewed, with_one_way_zeros
from tests.kernels.sssp_case import as_floats, distances, predecessors, random_graph, special, weighted

pytestmark = pytest.mark.gpu


def on_gpu(graph: Any, index: Any = numpy.uint32) -> list[Any]:
    import cupy

    return [cupy.asarray(each) for each in (graph.row_offsets, graph.columns.astype(index), graph.weights)]


@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize("graph", [*special(), *map(random_graph, range(96))], ids=str)
def test_distances_and_tree(graph: Any, index: Any) -> None:
    n = len(graph.row_offsets) - 1
    for options in ({}, {"block": 64}, {"width": 1e-9}, {"width": 1e12}):
        search = prepare(*on_gpu(graph, index), **options)
        for source in sorted({0, n // 2, n - 1}):
            found = search.run(source)
            expected = distances(graph, source)
            numpy.testing.assert_array_equal(as_floats(found.distance.get()), expected)
            tree = predecessors(graph, expected, source)
            numpy.testing.assert_array_equal(found.predecessor.get(), tree)


@pytest.mark.parametrize("dtype", [numpy.uint32, numpy.float32])
@pytest.mark.parametrize("most", [2, 256, 1 << 24])
def test_large_graphs_as_on_the_cpu(dtype: Any, most: int) -> None:
    rng = numpy.random.default_rng(most)
    n, m = 300_000, 3_000_000
    pairs = rng.integers(0, n, (m, 2))
    pairs[:200_000, 0] = 5  # a row that is split over the grid
    graph = weighted("large", n, pairs, rng.integers(0, most, m).astype(dtype))
    on_cpu, search = prepare(*graph.rows), prepare(*on_gpu(graph))
    for source in (0, 5, n - 1):
        expected, found = on_cpu.run(source), search.run(source)
        numpy.testing.assert_array_equal(found.distance.get(), expected.distance)
        numpy.testing.assert_array_equal(found.predecessor.get(), expected.predecessor)
        checks = check_sssp(*graph.rows, source, found.distance.get(), found.predecessor.get())
        assert not [check for check in checks if not check.passed]


@pytest.mark.parametrize("dtype", [numpy.uint32, numpy.float32])
@pytest.mark.parametrize("made", [skewed, with_one_way_zeros])
def test_searches_one_after_the_other(dtype: Any, made: Any) -> None:
    """Symmetric rows are read by weight from the second one on, and others never are."""
    graph = made(dtype)
    search = prepare(*on_gpu(graph), symmetric=made is skewed)
    for source in (0, 100, 2000, 7):
        found, expected = search.run(source), distances(graph, source)
        numpy.testing.assert_array_equal(as_floats(found.distance.get()), expected)
        numpy.testing.assert_array_equal(found.predecessor.get(), predecessors(graph, expected, source))
    assert search.ran.options["by_weight"] is (made is skewed)


@pytest.mark.parametrize("by_weight", [False, True])
def test_minus_zero_is_zero(by_weight: bool) -> None:
    graph = skewed(numpy.float32)
    graph.weights[graph.weights < 0.3] = -0.0
    search = prepare(*on_gpu(graph), by_weight=by_weight, symmetric=True)
    for source in (0, 100, 2000):
        found, expected = search.run(source), distances(graph, source)
        numpy.testing.assert_array_equal(found.distance.get(), expected)
        numpy.testing.assert_array_equal(found.predecessor.get(), predecessors(graph, expected, source))


@pytest.mark.parametrize("dtype", [numpy.uint32, numpy.float32])
def test_rows_in_pinned_host_memory(dtype: Any) -> None:
    import cupy

    from gravel.kernels.placement.pinned import pin

    rng = numpy.random.default_rng(3)
    n, m = 20_000, 200_000
    graph = weighted("pinned", n, rng.integers(0, n, (m, 2)), rng.integers(0, 99, m).astype(dtype))
    offsets, columns, weights = graph.rows
    placed = [pin(numpy.array(each)).view() for each in (columns, weights)]
    on_cpu, search = prepare(*graph.rows), prepare(cupy.asarray(offsets), *placed)
    for source in (0, n // 2):
        expected, found = on_cpu.run(source), search.run(source)
        numpy.testing.assert_array_equal(found.distance.get(), expected.distance)
        numpy.testing.assert_array_equal(found.predecessor.get(), expected.predecessor)


def test_a_weight_that_cannot_be_names_its_arc() -> None:
    graph = weighted("", 6, [(0, 1), (3, 5), (4, 4)], numpy.array([1, numpy.nan, 2], numpy.float32))
    with pytest.raises(ValueError, match=r"the arc \(3, 5\) has the weight nan; "):
        prepare(*on_gpu(graph))


@pytest.mark.parametrize("method", [None, "degree"])
def test_traverse_and_python(method: Any) -> None:
    import gravel
    from gravel.stages import reorder, symmetrize, traverse, verify
    from gravel.stages.artifacts import EdgeList
    from gravel.stages.context import PlainContext
    from gravel.stages.stage import Machine

    rng = numpy.random.default_rng(1)
    n, m = 50_000, 300_000
    ends, weights = rng.integers(0, n, (2, m)).astype(numpy.uint32), rng.integers(0, 99, m)
    results = []
    for backend in ("cpu", "cuda"):
        context = PlainContext(
            Machine(backend=backend, threads=4, host_memory=8 << 30, device_memory=8 << 30)
        )
        edges = EdgeList(
            source=ends[0], target=ends[1], weight=weights.astype(float), vertex_count=n, undirected=True
        )
        graph = symmetrize.symmetrize(context, symmetrize.SymmetrizeParameters(weights="sum"), input=edges)
        rows = graph
        if method is not None:
            rows = reorder.reorder(context, reorder.ReorderParameters(method=method), input=graph)
        parameters = traverse.TraverseParameters(algorithm="shortest_paths", sources={"random": 3})
        labels, measured = traverse.traverse(context, parameters, input=rows)
        assert measured.backend == backend
        assert verify.verify(context, verify.VerifyParameters(), graph=graph, traversal=labels).checks
        results.append(labels)
    numpy.testing.assert_array_equal(results[0].distance, results[1].distance)
    numpy.testing.assert_array_equal(results[0].predecessor, results[1].predecessor)
    made = [gravel.graph((ends[0], ends[1]), weights=weights, backend=backend) for backend in ("cpu", "cuda")]
    if method is not None:
        made = [each.reorder(method) for each in made]
    source = int(ends[0][0])
    one, other = (each.shortest_paths(source) for each in made)
    numpy.testing.assert_array_equal(one.distance.to_numpy(), other.distance.to_numpy())
    assert one.path_to(int(ends[1][5])) == other.path_to(int(ends[1][5]))
    assert one.reached == other.reached
