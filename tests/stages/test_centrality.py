"""The stage centrality: values of NetworkX in the order of the first numbering, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import networkx
import numpy
import pytest
from pydantic import ValidationError

from gravel.kernels.distances.measures import DISTANCE_MEASURES, DistanceMeasure
from gravel.stages.artifacts import EdgeList, Graph
from gravel.stages.centrality import STAGE, centrality
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.measuring.parameters import CentralityParameters
from gravel.stages.reorder import ReorderParameters, reorder
from gravel.stages.stage import Extent, Machine
from gravel.stages.symmetrize import SymmetrizeParameters, symmetrize
from gravel.stages.traversal.parameters import VertexSources

VERTICES = 300


def edges() -> EdgeList:
    ends = numpy.random.default_rng(4).integers(0, VERTICES, (2, 350)).astype(numpy.uint32)
    return EdgeList(source=ends[0], target=ends[1], vertex_count=VERTICES, undirected=True)


@pytest.fixture(scope="module")
def graph() -> Graph:
    return symmetrize(PlainContext(), SymmetrizeParameters(), input=edges())


@pytest.fixture(scope="module")
def reference(graph: Graph) -> Any:
    made = networkx.empty_graph(VERTICES)
    rows = numpy.repeat(numpy.arange(VERTICES), numpy.diff(graph.row_offsets))
    made.add_edges_from(zip(rows.tolist(), numpy.asarray(graph.column_indices).tolist(), strict=True))
    return made


def of_networkx(made: Any, measure: str) -> dict[int, float]:
    if measure == "betweenness":
        return networkx.betweenness_centrality(made)  # type: ignore[no-any-return]
    if measure == "closeness":
        return networkx.closeness_centrality(made)  # type: ignore[no-any-return]
    if measure == "harmonic":
        return networkx.harmonic_centrality(made)  # type: ignore[no-any-return]
    if measure == "neighbourhood":
        return {v: len(networkx.single_source_shortest_path_length(made, v, cutoff=3)) for v in made}
    parts = networkx.connected_components(made)
    return {v: e for part in parts for v, e in networkx.eccentricity(made.subgraph(part)).items()}


def measured(parameters: CentralityParameters, graph: Graph) -> Any:
    return centrality(PlainContext(), parameters, input=graph)[0]


MEASURES = ("closeness", "harmonic", "eccentricity", "neighbourhood")


def asked(measure: str, **more: Any) -> CentralityParameters:
    return CentralityParameters(measure=measure, hops=3 if measure == "neighbourhood" else None, **more)


@pytest.mark.parametrize("order", [None, "random"])
def test_betweenness_is_that_of_networkx(graph: Graph, reference: Any, order: str | None) -> None:
    stored = graph if order is None else reorder(PlainContext(), ReorderParameters(method=order), input=graph)
    for options in ({}, {"normalized": False}, {"endpoints": True}):
        expected = networkx.betweenness_centrality(reference, **options)
        found = measured(CentralityParameters(measure="betweenness", **options), stored)
        numpy.testing.assert_allclose(found.value, [expected[v] for v in range(VERTICES)], rtol=1e-10)
        with_arcs = int(numpy.count_nonzero(numpy.diff(graph.row_offsets)))
        assert (found.vertex, found.sources) == (None, with_arcs)
    drawn = CentralityParameters(measure="betweenness", sources={"random": 60, "seed": 3})
    some = measured(drawn, stored)
    assert some.sources == 60
    numpy.testing.assert_allclose(some.value, measured(drawn, graph).value, rtol=1e-10)


def test_batches_are_counted(graph: Graph) -> None:
    for parameters in (asked("closeness", memory=12_000), CentralityParameters(measure="betweenness")):
        found = centrality(PlainContext(), parameters, input=graph)
        sources = found[0].sources or VERTICES
        assert sum(each["sources"] for each in found[1].batches) == sources
        assert all(each["milliseconds"] > 0 and not each["resumed"] for each in found[1].batches)
        assert len(found[1].batches) > 1


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("order", [None, "random"])
def test_values_are_those_of_networkx(graph: Graph, reference: Any, measure: str, order: str | None) -> None:
    stored = graph if order is None else reorder(PlainContext(), ReorderParameters(method=order), input=graph)
    expected = of_networkx(reference, measure)
    found = measured(asked(measure), stored)
    assert (found.measure, found.vertex, found.vertex_count) == (measure, None, VERTICES)
    numpy.testing.assert_allclose(found.value, [expected[v] for v in range(VERTICES)], rtol=1e-12)
    some = measured(asked(measure, vertices=VertexSources(vertices=[7, 3, 200])), stored)
    assert numpy.asarray(some.vertex).tolist() == [7, 3, 200]
    numpy.testing.assert_allclose(some.value, [expected[v] for v in (7, 3, 200)], rtol=1e-12)
    drawn = measured(asked(measure, vertices={"random": 20, "seed": 5}), stored)
    assert len(set(numpy.asarray(drawn.vertex).tolist())) == 20
    numpy.testing.assert_allclose(
        drawn.value, [expected[v] for v in numpy.asarray(drawn.vertex).tolist()], rtol=1e-12
    )


def test_little_memory_gives_the_same(graph: Graph) -> None:
    usual = measured(asked("harmonic"), graph)
    narrow = measured(asked("harmonic", memory=12_000), graph)
    numpy.testing.assert_array_equal(usual.value, narrow.value)
    with pytest.raises(StageError, match="64 searches at once take"):
        measured(asked("harmonic", memory=1000), graph)


@pytest.fixture(scope="module")
def directed() -> Graph:
    arcs = replace(edges(), undirected=False)
    return symmetrize(PlainContext(), SymmetrizeParameters(direction="as_given"), input=arcs)


def searched(directed: Graph, direction: str) -> Any:
    """Return the graph whose distances from a vertex are those in a direction."""
    made = networkx.empty_graph(VERTICES, networkx.DiGraph)
    rows = numpy.repeat(numpy.arange(VERTICES), numpy.diff(directed.row_offsets))
    made.add_edges_from(zip(rows.tolist(), numpy.asarray(directed.column_indices).tolist(), strict=True))
    return {"out": made, "in": made.reverse(), "both": made.to_undirected()}[direction]


DIRECTIONS = ("out", "in", "both")


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("order", [None, "random"])
def test_distances_of_a_directed_graph(directed: Graph, direction: str, order: str | None) -> None:
    """NetworkX's closeness and harmonic centrality are by distances to a vertex."""
    stored = directed
    if order is not None:
        stored = reorder(PlainContext(), ReorderParameters(method=order), input=directed)
    made = searched(directed, direction)
    there = made if direction == "both" else made.reverse()
    expected = {each: of_networkx(there, each) for each in ("closeness", "harmonic")}
    expected["neighbourhood"] = of_networkx(made, "neighbourhood")
    expected["eccentricity"] = {
        v: max(networkx.single_source_shortest_path_length(made, v).values()) for v in made
    }
    for measure in MEASURES:
        found = measured(asked(measure, direction=direction), stored)
        values = [expected[measure][v] for v in range(VERTICES)]
        numpy.testing.assert_allclose(found.value, values, rtol=1e-12)
        assert found.direction == direction
        some = measured(asked(measure, direction=direction, vertices=VertexSources(vertices=[7, 3])), stored)
        numpy.testing.assert_allclose(some.value, [values[7], values[3]], rtol=1e-12)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_betweenness_of_a_directed_graph(directed: Graph, direction: str) -> None:
    made = searched(directed, direction)
    for options in ({}, {"normalized": False}, {"endpoints": True}):
        expected = networkx.betweenness_centrality(made, **options)
        parameters = CentralityParameters(measure="betweenness", direction=direction, **options)
        found = measured(parameters, directed)
        numpy.testing.assert_allclose(found.value, [expected[v] for v in range(VERTICES)], rtol=1e-10)


