"""Every way of giving a graph leads to the same distances and components, under the caller's ids."""

from __future__ import annotations

import datetime
import uuid

import networkx
import numpy
import pandas
import pyarrow
import pytest

import gravel
from tests.gravel.samples import by_id, check_tree, distances, matrix, parts, parts_of, random_edges

ENDS = random_edges()


class Capsule:
    """What has the PyCapsule interface and nothing else."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


class Dlpack:
    """What speaks DLPack and nothing else."""

    def __init__(self, array):
        self._array = array

    def __len__(self):
        return len(self._array)

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def table():
    return pyarrow.table({"source": ENDS[0], "target": ENDS[1]})


WAYS = {
    "arrays": lambda: ENDS,
    "lists": lambda: tuple(each.tolist() for each in ENDS),
    "pairs": lambda: list(zip(*(each.tolist() for each in ENDS), strict=True)),
    "two columns": lambda: numpy.stack(ENDS, axis=1),
    "int32": lambda: tuple(each.astype(numpy.int32) for each in ENDS),
    "uint64 and int16": lambda: (ENDS[0].astype(numpy.uint64), ENDS[1].astype(numpy.int16)),
    "arrow": table,
    "arrow in batches": lambda: pyarrow.Table.from_batches(table().to_batches(max_chunksize=7)),
    "arrow reader": lambda: table().to_reader(max_chunksize=100),
    "capsule": lambda: Capsule(table()),
    "arrow arrays": lambda: (pyarrow.array(ENDS[0]), pyarrow.chunked_array([ENDS[1]])),
    "pandas": lambda: pandas.DataFrame({"source": ENDS[0], "target": ENDS[1]}),
    "pandas series": lambda: (pandas.Series(ENDS[0]), pandas.Series(ENDS[1])),
    "pandas nullable": lambda: pandas.DataFrame({"source": ENDS[0], "target": ENDS[1]}, dtype="Int64"),
    "polars": lambda: pytest.importorskip("polars").DataFrame({"source": ENDS[0], "target": ENDS[1]}),
    "polars series": lambda: (*map(pytest.importorskip("polars").Series, ENDS),),
    "duckdb": lambda: in_duckdb(),
    "dlpack": lambda: (Dlpack(ENDS[0]), Dlpack(ENDS[1])),
    "networkx": lambda: networkx.from_edgelist(zip(*(each.tolist() for each in ENDS), strict=True)),
}


def in_duckdb():
    connection = pytest.importorskip("duckdb").connect()
    connection.register("edges_of_the_test", table())
    return connection.sql("select * from edges_of_the_test")


@pytest.mark.parametrize("way", WAYS)
def test_every_way_leads_to_the_same(way):
    graph = gravel.graph(WAYS[way]())
    source = int(ENDS[0][0])
    search = graph.bfs(source)
    assert by_id(search) == distances(ENDS, source)
    assert parts_of(graph.components()) == parts(ENDS)
    arcs = set(zip(*(each.tolist() for each in ENDS), strict=True))
    check_tree(search, arcs | {(v, u) for u, v in arcs})
    assert not graph.directed
    assert graph.info().ids in ("integers", "Python objects")


@pytest.mark.parametrize("way", [way for way in WAYS if way != "networkx"])
def test_directed(way):
    graph = gravel.graph(WAYS[way](), directed=True)
    source = int(ENDS[0][0])
    assert by_id(graph.bfs(source)) == distances(ENDS, source, directed=True)
    turned = (ENDS[1], ENDS[0])
    assert by_id(graph.bfs(source, direction="in")) == distances(turned, source, directed=True)
    assert by_id(graph.bfs(source, direction="both")) == distances(ENDS, source)
    assert parts_of(graph.components()) == parts(ENDS)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil"])
@pytest.mark.parametrize("directed", [False, True])
def test_sparse_matrices_have_all_their_rows_as_vertices(form, directed):
    sparse = matrix(ENDS)
    graph = gravel.graph(sparse.asformat(form), directed=directed)
    assert len(graph) == sparse.shape[0]
    source = int(ENDS[0][0])
    found = by_id(graph.bfs(source))
    expected = distances(ENDS, source, directed=directed)
    assert {vertex: found[vertex] for vertex in expected} == expected


def test_networkx_says_whether_it_is_directed():
    given = networkx.gnp_random_graph(60, 0.05, seed=3, directed=True)
    graph = gravel.graph(given)
    assert graph.directed
    lengths = networkx.single_source_shortest_path_length(given, 0)
    assert by_id(graph.bfs(0)) == {v: lengths.get(v, -1) for v in given}
    both = gravel.graph(given, directed=False)
    lengths = networkx.single_source_shortest_path_length(given.to_undirected(), 0)
    assert by_id(both.bfs(0)) == {v: lengths.get(v, -1) for v in given}


def test_nodes_of_networkx_are_any_objects():
    given = networkx.grid_2d_graph(3, 4)
    given.add_edge("a", (0, 0))
    given.add_edge("a", "a")
    graph = gravel.graph(given)
    search = graph.bfs("a")
    assert (
        search.path_to((2, 3)) == networkx.shortest_path(given, "a", (2, 3))
        or len(search.path_to((2, 3))) == 7
    )
    assert search.distance[(2, 3)] == 6
    assert search.predecessor[(0, 0)] == "a"
    assert search.predecessor.to_numpy()[0] is not None
    with pytest.raises(TypeError, match="Arrow has no type"):
        search.to_arrow()


DAY = datetime.date(2026, 1, 1)
KINDS = {
    "strings": lambda number: f"v{number}",
    "UUIDs": lambda number: uuid.UUID(int=number * 7919),
    "dates": lambda number: DAY + datetime.timedelta(days=number),
    "times with dates": lambda number: datetime.datetime(2026, 1, 1) + datetime.timedelta(seconds=number),
    "bytes": lambda number: f"{number:09}".encode(),
    "far integers": lambda number: number * 1_000_003_333 - 5,
    "integers with gaps": lambda number: number * 3,
    "negative integers": lambda number: number - 1000,
}


HOLDERS = [
    (kind, where)
    for kind in KINDS
    for where in ("lists", "pandas", "polars")
    if (kind, where) != ("UUIDs", "polars")  # which keeps them as objects that Arrow does not have
]


@pytest.mark.parametrize(("kind", "where"), HOLDERS)
def test_ids_of_every_kind(kind, where):
    make = KINDS[kind]
    ends = [[make(int(number)) for number in each] for each in ENDS]
    data = {
        "lists": lambda: tuple(ends),
        "pandas": lambda: pandas.DataFrame({"source": ends[0], "target": ends[1]}),
        "polars": lambda: pytest.importorskip("polars").DataFrame({"source": ends[0], "target": ends[1]}),
    }[where]()
    graph = gravel.graph(data)
    source = int(ENDS[0][0])
    search = graph.bfs(make(source))
    assert by_id(search) == {make(v): hops for v, hops in distances(ENDS, source).items()}
    assert parts_of(graph.components()) == {frozenset(map(make, each)) for each in parts(ENDS)}
    assert graph.info().ids == kind.removeprefix("far ").removesuffix(" with gaps").removeprefix("negative ")
    reached = next(v for v, hops in distances(ENDS, source).items() if hops > 1)
    assert search.path_to(make(reached))[-1] == make(reached)


def test_categories_are_their_values():
    frame = pandas.DataFrame({"source": ["a", "b", "a"], "target": ["b", "c", "c"]}, dtype="category")
    assert gravel.graph(frame).bfs("a").levels == [1, 2]


def test_columns_are_found_by_name():
    columns = {"weight": [1.0, 2.0], "Src": ["a", "b"], "note": [None, "x"], "dst": ["b", "c"]}
    frame = pytest.importorskip("polars").DataFrame(columns)
    assert gravel.graph(frame).bfs("a").levels == [1, 1, 1]
    renamed = frame.rename({"Src": "who", "dst": "whom"})
    named = gravel.graph(renamed, source="whom", target="who", directed=True)
    assert named.bfs("c").levels == [1, 1, 1]


def test_self_loops_leave_their_vertices():
    graph = gravel.graph(([1, 2], [1, 3]))
    assert graph.vertices.to_pylist() == [1, 2, 3]
    assert graph.info().edges == 1


def test_no_edges():
    graph = gravel.graph(([], []))
    assert len(graph) == 0
    assert graph.components().count == 0
    with pytest.raises(KeyError, match="no vertex"):
        graph.bfs(1)


def test_a_graph_does_not_change_with_its_data():
    source, target = (each.astype(numpy.uint32) for each in ENDS)
    sparse = matrix(ENDS).astype(numpy.int32)
    nodes = networkx.path_graph(4)
    graphs = [gravel.graph((source, target)), gravel.graph(sparse, directed=True), gravel.graph(nodes)]
    before = [by_id(graph.bfs(0)) for graph in graphs]
    source[:], target[:] = 0, 0
    sparse.indices[:] = 10**6
    sparse.indptr[:] = 0
    nodes.clear()
    assert [by_id(graph.bfs(0)) for graph in graphs] == before
