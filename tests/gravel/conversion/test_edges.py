"""Shortest paths of graphs from whatever holds weights, under the caller's ids."""

import networkx
import numpy
import pandas
import pyarrow
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

import gravel
from gravel.kernels.ids.distinct import distinct
from gravel.pipeline.core.errors import RequestError

SOURCE, TARGET = ["a", "b", "a", "d", "c"], ["b", "c", "c", "e", "b"]
WEIGHTS = [2, 3, 7, 1, 1]


def of_networkx(kind=networkx.DiGraph, name="weight"):
    made = kind()
    for u, v, w in zip(SOURCE, TARGET, WEIGHTS, strict=True):
        made.add_edge(u, v, **{name: w})
    return made


def frame(name="weight"):
    return pandas.DataFrame({"src": SOURCE, "dst": TARGET, name: WEIGHTS})


WAYS = {
    "arrays": lambda: gravel.graph((SOURCE, TARGET), weights=numpy.array(WEIGHTS), directed=True),
    "pairs": lambda: gravel.graph(list(zip(SOURCE, TARGET, strict=True)), weights=WEIGHTS, directed=True),
    "pandas": lambda: gravel.graph(frame("cost"), weights="cost", directed=True),
    "pandas beside": lambda: gravel.graph(frame()[["src", "dst"]], weights=WEIGHTS, directed=True),
    "arrow": lambda: gravel.graph(pyarrow.table(frame()), weights=True, directed=True),
    "networkx": lambda: gravel.graph(of_networkx(), weights=True),
    "networkx by name": lambda: gravel.graph(of_networkx(name="km"), weights="km"),
    "multigraph": lambda: gravel.graph(of_networkx(networkx.MultiDiGraph), weights="weight"),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_leads_to_the_same(way):
    found = WAYS[way]().shortest_paths("a")
    distances = found.to_pandas().set_index("vertex")["distance"]
    assert distances.dropna().to_dict() == {"a": 0, "b": 2, "c": 5}
    assert distances.index[distances.isna()].tolist() == ["d", "e"]
    assert found.path_to("c") == ["a", "b", "c"]
    assert found.path_to("a") == ["a"]
    assert found.path_to("e") is None
    assert found.distance["c"] == 5
    assert found.predecessor["c"] == "b"
    assert found.reached == 3
    assert repr(found).startswith("<gravel.ShortestPaths from 'a': 3 of 5 vertices in ")


def random_matrix(seed, *, floats):
    rng = numpy.random.default_rng(seed)
    n, m = 300, 900
    keys = distinct(rng.integers(0, n * n, m))
    values = rng.random(len(keys)).astype(numpy.float32) + 0.5 if floats else rng.integers(1, 9, len(keys))
    return coo_array((values, (keys // n, keys % n)), shape=(n, n))


@pytest.mark.parametrize("floats", [False, True])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("order", [None, "degree", "rcm"])
def test_sparse_matrices_as_scipy_does(floats, directed, order):
    matrix = random_matrix(5, floats=floats)
    graph = gravel.graph(matrix.tocsr(), weights=True, directed=directed)
    if order is not None:
        # An order of an order is one of the rows as they were.
        graph = graph.reorder("random").reorder(order)
    for source in (0, 17):
        expected = dijkstra(matrix.astype(float).tocsr(), directed=directed, indices=source)
        for strategy in ("auto", "dijkstra"):
            found = graph.shortest_paths(source, strategy=strategy).distance.to_numpy()
            numpy.testing.assert_array_equal(
                found if floats else numpy.where(found < 0, numpy.inf, found), expected
            )


@pytest.mark.parametrize(("direction", "turned"), [("in", lambda m: m.T), ("both", lambda m: m)])
def test_against_arcs_and_both_ways(direction, turned):
    matrix = random_matrix(6, floats=True)
    found = gravel.graph(matrix, weights=True, directed=True).shortest_paths(3, direction=direction)
    expected = dijkstra(turned(matrix).astype(float).tocsr(), directed=direction == "in", indices=3)
    numpy.testing.assert_array_equal(found.distance.to_numpy(), expected)


def test_undirected_networkx():
    given = networkx.Graph()
    given.add_weighted_edges_from([(0, 1, 4.5), (1, 2, 0.25), (0, 2, 9.0)])
    given.add_node("alone")
    found = gravel.graph(given, weights=True).shortest_paths(2)
    assert found.distance[0] == 4.75
    assert found.distance["alone"] == numpy.inf
    assert found.path_to(0) == [2, 1, 0]
    assert found.reached == 3


def test_a_result_outlives_the_next_search():
    graph = WAYS["arrays"]()
    first = graph.shortest_paths("a")
    graph.shortest_paths("d")
    assert first.distance["c"] == 5
    alone = graph.shortest_paths("a", "distance")
    assert "predecessor" not in alone.to_numpy()
    with pytest.raises(ValueError, match="distances alone"):
        alone.path_to("b")


RELIABLE = ([0, 0, 1, 2, 3], [1, 2, 3, 3, 4], [-0.0, 0.25, 0.5, -0.0, 0.75])


def reliable(way, folder):
    """Return a graph with minus zero among its weights, by each of the doors."""
    source, target, weight = RELIABLE
    table = pandas.DataFrame({"source": source, "target": target, "weight": weight})
    if way == "arrays":
        return gravel.graph((source, target), weights=weight)
    if way == "float32":
        return gravel.graph((source, target), weights=numpy.array(weight, numpy.float32), directed=True)
    if way == "table":
        return gravel.graph(table, weights=True)
    if way == "networkx":
        return gravel.graph(networkx.from_pandas_edgelist(table, edge_attr=True), weights=True)
    if way == "matrix":
        return gravel.graph(coo_array((weight, (source, target)), (5, 5)), weights=True)
    path = folder / f"edges.{way}"
    if way == "npz":
        numpy.savez(path, source=source, target=target, weight=weight)
    elif way == "parquet":
        table.to_parquet(path)
    else:
        table.to_csv(path, index=False)
    return gravel.graph(path, weights=True, cache=False)


@pytest.mark.parametrize("way", ["arrays", "float32", "table", "networkx", "matrix", "csv", "parquet", "npz"])
def test_minus_zero_is_zero_by_every_door(way, tmp_path):
    graph = reliable(way, tmp_path)
    assert not numpy.signbit(graph._rows.stored.weights).any()
    for _ in range(2):
        found = graph.shortest_paths(0)
        assert found.distance.to_numpy().tolist() == [0, 0, 0.25, 0.25, 1.0]
        assert found.path_to(4) == [0, 2, 3, 4]
        assert graph.path(0, 4) == [0, 2, 3, 4]


def test_minus_zero_of_an_older_graph(tmp_path):
    """Weights of saved graphs and of own stages come as they are."""
    graph = reliable("arrays", tmp_path)
    old = numpy.where(graph._rows.stored.weights == 0, numpy.float32(-0.0), graph._rows.stored.weights)
    object.__setattr__(graph._rows.stored, "weights", old)
    again = gravel.load(graph.save(tmp_path / "saved"))
    assert numpy.signbit(again._rows.stored.weights).any()
    assert again.shortest_paths(0).distance.to_numpy().tolist() == [0, 0, 0.25, 0.25, 1.0]
    assert again.distance(0, 4) == 1.0


def test_duplicates():
    data = ([1, 1, 2], [2, 2, 1])
    for duplicates, length in (("minimum", 3), ("sum", 12)):
        graph = gravel.graph(data, weights=[5, 3, 4], duplicates=duplicates)
        assert graph.shortest_paths(1).distance[2] == length
    with pytest.raises(ValueError, match="occurs with the weights 3 and 4"):
        gravel.graph(data, weights=[5, 3, 4], duplicates="error")
    with pytest.raises(ValueError, match="minimum, sum, error"):
        gravel.graph(data, weights=[5, 3, 4], duplicates="mean")


def test_files_and_saved_graphs(tmp_path):
    file = tmp_path / "edges.csv"
    frame().to_csv(file, index=False)
    for cache in (False, tmp_path / "cache"):
        graph = gravel.graph(file, weights=True, directed=True, cache=cache)
        assert graph.shortest_paths("a").path_to("c") == ["a", "b", "c"]
        assert "weights" not in vars(gravel.graph(file, cache=cache))
    graph.save(tmp_path / "saved")
    assert gravel.load(tmp_path / "saved").shortest_paths("a").distance["c"] == 5


def test_results_of_workflows(tmp_path):
    frame().to_csv(tmp_path / "edges.csv", index=False)
    workflow = tmp_path / "paths.yaml"
    workflow.write_text(
        "workflow: paths\nstages:\n"
        f"  edges: {{stage: ingest, file: {tmp_path / 'edges.csv'}}}\n"
        "  graph: {stage: symmetrize, input: edges, direction: as_given, weights: minimum}\n"
        "  paths: {stage: traverse, input: graph, algorithm: shortest_paths, sources: [a, d]}\n"
    )
    first, second = gravel.run(workflow, cache=tmp_path / "cache")["paths"]
    assert first.path_to("c") == ["a", "b", "c"]
    assert second.distance["e"] == 1
    assert second.strategy == "delta_stepping"


@pytest.mark.parametrize("layout", ["csr", "varint", "blocks", "elias_fano"])
def test_compressed_graphs_keep_weights(layout, tmp_path):
    for graph in (WAYS["arrays"](), WAYS["arrays"]().reorder("degree")):
        packed = graph.compress(layout)
        assert packed.shortest_paths("a").path_to("c") == ["a", "b", "c"]
        assert packed.bfs("a").levels == [1, 2]
        packed.save(tmp_path / f"{layout}{graph.info().order}")
        loaded = gravel.load(tmp_path / f"{layout}{graph.info().order}")
        assert loaded.shortest_paths("a").distance["c"] == 5


def test_a_workflow_that_partitions_weights_is_refused_before_it_runs(tmp_path):
    frame().to_csv(tmp_path / "edges.csv", index=False)
    workflow = tmp_path / "paths.yaml"
    workflow.write_text(
        "workflow: paths\nstages:\n"
        f"  edges: {{stage: ingest, file: {tmp_path / 'edges.csv'}}}\n"
        "  graph: {stage: symmetrize, input: edges, weights: minimum}\n"
        "  small: {stage: compress, input: graph}\n"
        "  paths: {stage: traverse, input: small, algorithm: shortest_paths, sources: [a]}\n"
        "  parts: {stage: partition, input: graph, ranks: 2}\n"
    )
    with pytest.raises(RequestError, match="the graph has weights, and a partition carries none"):
        gravel.run(workflow, cache=tmp_path / "cache")
    assert not list((tmp_path / "cache").rglob("byte_offsets"))
    workflow.write_text("\n".join(workflow.read_text().splitlines()[:-1]))
    found = gravel.run(workflow, cache=tmp_path / "cache")["paths"]
    assert list((tmp_path / "cache").rglob("byte_offsets"))
    assert found.path_to("c") == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("data", "weights", "error", "message"),
    [
        ((SOURCE, TARGET), [1, 2], ValueError, "2 weights and 5 edges"),
        ((SOURCE, TARGET), [1, -2, 1, 1, 1], ValueError, r"edge \('b', 'c'\) has the weight -2"),
        ((SOURCE, TARGET), [1, 2, numpy.nan, 1, 1], ValueError, r"edge \('a', 'c'\) has the weight nan"),
        ((SOURCE, TARGET), list("abcde"), TypeError, "one number for each edge"),
        ((SOURCE, TARGET), "weight", TypeError, "an array of one number for each"),
        (frame(), "cost", KeyError, "no column cost"),
        (coo_array(([1], ([0], [1])), shape=(2, 2)), [1], TypeError, "weights=True"),
        (of_networkx(), "km", ValueError, r"edge \('a', 'b'\) has no attribute 'km'"),
        ("edges.csv", [1.0], TypeError, "the weights of a file are a column: give its name, or weights=True"),
    ],
    ids=str,
)
def test_weights_that_are_refused(data, weights, error, message):
    with pytest.raises(error, match=message):
        gravel.graph(data, weights=weights)


def test_graphs_without_weights():
    plain = gravel.graph((SOURCE, TARGET))
    for graph in (plain, plain.compress()):
        with pytest.raises(ValueError, match="shortest paths need weights"):
            graph.shortest_paths("a")
    with pytest.raises(ValueError, match="there is no shortest_paths strategy 'bellman'"):
        WAYS["arrays"]().shortest_paths("a", strategy="bellman")
    with pytest.raises(KeyError):
        WAYS["arrays"]().shortest_paths("zoe")
    assert WAYS["arrays"]().bfs("a").levels == [1, 2]