def test_weights_are_no_part_of_distances(directed: Graph) -> None:
    weights = numpy.arange(directed.arc_count, dtype=numpy.uint32)
    for direction in DIRECTIONS:
        found = measured(asked("harmonic", direction=direction), replace(directed, weights=weights))
        numpy.testing.assert_array_equal(
            found.value, measured(asked("harmonic", direction=direction), directed).value
        )


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_an_undirected_graph_has_one_direction(graph: Graph, direction: str) -> None:
    for measure in ("closeness", "betweenness"):
        found = measured(asked(measure, direction=direction), graph)
        numpy.testing.assert_array_equal(found.value, measured(asked(measure), graph).value)


def test_more_hops_than_the_diameter_count_all_that_is_reached(graph: Graph) -> None:
    parameters = CentralityParameters(measure="neighbourhood", hops=1 << 40)
    sizes = numpy.empty(VERTICES, int)
    made = networkx.empty_graph(VERTICES)
    rows = numpy.repeat(numpy.arange(VERTICES), numpy.diff(graph.row_offsets))
    made.add_edges_from(zip(rows.tolist(), numpy.asarray(graph.column_indices).tolist(), strict=True))
    for part in networkx.connected_components(made):
        sizes[list(part)] = len(part)
    numpy.testing.assert_array_equal(measured(parameters, graph).value, sizes)


