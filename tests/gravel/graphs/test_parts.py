"""Edges, neighbours, degrees, subgraphs and cores of a graph: those of NetworkX, in each order and layout."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import networkx
import numpy
import pandas
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gravel
from gravel.graphs import adjacency
from gravel.graphs.graph import Graph
from gravel.stages import compress, reorder
from tests.stages.test_subgraph import MACHINE, call, graph_of

NAMES = {"integers": lambda v: 3 * v + 2, "texts": lambda v: f"v{v:02}", "objects": lambda v: (v, "x")}


def ids_of(kind: str, n: int) -> Any:
    from gravel.conversion.ids import Encoded, Integers, Objects
    from gravel.stages.vertex_ids.dictionary import Dictionary

    values = [NAMES[kind](v) for v in range(n)]
    if kind == "integers":
        return Integers(n, values=numpy.array(values))
    return (
        Objects(values)
        if kind == "objects"
        else Encoded(Dictionary(pyarrow.array(values, pyarrow.large_string())))
    )


@st.composite
def graphs(draw: Any) -> tuple[Graph, Any]:
    """A graph in any order and layout, and NetworkX's with an edge for each kept one."""
    n = draw(st.integers(1, 20))
    vertex = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(vertex, vertex, st.integers(1, 300)), max_size=60))
    directed, keep = draw(st.booleans()), draw(st.sampled_from(["keep", "remove"]))
    stored = graph_of(edges, n, directed=directed, self_loops=keep, duplicates=keep)
    kind = draw(st.sampled_from([*NAMES]))
    named = NAMES[kind]
    arcs = (
        numpy.repeat(numpy.arange(n), numpy.diff(stored.row_offsets)),
        stored.column_indices,
        stored.weights,
    )
    made = (networkx.MultiDiGraph if directed else networkx.MultiGraph)()
    made.add_nodes_from(map(named, range(n)))
    for u, v, w in zip(*(each.tolist() for each in arcs), strict=True):
        if directed or u <= v:
            made.add_edge(named(u), named(v), weight=w)
    if draw(st.booleans()):
        stored = call(reorder, {"method": "random", "seed": draw(st.integers(0, 5))}, input=stored)
    layout = draw(st.sampled_from([None, "csr", "varint", "blocks", "elias_fano"]))
    if layout is not None:
        stored = call(compress, {"codec": layout}, input=stored)
    return Graph(stored, ids_of(kind, n), machine=MACHINE), made


def edges_of(graph: Any) -> list[Any]:
    """List the edges of one of NetworkX, those of an undirected one with ends that ascend."""
    listed = graph.edges(data="weight")
    return sorted((u, v, w) if graph.is_directed() else (*sorted((u, v)), w) for u, v, w in listed)


def rows_of(table: Any, names: Any = None) -> list[Any]:
    columns = [table[name].to_pylist() for name in table.column_names]
    return sorted(zip(*columns, strict=True))


@settings(deadline=None, max_examples=50)
@given(both=graphs(), data=st.data())
def test_all_is_that_of_networkx(both: Any, data: Any) -> None:
    graph, expected = both
    nodes = list(expected)
    v = data.draw(st.sampled_from(nodes))
    if nodes[0] != (0, "x"):  # Arrow has no type for tuples of kinds
        assert rows_of(graph.edges()) == edges_of(expected)
        assert graph.neighbors(v).to_pylist() == sorted(w for _, w in expected.edges(v))
        if graph.directed and not hasattr(graph._rows.stored, "stream"):
            assert graph.neighbors(v, direction="in").to_pylist() == sorted(
                u for u, _ in expected.in_edges(v)
            )
            assert graph.degree(v, direction="in") == expected.in_degree(v)
    loops = 0 if graph.directed else expected.number_of_edges(v, v)  # which NetworkX counts twice
    degree = (expected.out_degree if graph.directed else expected.degree)(v) - loops
    assert graph.degree(v) == graph.degrees()[v] == degree
    u = data.draw(st.sampled_from(nodes))
    assert graph.has_edge(v, u) == expected.has_edge(v, u)
    back = graph.to_networkx()
    assert list(back) == nodes
    assert edges_of(back) == edges_of(expected)
    assert back.is_directed() == expected.is_directed()
    matrix = graph.to_scipy()
    assert matrix.shape == (len(nodes), len(nodes))
    assert numpy.array_equal(matrix.toarray(), networkx.to_numpy_array(expected, nodes))
    chosen = data.draw(st.lists(st.sampled_from(nodes), min_size=1))
    taken = graph.subgraph(chosen)
    assert edges_of(taken.to_networkx()) == edges_of(expected.subgraph(chosen))
    assert list(taken.to_networkx()) == [each for each in nodes if each in set(chosen)]
    assert taken.directed == graph.directed


