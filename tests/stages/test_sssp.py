"""Weights through symmetrize and reorder, and traverse with `algorithm: sssp`, verified."""

import numpy
import pytest
from pydantic import ValidationError
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from gravel.stages import compress, partition, reorder, symmetrize, traverse, verify
from gravel.stages.artifacts import EdgeList, Traversal
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError, VerificationFailed
from gravel.stages.stage import Extent, Machine
from gravel.stages.traversal.placing import extent_of
from gravel.stages.weights import is_weighted, stored_weights

MACHINE = Machine(backend="cpu", threads=2, host_memory=1 << 30)


def call(module, parameters=None, **inputs):
    return module.STAGE.run(PlainContext(MACHINE), module.STAGE.parameters(**(parameters or {})), **inputs)


def edge_list(pairs, weights, n, *, undirected=False):
    ends = numpy.asarray(pairs, numpy.uint32).reshape(-1, 2)
    weight = None if weights is None else numpy.asarray(weights, numpy.float64)
    return EdgeList(
        source=ends[:, 0], target=ends[:, 1], weight=weight, vertex_count=n, undirected=undirected
    )


def rows_of(graph):
    heads = numpy.repeat(numpy.arange(graph.vertex_count), numpy.diff(graph.row_offsets))
    return list(zip(heads.tolist(), graph.column_indices.tolist(), graph.weights.tolist(), strict=True))


EDGES = edge_list([(0, 1), (1, 0), (0, 1), (2, 2), (3, 1)], [5, 3, 9, 4, 2], 4)


@pytest.mark.parametrize(
    ("parameters", "rows"),
    [
        ({"weights": "minimum"}, [(0, 1, 3), (1, 0, 3), (1, 3, 2), (3, 1, 2)]),
        ({"weights": "sum"}, [(0, 1, 17), (1, 0, 17), (1, 3, 2), (3, 1, 2)]),
        ({"weights": "minimum", "direction": "as_given"}, [(0, 1, 5), (1, 0, 3), (3, 1, 2)]),
        ({"weights": "minimum", "direction": "reverse"}, [(0, 1, 3), (1, 0, 5), (1, 3, 2)]),
        (
            {"weights": "error", "direction": "as_given", "duplicates": "keep", "self_loops": "keep"},
            [(0, 1, 5), (0, 1, 9), (1, 0, 3), (2, 2, 4), (3, 1, 2)],
        ),
    ],
)
def test_weights_of_arcs(parameters, rows):
    found = call(symmetrize, parameters, input=EDGES)
    assert rows_of(found) == rows
    assert found.weights.dtype == numpy.uint32
    plain = call(symmetrize, {k: v for k, v in parameters.items() if k != "weights"}, input=EDGES)
    assert plain.weights is None
    numpy.testing.assert_array_equal(plain.row_offsets, found.row_offsets)
    numpy.testing.assert_array_equal(plain.column_indices, found.column_indices)
    for name in ("arc_count", "symmetric", "deduplicated", "loop_count"):
        assert getattr(plain, name) == getattr(found, name)


def test_rows_of_many_random_edges_are_those_without_weights():
    rng = numpy.random.default_rng(2)
    pairs, weights = rng.integers(0, 300, (60_000, 2)), rng.normal(size=60_000)
    pairs[:40_000, 0] = 7  # a row that NumPy sorts
    edges = edge_list(pairs, weights, 300)
    for parameters in ({}, {"duplicates": "keep", "self_loops": "keep"}):
        plain = call(symmetrize, parameters, input=edges)
        found = call(symmetrize, {**parameters, "weights": "minimum"}, input=edges)
        numpy.testing.assert_array_equal(plain.column_indices, found.column_indices)
        numpy.testing.assert_array_equal(plain.row_offsets, found.row_offsets)
        assert plain.loop_count == found.loop_count
    smallest = {}
    for (u, v), w in zip(pairs.tolist(), weights.astype(numpy.float32).tolist(), strict=True):
        for arc in ((u, v), (v, u)):
            smallest[arc] = min(w, smallest.get(arc, w))
    found = call(symmetrize, {"weights": "minimum"}, input=edges)
    assert all(smallest[u, v] == w for u, v, w in rows_of(found))