@pytest.mark.parametrize("order", [None, "random"])
@pytest.mark.parametrize("as_given", [False, True])
def test_samples_and_weights(order: str | None, as_given: bool) -> None:
    """From all vertices an estimate is the exact value, which is NetworkX's."""
    lengths = numpy.random.default_rng(9).integers(1, 9, 350).astype(numpy.float32) / 4
    given = replace(edges(), weight=lengths, undirected=not as_given)
    merged = SymmetrizeParameters(direction="as_given", weights="minimum")
    plain = symmetrize(PlainContext(), merged, input=given)
    stored = plain
    if order is not None:
        stored = reorder(PlainContext(), ReorderParameters(method=order), input=plain)
    made = networkx.empty_graph(VERTICES, networkx.DiGraph if as_given else networkx.Graph)
    rows = numpy.repeat(numpy.arange(VERTICES), numpy.diff(plain.row_offsets))
    arcs = (rows, numpy.asarray(plain.column_indices), numpy.asarray(plain.weights))
    made.add_weighted_edges_from(zip(*(each.tolist() for each in arcs), strict=True))
    close = networkx.closeness_centrality(made, distance="weight")
    between = networkx.betweenness_centrality(made, weight="weight")
    asked_of = {"measure": "closeness", "direction": "in", "by": "weights"}
    exact = measured(CentralityParameters(**asked_of), stored)
    numpy.testing.assert_allclose(exact.value, [close[v] for v in made], rtol=1e-9)
    whole = measured(CentralityParameters(**asked_of, sources={"random": VERTICES}), stored)
    numpy.testing.assert_allclose(whole.value, exact.value, rtol=1e-9)
    assert (whole.error, whole.by, whole.direction) == (None, "weights", exact.direction)
    for by in ("arcs", "weights"):
        drawn = {"sources": {"random": 70, "seed": 3}, "by": by}
        some = measured(CentralityParameters(measure="closeness", direction="in", **drawn), stored)
        numpy.testing.assert_allclose(
            some.value,
            measured(CentralityParameters(measure="closeness", direction="in", **drawn), plain).value,
            rtol=1e-9,
        )
        assert (some.sources, len(some.error)) == (70, VERTICES)
        assert len(measured(CentralityParameters(measure="betweenness", **drawn), stored).error) == VERTICES
    found = measured(CentralityParameters(measure="betweenness", by="weights"), stored)
    numpy.testing.assert_allclose(found.value, [between[v] for v in made], rtol=1e-9, atol=1e-15)
    refused = replace(plain, weights=-numpy.asarray(plain.weights))
    with pytest.raises(StageError, match=r"has the weight -\d"):
        measured(CentralityParameters(measure="closeness", by="weights"), refused)