def karate() -> Any:
    return gravel.graph(networkx.karate_club_graph())


def test_graphs_from_graphs() -> None:
    graph = karate()
    largest = graph.subgraph(graph.components().largest)
    assert len(largest) == 34
    core = graph.core(4)
    assert set(core.vertices.to_pylist()) == set(networkx.k_core(networkx.karate_club_graph(), 4))
    assert len(graph.core(0)) == 34
    with pytest.raises(ValueError, match="no 9-core; the largest k with one is 4"):
        graph.core(9)
    with pytest.raises(ValueError, match="k is -1"):
        graph.core(-1)
    with pytest.raises(ValueError, match="directed"):
        gravel.graph([(1, 2)], directed=True).core(1)
    again = core.subgraph([0, 1, 2]).bfs(2)
    assert again.distance.to_pandas().to_dict() == {0: 1, 1: 1, 2: 0}


def test_what_is_near() -> None:
    roads = gravel.graph([("a", "b"), ("b", "c"), ("c", "d")], directed=True, weights=[5, 1, 1])
    search = roads.bfs("b")
    assert search.within(1).vertices.to_pylist() == ["b", "c"]
    assert search.within(0).edges().num_rows == 0
    assert roads.bfs("c", direction="in").within(1).vertices.to_pylist() == ["b", "c"]
    near = roads.shortest_paths("a").within(6)
    assert near.edges().to_pydict() == {"source": ["a", "b"], "target": ["b", "c"], "weight": [5, 1]}
    assert near.shortest_paths("a").within(float("inf")).vertices.to_pylist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="hops is -1; it must be a whole number, 0 or more"):
        search.within(-1)
    with pytest.raises(ValueError, match="predecessors alone"):
        roads.bfs("b", "predecessor").within(1)
    with pytest.raises(ValueError, match="without its graph"):
        pickle.loads(pickle.dumps(search)).within(1)


@pytest.mark.parametrize(
    "make",
    [
        list,
        set,
        iter,
        numpy.array,
        pyarrow.array,
        pandas.Series,
        lambda each: pyarrow.chunked_array([each]),
        lambda each: numpy.array(each, object),
    ],
)
@pytest.mark.parametrize("kind", ["integers", "dense", "texts", "objects"])
def test_ids_come_in_any_form(make: Any, kind: str) -> None:
    names = {
        "dense": [1, 2, 3, 4],
        "objects": [4, 3, 2, 1],
        "integers": [2, 5, 9, 10],
        "texts": ["a", "b", "c", "d"],
    }
    a, b, c, d = names[kind]
    edges = [(a, b), (b, c), (c, d)]
    graph = gravel.graph(networkx.Graph(edges) if kind == "objects" else edges)
    taken = graph.subgraph(make([c, a, c, b]))
    assert taken.vertices.to_pylist() == [a, b, c]
    assert taken.subgraph([b]).vertices.to_pylist() == [b]


def test_one_id_alone() -> None:
    assert gravel.graph([("ab", "cd")]).subgraph("ab").vertices.to_pylist() == ["ab"]
    assert gravel.graph([(1, 2)]).subgraph(2).vertices.to_pylist() == [2]