@pytest.mark.parametrize(
    ("edges", "parameters", "message"),
    [
        (EDGES, {"weights": "error"}, r"the arc \(0, 1\) occurs with the weights 3 and 5"),
        (edge_list([(0, 1)], None, 2), {"weights": "sum"}, "the edges have no weights"),
        (
            edge_list([(0, 1)] * 2, [1 << 31] * 2, 2),
            {"weights": "sum"},
            r"\(0, 1\) add up to more than uint32",
        ),
        (edge_list([(0, 1)], [1e39], 2), {"weights": "sum"}, "beyond what float32 holds"),
    ],
)
def test_weights_that_are_refused(edges, parameters, message):
    with pytest.raises(StageError, match=message):
        call(symmetrize, parameters, input=edges)


def test_equal_duplicates_are_no_error():
    found = call(symmetrize, {"weights": "error"}, input=edge_list([(0, 1), (1, 0)], [3, 3], 2))
    assert rows_of(found) == [(0, 1, 3), (1, 0, 3)]


@pytest.mark.parametrize(
    ("weights", "dtype"),
    [
        ([0, 4294967295], "uint32"),
        ([-1, 2], "int32"),
        ([0.5, 2], "float32"),
        ([1, 4294967296], "float32"),
        ([numpy.nan], "float32"),
        ([numpy.inf], "float32"),
        ([], "uint32"),
    ],
)
def test_types_of_weights(weights, dtype):
    found = stored_weights(numpy.array(weights, numpy.float64))
    assert found.dtype == dtype
    numpy.testing.assert_array_equal(found, numpy.array(weights))


def test_recipes_without_weights_do_not_change():
    assert "weights" in symmetrize.STAGE.added
    assert symmetrize.SymmetrizeParameters().weights == "leave_out"
    from gravel.pipeline.store.fields import split

    arrays, attributes = split(call(symmetrize, input=EDGES))
    assert set(arrays) == {"row_offsets", "column_indices"}
    assert "weights" not in attributes


def test_too_little_memory_is_said_with_numbers():
    context = PlainContext(Machine(backend="cpu", threads=1, host_memory=100))
    with pytest.raises(StageError, match=r"rows with weights take .* bytes at once, and there are 100"):
        symmetrize.symmetrize(context, symmetrize.SymmetrizeParameters(weights="sum"), input=EDGES)


def random_edges(seed, *, floats=False):
    rng = numpy.random.default_rng(seed)
    n, m = 400, 1500
    weights = rng.random(m) * 9 if floats else rng.integers(0, 5, m)
    return edge_list(rng.integers(0, n, (m, 2)), weights, n)


@pytest.mark.parametrize("method", [None, "degree", "random", "original", "rcm"])
@pytest.mark.parametrize("direction", ["both", "as_given"])
@pytest.mark.parametrize("floats", [False, True])
def test_traverse_and_verify(method, direction, floats):
    graph = call(
        symmetrize, {"weights": "minimum", "direction": direction}, input=random_edges(1, floats=floats)
    )
    searched = graph if method is None else call(reorder, {"method": method}, input=graph)
    asked = {"algorithm": "sssp", "sources": {"random": 3, "seed": 4}}
    traversal, measurement = call(traverse, asked, input=searched)
    shape = (graph.vertex_count,) * 2
    # SciPy takes stored zeros as arcs where rows are given as such.
    matrix = coo_array(
        (
            numpy.asarray(graph.weights, float),
            (numpy.repeat(numpy.arange(shape[0]), numpy.diff(graph.row_offsets)), graph.column_indices),
        ),
        shape,
    ).tocsr()
    for source, distance, record in zip(
        traversal.sources, traversal.distance, measurement.searches, strict=True
    ):
        expected = dijkstra(matrix, indices=int(source))
        found = distance if floats else numpy.where(distance < 0, numpy.inf, distance)
        numpy.testing.assert_array_equal(found, expected)
        reached = numpy.isfinite(expected)
        assert record["reached"] == reached.sum()
        assert record["longest"] == expected[reached].max()
        assert record["arcs"] == numpy.diff(graph.row_offsets)[reached].sum()
    assert traversal.algorithm == measurement.algorithm == "sssp"
    plain, _ = call(traverse, asked, input=graph)
    numpy.testing.assert_array_equal(plain.distance, traversal.distance)
    verified = call(verify, graph=graph, traversal=traversal)
    assert [check["check"] for check in verified.checks] == [
        *("ranges", "source", "tree", "tree_arcs", "relaxed", "component")
    ]
    assert {check["searches"] for check in verified.checks} == {3}