def test_paths_by_weights_run_on_the_cpu(directed: Graph) -> None:
    weighted = replace(directed, weights=numpy.ones(directed.arc_count, numpy.float32))
    context = PlainContext(Machine("cuda", 2, 1 << 40, 1 << 40))
    parameters = CentralityParameters(measure="closeness", by="weights")
    found, batches = centrality(context, parameters, input=weighted)
    assert batches.backend == "cpu"
    assert any("paths by weights have no code for GPUs" in line for line in context.messages)
    numpy.testing.assert_array_equal(found.value, measured(asked("closeness"), directed).value)
    extent = Extent("Graph", vertices=1 << 20, arcs=1 << 25, bytes=1 << 28, weighted=True)
    assert STAGE.estimate(parameters, {"input": (extent,)}, context.machine).device_bytes == 0
    with pytest.raises(ValidationError, match="closeness by weights has no code for GPUs; leave backend out"):
        CentralityParameters(measure="closeness", by="weights", backend="cuda")
    with pytest.raises(StageError, match="no weights, which closeness by weights needs"):
        measured(parameters, directed)


def test_ids_of_a_file_need_a_file(graph: Graph) -> None:
    with pytest.raises(StageError, match="no ids of an input file are known here"):
        measured(asked("closeness", vertices=["P00001"]), graph)


def test_what_is_refused(graph: Graph) -> None:
    with pytest.raises(StageError, match="no such source: 300"):
        measured(asked("closeness", vertices=VertexSources(vertices=[300])), graph)
    for given, message in (
        ({"measure": "neighbourhood"}, "needs hops"),
        ({"measure": "closeness", "hops": 2}, "takes no hops"),
        ({"measure": "closeness", "vertices": [1, 2, 1]}, "vertex 1 is listed twice"),
        ({"measure": "closeness", "direction": "up"}, "'out', 'in' or 'both'"),
        ({"measure": "closeness", "endpoints": True}, "closeness takes no endpoints"),
        (
            {"measure": "closeness", "vertices": {"vertices": [1]}},
            "ids as the input file writes them are expected",
        ),
        ({"measure": "closeness", "vertices": [1], "sources": {"random": 2}}, "sources says from which"),
        ({"measure": "harmonic", "sources": {"random": 2}}, "only closeness and betweenness do"),
        ({"measure": "harmonic", "by": "weights"}, "harmonic takes no by"),
        ({"measure": "betweenness", "vertices": {"random": 3}}, "sources says from which"),
    ):
        with pytest.raises(ValidationError, match=message):
            CentralityParameters(**given)


@pytest.mark.parametrize("backend", ["cpu", "cuda"])
def test_less_memory_is_stated_where_less_is_allowed(backend: str) -> None:
    extent = Extent("Graph", vertices=1 << 20, arcs=1 << 25, bytes=(8 << 20) + (4 << 25))
    machine = Machine(backend, 2, 64 << 30, 64 << 30 if backend == "cuda" else 0)
    stated = [
        STAGE.estimate(asked("closeness", memory=memory), {"input": (extent,)}, machine)
        for memory in (None, 300 << 20)
    ]
    sizes = [need.device_bytes if backend == "cuda" else need.host_bytes for need in stated]
    assert sizes[0] > sizes[1] > extent.bytes


def test_a_measure_by_distances_is_declared_in_one_table(
    graph: Graph, reference: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def degree(found: Any, vertices: int) -> Any:
        return (found.reached - 1) / (vertices - 1)

    monkeypatch.setitem(DISTANCE_MEASURES, "degree", DistanceMeasure("degree", "counts", degree, hops=1))
    assert "degree" in CentralityParameters.model_json_schema()["properties"]["measure"]["enum"]
    found = measured(CentralityParameters(measure="degree"), graph).value
    expected = networkx.degree_centrality(reference)
    assert found.tolist() == pytest.approx([expected[v] for v in range(VERTICES)])
    with pytest.raises(ValidationError, match="takes no hops"):
        CentralityParameters(measure="degree", hops=2)