@pytest.mark.parametrize("make", [list, numpy.array, pyarrow.array])
def test_vertices_that_are_not_there(make: Any) -> None:
    for edges, wrong in (([(1, 2), (2, 3)], 9), ([(10, 20), (20, 40)], 41), ([("anna", "bert")], "bart")):
        graph = gravel.graph(edges)
        inside = edges[0][0]
        with pytest.raises(gravel.UnknownVertex, match="the nearest"):
            graph.subgraph(make([inside, wrong]))
        for ask in (graph.neighbors, graph.degree, lambda v, graph=graph: graph.has_edge(v, v)):
            with pytest.raises(gravel.UnknownVertex, match="the nearest"):
                ask(wrong)
        with pytest.raises(ValueError, match="no vertex is chosen"):
            graph.subgraph(make([]))
    with pytest.raises(TypeError):
        gravel.graph([(1, 2)]).subgraph(make(["a"]))
    with pytest.raises(TypeError):
        gravel.graph([("a", "b")]).subgraph(make([1]))


def test_igraph_gets_ids_and_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = gravel.graph([("a", "b"), ("c", "b")], weights=[2.5, 1.5])
    monkeypatch.setitem(sys.modules, "igraph", None)
    with pytest.raises(ImportError, match="to_igraph needs igraph: pip install igraph"):
        graph.to_igraph()
    monkeypatch.undo()
    pytest.importorskip("igraph", reason="igraph is installed for benchmarks alone")
    made = graph.to_igraph()
    assert made.vs["name"] == ["a", "b", "c"]
    assert [each.tuple for each in made.es] == [(0, 1), (1, 2)]
    assert made.es["weight"] == [2.5, 1.5]
    assert not made.is_directed()


def test_a_run_has_subgraphs_too(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.txt").write_text("10 20\n20 30\n30 40\n")
    (tmp_path / "w.yaml").write_text(
        "workflow: w\nstages:\n  edges: {stage: ingest, file: edges.txt}\n"
        "  graph: {stage: symmetrize, input: edges}\n"
        "  near: {stage: subgraph, input: graph, vertices: [20, 30, 40]}\n"
        "  bfs: {stage: traverse, input: near, sources: [20]}\n"
    )
    run = gravel.run("w.yaml", cluster="inline", cache=tmp_path / "cache", progress=False)
    assert run["near"].vertices.to_pylist() == [20, 30, 40]
    assert run["bfs"].path_to(40) == [20, 30, 40]
    assert run["bfs"].within(1).edges().to_pydict() == {"source": [20], "target": [30]}


@pytest.mark.parametrize("value", [1.5, -1, float("inf"), float("nan"), "2", None, True])
def test_hops_and_k_are_whole_numbers(value: Any) -> None:
    graph = gravel.graph([(1, 2), (2, 3)])
    for name, ask in (("hops", graph.bfs(1).within), ("k", graph.core), ("hops", graph.neighbourhood)):
        with pytest.raises((TypeError, ValueError), match=f"{name} is .*; .*a whole number"):
            ask(value)
    assert len(graph.bfs(1).within(numpy.int64(1))) == len(graph.core(1.0)) - 1 == 2


def test_parts_of_rows_are_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = numpy.random.default_rng(3)
    ends, weights = rng.integers(0, 40, (2, 300)), rng.integers(1, 9, 300).astype(numpy.uint32)
    monkeypatch.setattr("gravel.kernels.row_blocks.LEAST_WORK", 1)
    for graph in (plain := gravel.graph(tuple(ends), weights=weights)), plain.reorder("degree"):
        whole = adjacency.edges_of(graph._rows)
        parts = list(adjacency.parts_of(graph._rows, edges=True, arcs=7))
        assert len(parts) > 10
        for place, each in enumerate(whole):
            assert numpy.array_equal(numpy.concatenate([part[place] for part in parts]), each)
        assert (graph.to_scipy() != plain.to_scipy()).nnz == 0
