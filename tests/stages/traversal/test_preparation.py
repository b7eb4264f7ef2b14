"""Weights through symmetrize and reorder, and traverse with `algorithm: shortest_paths`, verified."""

from dataclasses import replace

import numpy
import pytest
from pydantic import ValidationError
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from gravel.pipeline.store.layout import split
from gravel.stages import compress, partition, paths, reorder, symmetrize, traverse, verify
from gravel.stages.artifacts import EdgeList, Traversal
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError, VerificationFailed
from gravel.stages.rows import decoding as packing
from gravel.stages.rows.decoding import decompress
from gravel.stages.stage import Extent, Machine
from gravel.stages.traversal.buffers import extent_of
from gravel.stages.weights import stored_weights

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


@pytest.mark.parametrize("dtype", [numpy.float32, numpy.float64])
def test_minus_zero_is_stored_as_zero(dtype):
    given = numpy.array([-0.0, 0.5, 0.0, -0.0], dtype)
    assert stored_weights(given).view(numpy.uint32).tolist() == [0, 0x3F000000, 0, 0]
    assert numpy.signbit(given).tolist() == [True, False, False, True]
    assert stored_weights(given[[0, 2]].astype(numpy.float64)).dtype == numpy.uint32


def test_a_negative_weight_stays_one_however_small():
    assert (stored_weights(numpy.array([-1e-50, 0.5])) < 0).tolist() == [True, False]


def test_rows_have_no_weights_unless_asked_for():
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
    asked = {"algorithm": "shortest_paths", "sources": {"random": 3, "seed": 4}}
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
    assert traversal.algorithm == measurement.algorithm == "shortest_paths"
    plain, _ = call(traverse, asked, input=graph)
    numpy.testing.assert_array_equal(plain.distance, traversal.distance)
    verified = call(verify, graph=graph, traversal=traversal)
    assert [check["check"] for check in verified.checks] == [
        *("ranges", "source", "tree", "tree_arcs", "relaxed", "component")
    ]
    assert {check["searches"] for check in verified.checks} == {3}


def test_a_wrong_distance_is_found():
    graph = call(symmetrize, {"weights": "minimum"}, input=EDGES)
    asked = {"algorithm": "shortest_paths", "sources": {"vertices": [0]}, "output": "distance"}
    traversal, _ = call(traverse, asked, input=graph)
    assert traversal.predecessor is None
    assert [each["check"] for each in call(verify, graph=graph, traversal=traversal).skipped] == [
        "tree",
        "tree_arcs",
    ]
    wrong = Traversal(
        algorithm="shortest_paths", sources=traversal.sources, distance=traversal.distance + 1, vertex_count=4
    )
    with pytest.raises(VerificationFailed, match="source"):
        call(verify, graph=graph, traversal=wrong)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"max_depth": 3}, "shortest_paths takes no max_depth"),
        ({"statistics": True}, "shortest_paths takes no statistics"),
        ({"output": "predecessor"}, "algorithm shortest_paths takes output distance or both"),
        ({"placement": "split"}, "algorithm shortest_paths takes placement auto, device or pinned"),
        (
            {"strategy": "top_down"},
            "there is no shortest_paths strategy 'top_down'.*delta_stepping, dijkstra",
        ),
    ],
)
def test_parameters_that_are_for_bfs(given, message):
    with pytest.raises(ValidationError, match=message):
        traverse.TraverseParameters(algorithm="shortest_paths", **given)


def test_graphs_without_weights_are_refused():
    plain = call(symmetrize, input=EDGES)
    weighted = call(symmetrize, {"weights": "sum"}, input=EDGES)
    packed = call(compress, input=plain)
    divided = call(partition, {"ranks": 2}, input=plain)
    parameters = traverse.TraverseParameters(algorithm="shortest_paths")
    for stored, message in (
        (plain, "the graph has no weights"),
        (packed, "the graph has no weights"),
        (divided, "the graph has no weights"),
    ):
        with pytest.raises(StageError, match=message):
            call(traverse, {"algorithm": "shortest_paths"}, input=stored)
        extent = extent_of(stored)
        need = traverse.STAGE.estimate(parameters, {"input": (extent,)}, MACHINE)
        assert message in need.refusal
    for stored in (weighted, call(reorder, {"method": "degree"}, input=weighted)):
        for each in (stored, call(compress, input=stored)):
            extent = extent_of(each)
            assert extent.weighted
            assert not traverse.STAGE.estimate(parameters, {"input": (extent,)}, MACHINE).refusal


def test_weights_are_known_before_a_run():
    edges = Extent(kind="EdgeList", vertices=9, arcs=20, bytes=320)
    asked = symmetrize.SymmetrizeParameters(weights="sum")
    (graph,) = symmetrize.STAGE.estimate(asked, {"input": (edges,)}, MACHINE).outputs
    (plain,) = symmetrize.STAGE.estimate(
        symmetrize.SymmetrizeParameters(), {"input": (edges,)}, MACHINE
    ).outputs
    paths = traverse.TraverseParameters(algorithm="shortest_paths")
    ranks = partition.PartitionParameters(ranks=2)
    assert graph.weighted
    assert not plain.weighted
    for stage in (reorder, compress):
        (found,) = stage.STAGE.estimate(stage.STAGE.parameters(), {"input": (graph,)}, MACHINE).outputs
        assert found.weighted
        assert not traverse.STAGE.estimate(paths, {"input": (found,)}, MACHINE).refusal
        (found,) = stage.STAGE.estimate(stage.STAGE.parameters(), {"input": (plain,)}, MACHINE).outputs
        assert "no weights" in traverse.STAGE.estimate(paths, {"input": (found,)}, MACHINE).refusal
    assert "a partition carries none" in partition.STAGE.estimate(ranks, {"input": (graph,)}, MACHINE).refusal
    assert not partition.STAGE.estimate(ranks, {"input": (plain,)}, MACHINE).refusal


