"""Directed graphs searched along their arcs, against them and both ways, as SciPy searches them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy
import pytest
from pydantic import ValidationError
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import dijkstra

from gravel.pipeline.core.errors import WorkflowError
from gravel.pipeline.workflow.loader import load_workflow
from gravel.stages import compress, partition, paths, reorder, symmetrize, traverse, verify
from gravel.stages.artifacts import EdgeList, Graph
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError, VerificationFailed
from gravel.stages.stage import Extent, Machine
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.turning import direction_in, turned, turned_extent
from tests.stages.ranks.test_searches import RankGroupContext

VERTICES = 200
DIRECTIONS = ("out", "in", "both")
SOURCES = {"vertices": [0, 7, 23, 150]}


def call(module: Any, parameters: dict[str, Any] | None = None, **inputs: Any) -> Any:
    return module.STAGE.run(PlainContext(), module.STAGE.parameters(**(parameters or {})), **inputs)


def edges(*, undirected: bool = False) -> EdgeList:
    rng = numpy.random.default_rng(11)
    ends = rng.integers(0, VERTICES, (2, 420)).astype(numpy.uint32)
    weight = rng.integers(1, 9, 420).astype(numpy.float64)
    return EdgeList(
        source=ends[0], target=ends[1], weight=weight, vertex_count=VERTICES, undirected=undirected
    )


@pytest.fixture(scope="module")
def directed() -> Graph:
    made: Graph = call(symmetrize, {"direction": "as_given", "weights": "minimum"}, input=edges())
    return made


@pytest.fixture(scope="module")
def several() -> Graph:
    """Return a graph with loops and arcs that occur more than once, each with its own weight."""
    asked = {"direction": "as_given", "weights": "error", "duplicates": "keep", "self_loops": "keep"}
    doubled = edges()
    ends = {name: numpy.tile(getattr(doubled, name), 2) for name in ("source", "target")}
    weight = numpy.concatenate([doubled.weight, numpy.asarray(doubled.weight)[::-1]])
    made: Graph = call(symmetrize, asked, input=replace(doubled, **ends, weight=weight))
    return made


def matrix(graph: Graph, direction: str) -> csr_array:
    """Return the smallest weight of each arc that a search in a direction follows."""
    rows = numpy.repeat(numpy.arange(VERTICES), numpy.diff(graph.row_offsets))
    columns, weights = numpy.asarray(graph.column_indices), numpy.asarray(graph.weights)
    ends = {"out": (rows, columns), "in": (columns, rows)}.get(direction)
    if ends is None:
        ends = numpy.concatenate([rows, columns]), numpy.concatenate([columns, rows])
        weights = numpy.concatenate([weights, weights])
    order = numpy.lexsort((weights, *ends))
    keys = ends[0][order] * VERTICES + ends[1][order]
    first = order[numpy.unique(keys, return_index=True)[1]]
    return coo_array((weights[first], (ends[0][first], ends[1][first])), shape=(VERTICES, VERTICES)).tocsr()


def expected(graph: Graph, direction: str, *, weighted: bool) -> Any:
    found = dijkstra(matrix(graph, direction), indices=SOURCES["vertices"], unweighted=not weighted)
    return numpy.where(numpy.isinf(found), -1, found)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("algorithm", ["bfs", "shortest_paths"])
@pytest.mark.parametrize("order", [None, "random"])
@pytest.mark.parametrize("kind", ["directed", "several"])
def test_searches(
    kind: str, direction: str, algorithm: str, order: str | None, request: pytest.FixtureRequest
) -> None:
    graph = request.getfixturevalue(kind)
    stored = graph if order is None else call(reorder, {"method": order}, input=graph)
    asked = {"algorithm": algorithm, "direction": direction, "sources": SOURCES}
    found, measured = call(traverse, asked, input=stored)
    wanted = expected(graph, direction, weighted=algorithm == "shortest_paths")
    numpy.testing.assert_array_equal(numpy.asarray(found.distance), wanted)
    assert found.direction == direction
    assert measured.asked.get("direction", "out") == direction
    assert measured.graph["symmetric"] == (direction == "both")
    call(verify, graph=graph, traversal=found)
    for other in set(DIRECTIONS) - {direction}:
        with pytest.raises(VerificationFailed):
            call(verify, graph=graph, traversal=replace(found, direction=other))


@pytest.mark.parametrize("strategy", ["top_down", "multi_source", "serial"])
@pytest.mark.parametrize("direction", ["in", "both"])
def test_strategies(directed: Graph, strategy: str, direction: str) -> None:
    asked = {"strategy": strategy, "direction": direction, "sources": SOURCES, "output": "distance"}
    found, _ = call(traverse, asked, input=directed)
    numpy.testing.assert_array_equal(
        numpy.asarray(found.distance), expected(directed, direction, weighted=False)
    )


def test_both_ways_a_search_may_be_bottom_up(directed: Graph) -> None:
    asked = {"strategy": "direction_optimizing", "sources": SOURCES}
    with pytest.raises(StageError, match="symmetric"):
        call(traverse, {**asked, "direction": "in"}, input=directed)
    found, measured = call(traverse, {**asked, "direction": "both"}, input=directed)
    numpy.testing.assert_array_equal(
        numpy.asarray(found.distance), expected(directed, "both", weighted=False)
    )
    assert measured.strategy == "direction_optimizing"
    extent = Extent("Graph", vertices=9, arcs=20, bytes=152, directed=True)
    for direction in DIRECTIONS:
        parameters = TraverseParameters(**asked, direction=direction)
        need = traverse.STAGE.estimate(parameters, {"input": (extent,)}, PlainContext().machine)
        assert bool(need.refusal) == (direction != "both")


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_workers_turn_the_graph_themselves(directed: Graph, direction: str) -> None:
    parameters = TraverseParameters(sources=SOURCES, direction=direction, sources_over="workers")
    found, measured = traverse.traverse(RankGroupContext(2), parameters, input=directed)
    assert measured.asked["workers"] == 2
    assert found.direction == direction
    numpy.testing.assert_array_equal(
        numpy.asarray(found.distance), expected(directed, direction, weighted=False)
    )


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("by", ["arcs", "weights"])
def test_paths(directed: Graph, direction: str, by: str) -> None:
    rng = numpy.random.default_rng(2)
    targets = rng.integers(0, VERTICES, 4).tolist()
    pairs = {"vertices": [list(each) for each in zip(SOURCES["vertices"], targets, strict=True)]}
    found = call(paths, {"pairs": pairs, "by": by, "direction": direction}, input=directed)
    wanted = expected(directed, direction, weighted=by == "weights")[numpy.arange(4), targets]
    assert numpy.asarray(found.distance).tolist() == wanted.tolist()
    assert found.direction == direction
    arcs = matrix(directed, direction)
    for i, length in enumerate(wanted.tolist()):
        way = numpy.asarray(found.vertex)[found.offsets[i] : found.offsets[i + 1]]
        steps = [arcs[u, v] for u, v in pairwise(way.tolist())]
        assert all(steps)
        assert (length < 0) == (not len(way))
        assert length < 0 or (sum(steps) if by == "weights" else len(steps)) == length


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_an_undirected_graph_has_one_direction_and_is_not_copied(direction: str) -> None:
    graph = call(symmetrize, {"weights": "minimum"}, input=edges(undirected=True))
    assert turned(graph, direction) is graph
    assert direction_in(graph, direction) == "out"
    extent = Extent("Graph", vertices=VERTICES, arcs=840, bytes=9000)
    assert turned_extent(extent, direction) is extent
    for asked in ({"sources": SOURCES}, {"algorithm": "shortest_paths", "sources": SOURCES}):
        usual, _ = call(traverse, asked, input=graph)
        found, measured = call(traverse, {**asked, "direction": direction}, input=graph)
        numpy.testing.assert_array_equal(found.distance, usual.distance)
        numpy.testing.assert_array_equal(found.predecessor, usual.predecessor)
        assert found.direction == "out"
        assert "direction" not in measured.asked
        stage, given = traverse.STAGE, {"input": (extent,)}
        extent = replace(extent, weighted=True)
        needs = [
            stage.estimate(stage.parameters(**asked, **more), given, PlainContext().machine)
            for more in ({}, {"direction": direction})
        ]
        assert needs[0].host_bytes == needs[1].host_bytes


WORKFLOW = """\
stages:
  edges: {{stage: ingest, file: edges.txt}}
  graph: {{stage: symmetrize, input: edges, direction: as_given}}
  split: {{stage: partition, input: graph, ranks: 2}}
  packed: {{stage: compress, input: graph}}
  spread: {{stage: distribute, source: {{grid: {{dimensions: [5, 4]}}}}, ranks: 2}}
  found:
    stage: {stage}
    input: {kind}
    {parameters}
    direction: {direction}
