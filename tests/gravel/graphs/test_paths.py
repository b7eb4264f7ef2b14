"""Paths between pairs of a graph in memory, under the caller's ids."""

import numpy
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

import gravel
from gravel.kernels.ids.distinct import distinct

EDGES = ["a", "b", "a", "d", "c"], ["b", "c", "c", "e", "b"]
WEIGHTS = [2, 3, 7, 1, 1]


def made(**asked):
    return gravel.graph(EDGES, weights=WEIGHTS, directed=True, **asked)


@pytest.mark.parametrize(
    "change",
    [
        lambda graph: graph,
        lambda graph: graph.reorder("degree"),
        lambda graph: graph.compress(),
        lambda graph: graph.reorder("degree").compress("blocks"),
    ],
    ids=["plain", "reordered", "compressed", "both"],
)
def test_one_pair(change):
    graph = change(made())
    assert graph.distance("a", "c") == 5
    assert graph.path("a", "c") == ["a", "b", "c"]
    assert graph.distance("a", "c", by="arcs") == 1
    assert graph.path("a", "c", by="arcs") == ["a", "c"]
    assert graph.distance("a", "a") == 0
    assert graph.path("a", "a") == ["a"]
    assert graph.distance("a", "e") is None
    assert graph.path("a", "e") is None


def test_directions():
    graph = made()
    assert graph.path("c", "a") is None
    assert graph.path("c", "a", direction="in") == ["c", "b", "a"]
    assert graph.distance("c", "a", direction="both") == 3


def test_many_pairs():
    found = made().paths(["a", "b", "d"], ["c", "e", "e"])
    assert len(found) == 3
    assert list(found) == [["a", "b", "c"], None, ["d", "e"]]
    assert found.lengths() == [5, None, 1]
    assert found.to_arrow().to_pydict() == {
        "source": ["a", "b", "d"],
        "target": ["c", "e", "e"],
        "distance": [5, None, 1],
    }
    assert repr(found).startswith("<gravel.Paths: 3 pairs in ")
    with pytest.raises(IndexError):
        found[3]
    with pytest.raises(ValueError, match="output='both'"):
        made().paths(["a"], ["b"], "distance")[0]


@pytest.mark.parametrize("directed", [False, True])
def test_as_scipy_finds_them(directed):
    rng = numpy.random.default_rng(2)
    n, m = 500, 1500
    keys = distinct(rng.integers(0, n * n, m))
    matrix = coo_array((rng.random(len(keys)) + 0.5, (keys // n, keys % n)), shape=(n, n))
    graph = gravel.graph(matrix, weights=True, directed=directed)
    sources, targets = rng.integers(0, n, (2, 60))
    found = graph.paths(sources.tolist(), targets.tolist())
    rounded = matrix.astype(numpy.float32).astype(float).tocsr()
    expected = dijkstra(rounded, directed=directed, indices=sources)[numpy.arange(60), targets]
    numpy.testing.assert_allclose(found.distance, expected, rtol=1e-12)


def test_what_is_refused():
    graph, plain = made(), gravel.graph(EDGES)
    for call, error, message in (
        (lambda: graph.path("a", "zoe"), KeyError, "zoe"),
        (lambda: graph.paths(["a"], ["b", "c"]), ValueError, "1 sources and 2 targets"),
        (lambda: graph.path("a", "b", by="hops"), ValueError, "auto, arcs, weights"),
        (lambda: graph.path("a", "b", direction="up"), ValueError, "'out', 'in' or 'both'"),
        (lambda: graph.paths(["a"], ["b"], "predecessor"), ValueError, "'both' or 'distance'"),
        (lambda: plain.path("a", "b", by="weights"), ValueError, "shortest paths need weights"),
    ):
        with pytest.raises(error, match=message):
            call()
    assert plain.distance("a", "c") == 1


def test_a_workflow_exports_paths_under_the_files_ids(tmp_path):
    (tmp_path / "edges.csv").write_text("source,target,weight\na,b,2\nb,c,3\na,c,7\nd,e,1\n")
    workflow = tmp_path / "paths.yaml"
    workflow.write_text(
        "workflow: paths\nstages:\n"
        f"  edges: {{stage: ingest, file: {tmp_path / 'edges.csv'}}}\n"
        "  graph: {stage: symmetrize, input: edges, weights: minimum}\n"
        "  ways: {stage: paths, input: graph, pairs: [[a, c], [c, e]]}\n"
    )
    found = gravel.run(workflow, cache=tmp_path / "cache")["ways"]
    assert found.distance[:].tolist() == [5, -1]
    assert found.vertex[:].tolist() == [0, 1, 2]