def test_a_partition_refuses_weights():
    graph = call(symmetrize, {"weights": "sum"}, input=EDGES)
    with pytest.raises(StageError, match="the graph has weights, and a partition carries none"):
        call(partition, {"ranks": 2}, input=graph)


@pytest.mark.parametrize("codec", ["csr", "varint", "blocks", "elias_fano"])
@pytest.mark.parametrize(
    ("weights", "packed"),
    [
        ([0, 255], "uint8"),
        ([7, 256], "uint16"),
        ([7, 65536], "uint32"),
        ([-128, 127], "int8"),
        ([-1, 128], "int16"),
        ([-32769, 5], "int32"),
        ([0.5, 1e9], "float32"),
    ],
)
def test_compress_keeps_weights_in_the_smallest_type(codec, weights, packed):
    graph = call(symmetrize, {"weights": "minimum"}, input=edge_list([(0, 1), (1, 2)], weights, 3))
    found = call(compress, {"codec": codec}, input=graph)
    assert found.weights.dtype == packed
    assert found.statistics["weight_bytes"] == 4 * numpy.dtype(packed).itemsize
    back = decompress(found)
    assert rows_of(back) == rows_of(graph)
    assert back.weights.dtype == graph.weights.dtype


def test_compress_without_weights_stores_what_it_did():
    arrays, attributes = split(call(compress, input=call(symmetrize, input=EDGES)))
    assert set(arrays) == {"byte_offsets", "stream"}
    assert "weights" not in attributes
    assert "weight_bytes" not in attributes["statistics"]


def test_weights_are_packed_piece_by_piece(monkeypatch):
    monkeypatch.setattr(packing, "ARCS_AT_ONCE", 3)
    weights = numpy.array([1, 2, 3, 300, 5, 6, 7], numpy.uint32)
    found = packing.packed_weights(PlainContext(MACHINE), weights)
    assert found.dtype == numpy.uint16
    numpy.testing.assert_array_equal(packing.unpacked_weights(found), weights)


@pytest.mark.parametrize("codec", ["csr", "varint", "blocks", "elias_fano", "auto"])
@pytest.mark.parametrize("floats", [False, True])
@pytest.mark.parametrize("duplicates", ["remove", "keep"])
def test_compressed_graphs_have_the_same_shortest_paths(codec, floats, duplicates):
    edges = random_edges(3, floats=floats)
    graph = call(symmetrize, {"weights": "minimum", "duplicates": duplicates}, input=edges)
    expected, _ = call(traverse, {"algorithm": "shortest_paths"}, input=graph)
    for stored in (graph, call(reorder, {"method": "degree"}, input=graph)):
        packed = call(compress, {"codec": codec}, input=stored)
        found, measurement = call(traverse, {"algorithm": "shortest_paths"}, input=packed)
        numpy.testing.assert_array_equal(found.distance, expected.distance)
        assert measurement.notes
        # Predecessors are the smallest of the numbering that was searched.
        assert call(verify, graph=graph, traversal=found).checks


@pytest.mark.parametrize("weight", [-4, -0.5, numpy.nan, numpy.inf])
def test_a_weight_that_cannot_be_is_refused_by_its_arc(weight):
    """In the numbering of `symmetrize`, whatever is searched."""
    edges = edge_list([(0, 1), (0, 3), (1, 2)], [1, 2, weight], 4)
    graph = call(symmetrize, {"weights": "minimum", "direction": "as_given"}, input=edges)
    ordered = call(reorder, {"method": "random", "seed": 3}, input=graph)
    assert ordered.permutation.tolist() != [0, 1, 2, 3]
    for stored in (graph, ordered, call(compress, input=graph), call(compress, input=ordered)):
        for stage, asked in (
            (traverse, {"algorithm": "shortest_paths"}),
            (paths, {"pairs": {"vertices": [[0, 2]]}}),
        ):
            with pytest.raises(StageError, match=rf"the arc \(1, 2\) has the weight {weight}"):
                call(stage, asked, input=stored)


def test_paths_that_are_too_long_are_refused_with_numbers():
    from gravel.kernels.sssp.weights import words_of

    with pytest.raises(
        ValueError, match=r"a path may be 9,223,372,036,854,775,808 long: .*Scale the weights down"
    ):
        words_of((1 << 32) + 1, 1 << 31, 1 << 90)


def test_what_verification_states():
    graph = Extent(kind="Graph", vertices=4, arcs=4, bytes=8 * 5 + 8 * 4, weighted=True)
    labels = Extent(kind="Traversal", vertices=4, searches=1, bytes=48)
    bfs, paths = (
        verify.STAGE.estimate(verify.VerifyParameters(), {"graph": (graph,), "traversal": (each,)}, MACHINE)
        for each in (labels, replace(labels, weighted=True))
    )
    assert paths.host_bytes - bfs.host_bytes == (21 - 7) * 4


def test_results_of_own_stages_may_be_shortest_paths():
    from gravel.pipeline.plugins.conformance import _of_traversal

    graph = call(symmetrize, {"weights": "minimum"}, input=random_edges(2, floats=True))
    traversal, _ = call(traverse, {"algorithm": "shortest_paths"}, input=graph)
    assert traversal.distance.dtype == numpy.float64
    assert not list(_of_traversal(traversal))
