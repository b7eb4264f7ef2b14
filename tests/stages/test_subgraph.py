"""The stage subgraph: vertices by list, core, distance and component, beside NetworkX; what is refused."""

from __future__ import annotations

from typing import Any

import networkx
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from gravel.pipeline.plugins.conformance import broken_promises
from gravel.stages import compress, partition, reorder, subgraph, symmetrize, traverse
from gravel.stages.artifacts import EdgeList, Traversal
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.stage import Extent, Machine

MACHINE = Machine(backend="cpu", threads=2, host_memory=1 << 30)


def call(module: Any, parameters: dict[str, Any] | None = None, **inputs: Any) -> Any:
    return module.STAGE.run(PlainContext(MACHINE), module.STAGE.parameters(**(parameters or {})), **inputs)


def graph_of(edges: Any, n: int, *, directed: bool = False, **asked: Any) -> Any:
    """Build a graph of (source, target, weight), with its weights."""
    ends = numpy.array(edges, float).reshape(-1, 3)
    given = EdgeList(
        source=ends[:, 0].astype(numpy.uint32),
        target=ends[:, 1].astype(numpy.uint32),
        weight=ends[:, 2],
        vertex_count=n,
        undirected=not directed,
    )
    direction = "as_given" if directed else "both"
    return call(symmetrize, {"direction": direction, "weights": "minimum", **asked}, input=given)


def arcs_of(graph: Any) -> list[tuple[int, int, float]]:
    tails = numpy.repeat(numpy.arange(graph.vertex_count), numpy.diff(graph.row_offsets))
    return list(
        zip(tails.tolist(), numpy.asarray(graph.column_indices).tolist(), graph.weights.tolist(), strict=True)
    )


def networkx_of(graph: Any) -> Any:
    """Make a multigraph with an edge for each arc."""
    made = networkx.MultiDiGraph()
    made.add_nodes_from(range(graph.vertex_count))
    made.add_weighted_edges_from(arcs_of(graph))
    return made


@st.composite
def graphs(draw: Any) -> tuple[Any, Any]:
    """A graph, and the same in any order and layout."""
    n = draw(st.integers(1, 25))
    vertex = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(vertex, vertex, st.integers(0, 300)), max_size=80))
    keep = draw(st.sampled_from(["keep", "remove"]))
    merge = {"duplicates": keep} if keep == "keep" else {}
    made = graph_of(edges, n, directed=draw(st.booleans()), self_loops=keep, **merge)
    stored = made
    if draw(st.booleans()):
        stored = call(reorder, {"method": "random", "seed": draw(st.integers(0, 5))}, input=stored)
    layout = draw(st.sampled_from([None, "csr", "varint", "blocks", "elias_fano"]))
    return made, stored if layout is None else call(compress, {"codec": layout}, input=stored)


@settings(deadline=None, max_examples=50)
@given(both=graphs(), data=st.data())
def test_it_is_the_induced_subgraph_of_networkx(both: Any, data: Any) -> None:
    made, stored = both
    chosen = data.draw(st.lists(st.integers(0, made.vertex_count - 1), min_size=1, max_size=30))
    found, subset = call(subgraph, {"vertices": {"vertices": chosen}}, input=stored)
    vertices = subset.vertices.tolist()
    assert vertices == sorted(set(chosen))
    assert (subset.vertex_count, subset.parent_vertex_count) == (len(vertices), made.vertex_count)
    there = networkx_of(made).subgraph(chosen)
    expected = sorted((u, v, w) for u, v, w in there.edges(data="weight"))
    assert sorted((vertices[u], vertices[v], w) for u, v, w in arcs_of(found)) == expected
    assert (found.symmetric, found.deduplicated) == (made.symmetric, made.deduplicated)
    assert found.weights.dtype == made.weights.dtype
    assert broken_promises(found) == []


@settings(deadline=None, max_examples=60)
@given(both=graphs(), k=st.integers(0, 4))
def test_a_core_is_that_of_networkx(both: Any, k: int) -> None:
    made, stored = both
    if not made.symmetric:
        with pytest.raises(StageError, match="directed"):
            call(subgraph, {"core": k}, input=stored)
        return
    simple = networkx.Graph((u, v) for u, v, _ in arcs_of(made) if u != v)
    simple.add_nodes_from(range(made.vertex_count))
    numbers = networkx.core_number(simple)
    expected = [v for v in range(made.vertex_count) if numbers[v] >= k]
    if not expected:
        with pytest.raises(
            StageError, match=f"no {k}-core; the largest k with one is {max(numbers.values())}"
        ):
            call(subgraph, {"core": k}, input=stored)
        return
    assert call(subgraph, {"core": k}, input=stored)[1].vertices.tolist() == expected