"""


@pytest.mark.parametrize(
    ("stage", "kind", "direction", "message"),
    [
        ("traverse", "packed", "in", "or compress what symmetrize makes with direction: reverse"),
        ("traverse", "packed", "both", "or compress what symmetrize makes with direction: both"),
        ("traverse", "split", "in", "or partition what symmetrize makes with direction: reverse"),
        ("traverse", "spread", "in", "a distributed graph is undirected"),
        ("paths", "packed", "in", "give it the graph that symmetrize or reorder made"),
    ],
)
def test_graphs_that_are_not_turned_are_refused_with_file_and_line(
    tmp_path: Path, stage: str, kind: str, direction: str, message: str
) -> None:
    path = tmp_path / "w.yaml"
    parameters = "pairs: {random: 2}" if stage == "paths" else "sources: {random: 2}"
    path.write_text(WORKFLOW.format(stage=stage, kind=kind, direction=direction, parameters=parameters))
    with pytest.raises(WorkflowError) as caught:
        load_workflow(path)
    (problem,) = caught.value.problems
    assert problem.location is not None
    assert (Path(problem.location.file).name, problem.location.line) == ("w.yaml", 11)
    assert message in problem.message


def test_stored_graphs_that_are_not_turned_are_refused(directed: Graph) -> None:
    packed = call(compress, input=directed)
    for module, asked in ((traverse, {"sources": SOURCES}), (paths, {"pairs": {"random": 2}})):
        with pytest.raises(StageError, match="needs rows as columns, and compress keeps none"):
            call(module, {**asked, "direction": "in"}, input=packed)
    split = call(partition, {"ranks": 2}, input=replace(directed, weights=None))
    with pytest.raises(StageError, match="needs rows as columns, and partition keeps none"):
        call(traverse, {"sources": SOURCES, "direction": "both"}, input=split)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"algorithm": "components", "direction": "in"}, "components take no direction"),
        ({"algorithm": "strong_components", "direction": "in"}, "take no direction"),
        ({"placement": "streamed", "strategy": "streamed", "direction": "in"}, "turns rows round in memory"),
        ({"direction": "up"}, "'out', 'in' or 'both'"),
    ],
)
def test_what_does_not_go_with_a_direction(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        TraverseParameters(**given)


@pytest.mark.parametrize("backend", ["cpu", "cuda"])
@pytest.mark.parametrize("algorithm", ["bfs", "shortest_paths"])
def test_turning_is_stated(algorithm: str, backend: str) -> None:
    extent = Extent("Graph", 1 << 20, 1 << 25, (8 << 20) + (8 << 25), directed=True, weighted=True)
    machine = Machine(backend, 2, 1 << 36, 1 << 36)
    stated = {}
    for direction in DIRECTIONS:
        asked = TraverseParameters(algorithm=algorithm, direction=direction)
        stated[direction] = traverse.STAGE.estimate(asked, {"input": (extent,)}, machine)
    host = [stated[direction].host_bytes for direction in DIRECTIONS]
    assert host[0] < host[1] < host[2]
    assert [stated[direction].outputs[0].direction for direction in DIRECTIONS] == list(DIRECTIONS)
    if backend == "cuda":
        assert stated["out"].device_bytes == stated["in"].device_bytes < stated["both"].device_bytes