def test_a_wrong_distance_is_found():
    graph = call(symmetrize, {"weights": "minimum"}, input=EDGES)
    asked = {"algorithm": "sssp", "sources": {"vertices": [0]}, "output": "distance"}
    traversal, _ = call(traverse, asked, input=graph)
    assert traversal.predecessor is None
    assert [each["check"] for each in call(verify, graph=graph, traversal=traversal).skipped] == [
        "tree",
        "tree_arcs",
    ]
    wrong = Traversal(
        algorithm="sssp", sources=traversal.sources, distance=traversal.distance + 1, vertex_count=4
    )
    with pytest.raises(VerificationFailed, match="source"):
        call(verify, graph=graph, traversal=wrong)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"max_depth": 3}, "sssp takes no max_depth"),
        ({"statistics": True}, "sssp takes no statistics"),
        ({"output": "predecessor"}, "algorithm sssp takes output distance or both"),
        ({"placement": "pinned"}, "algorithm sssp takes placement auto or device"),
        ({"strategy": "top_down"}, "there is no sssp strategy 'top_down'.*delta_stepping, dijkstra"),
    ],
)
def test_parameters_that_are_for_bfs(given, message):
    with pytest.raises(ValidationError, match=message):
        traverse.TraverseParameters(algorithm="sssp", **given)


def test_graphs_without_weights_are_refused():
    plain = call(symmetrize, input=EDGES)
    weighted = call(symmetrize, {"weights": "sum"}, input=EDGES)
    packed = call(compress, input=weighted)
    split = call(partition, {"ranks": 2}, input=weighted)
    parameters = traverse.TraverseParameters(algorithm="sssp")
    for stored, message in (
        (plain, "the graph has no weights"),
        (packed, "compress keeps no weights"),
        (split, "partition keeps no weights"),
    ):
        with pytest.raises(StageError, match=message):
            call(traverse, {"algorithm": "sssp"}, input=stored)
        extent = extent_of(stored)
        need = traverse.STAGE.estimate(parameters, {"input": (extent,)}, MACHINE)
        assert message in need.refusal
    size = 8 * 5 + 8 * 4
    for kind, more in (("Graph", 0), ("Ordering", 16)):
        extent = Extent(kind=kind, vertices=4, arcs=4, bytes=size + more)
        assert is_weighted(extent)
        assert not traverse.STAGE.estimate(parameters, {"input": (extent,)}, MACHINE).refusal


def test_a_negative_weight_is_refused_by_its_arc():
    graph = call(symmetrize, {"weights": "minimum"}, input=edge_list([(0, 1), (1, 2)], [1, -4], 3))
    with pytest.raises(StageError, match=r"the arc \(1, 2\) has the weight -4"):
        call(traverse, {"algorithm": "sssp"}, input=graph)


def test_what_verification_states():
    graph = Extent(kind="Graph", vertices=4, arcs=4, bytes=8 * 5 + 8 * 4)
    plain = Extent(kind="Graph", vertices=4, arcs=4, bytes=8 * 5 + 4 * 4)
    labels = Extent(kind="Traversal", vertices=4, searches=1, bytes=48)
    needs = [
        verify.STAGE.estimate(verify.VerifyParameters(), {"graph": (each,), "traversal": (labels,)}, MACHINE)
        for each in (graph, plain)
    ]
    assert needs[0].host_bytes - needs[1].host_bytes == 4 * 4 + 24 * 4


def test_results_of_own_stages_may_be_shortest_paths():
    from gravel.pipeline.plugins.validity import _of_traversal

    graph = call(symmetrize, {"weights": "minimum"}, input=random_edges(2, floats=True))
    traversal, _ = call(traverse, {"algorithm": "sssp"}, input=graph)
    assert traversal.distance.dtype == numpy.float64
    assert not list(_of_traversal(traversal))