PATH = [(0, 1, 5), (1, 2, 1), (2, 3, 1), (5, 6, 1)]


def traversal(graph: Any, **asked: Any) -> Any:
    return call(traverse, asked, input=graph)[0]


def test_vertices_by_a_traversal() -> None:
    graph = graph_of(PATH, 8)

    def taken(parameters: dict[str, Any], within: Any) -> list[int]:
        found: list[int] = call(subgraph, parameters, input=graph, within=within)[1].vertices.tolist()
        return found

    bfs = traversal(graph, sources={"vertices": [0]})
    assert taken({"hops": 2}, bfs) == [0, 1, 2]
    assert taken({"hops": 0}, bfs) == [0]
    assert taken({"hops": 99}, bfs) == [0, 1, 2, 3]
    several = traversal(graph, sources={"vertices": [0, 6]}, output="distance")
    assert taken({"hops": 1}, several) == [0, 1, 5, 6]
    paths = traversal(graph, algorithm="shortest_paths", sources={"vertices": [0]})
    assert taken({"distance": 6}, paths) == [0, 1, 2]
    assert taken({"distance": 4.5}, paths) == [0]
    parts = traversal(graph, algorithm="components")
    assert taken({"component": "largest"}, parts) == [0, 1, 2, 3]
    for parameters, within, told in (
        ({"hops": 1}, paths, "hops is for a traversal by bfs, and `within` is one by shortest_paths"),
        ({"distance": 1}, bfs, "distance is for a traversal by shortest_paths"),
        ({"component": "largest"}, bfs, "by components or strong_components"),
        ({"hops": 1}, None, "hops needs `within`"),
        ({"hops": 1}, traversal(graph, sources={"vertices": [0]}, output="predecessor"), "kept no distances"),
        ({"hops": 1}, Traversal(algorithm="bfs", vertex_count=9), "of 9 vertices, and the graph has 8"),
    ):
        with pytest.raises(StageError, match=told):
            call(subgraph, parameters, input=graph, within=within)


def test_one_without_arcs_is_a_graph_and_can_be_searched() -> None:
    found, subset = call(subgraph, {"vertices": {"vertices": [7, 0, 2]}}, input=graph_of(PATH, 8))
    assert (found.vertex_count, found.arc_count) == (3, 0)
    assert subset.vertices.tolist() == [0, 2, 7]
    assert traversal(found, sources={"vertices": [1]}).distance.tolist() == [[-1, 0, -1]]
    assert traversal(found, algorithm="components").component.tolist() == [0, 1, 2]


def test_what_is_refused() -> None:
    graph = graph_of(PATH, 8)
    with pytest.raises(StageError, match="no vertex 8; the graph has 8 vertices"):
        call(subgraph, {"vertices": {"vertices": [1, 8]}}, input=graph)
    with pytest.raises(StageError, match="file ids"):
        call(subgraph, {"vertices": ["a"]}, input=graph)
    with pytest.raises(StageError, match="no vertex is chosen"):
        call(subgraph, {"core": 0}, input=graph_of([], 0))
    plain = graph_of(PATH, 8, weights="leave_out")
    split = call(compress, input=call(partition, {"ranks": 2, "threshold": 2}, input=plain))
    with pytest.raises(StageError, match="this one was partitioned"):
        call(subgraph, {"core": 1}, input=split)
    extent = Extent(kind="CompressedGraph", vertices=8, arcs=8, normal_arcs=1)
    need = subgraph.STAGE.estimate(subgraph.SubgraphParameters(core=1), {"input": (extent,)}, MACHINE)
    assert "this one was partitioned" in need.refusal
    for wrong in (
        {},
        {"core": 1, "hops": 2},
        {"core": -1},
        {"hops": -1},
        {"distance": -0.5},
        {"vertices": []},
    ):
        with pytest.raises(ValidationError):
            subgraph.SubgraphParameters(**wrong)
