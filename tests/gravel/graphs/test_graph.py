"""What a graph does: searches in every order and layout, again for microseconds, and from a pickle."""

from __future__ import annotations

import copy
import datetime
import pickle
import time
import uuid
from collections.abc import Callable
from typing import Any

import networkx
import numpy
import pytest

import gravel
from tests.gravel.samples import by_id, check_tree, distances, parts, parts_of, random_edges

ENDS = random_edges(seed=5, vertices=2000, edges=4000)
SOURCE = int(ENDS[0][0])
ARCS = set(zip(*(each.tolist() for each in ENDS), strict=True))
ARCS |= {(v, u) for u, v in ARCS}

ARRANGED = {
    "as it is": lambda graph: graph,
    "rcm": lambda graph: graph.reorder("rcm"),
    "random": lambda graph: graph.reorder("random", seed=3),
    "reordered twice": lambda graph: graph.reorder("random", seed=3).reorder("degree"),
    "varint": lambda graph: graph.compress(),
    "degree in blocks": lambda graph: graph.reorder("degree").compress("blocks"),
    "elias_fano": lambda graph: graph.compress("elias_fano"),
    "csr": lambda graph: graph.compress("csr"),
    "host": lambda graph: graph.place("host"),
    "streamed": lambda graph: graph.place("streamed"),
}


@pytest.fixture(scope="module")
def graph():
    return gravel.graph(ENDS)


@pytest.mark.parametrize("way", ARRANGED)
def test_every_arrangement_gives_the_same(graph, way):
    arranged = ARRANGED[way](graph)
    search = arranged.bfs(SOURCE)
    assert by_id(search) == distances(ENDS, SOURCE)
    check_tree(search, ARCS)
    assert parts_of(arranged.components()) == parts(ENDS)


@pytest.mark.parametrize("strategy", ["top_down", "direction_optimizing", "serial", "multi_source"])
def test_strategies(graph, strategy):
    search = graph.bfs(SOURCE, strategy=strategy)
    assert search.strategy == strategy
    assert by_id(search) == distances(ENDS, SOURCE)


def test_one_output_alone(graph):
    far = graph.bfs(SOURCE, "distance")
    tree = graph.bfs(SOURCE, "predecessor")
    assert far.reached == tree.reached
    assert tree.path_to(SOURCE) == [SOURCE]
    with pytest.raises(ValueError, match="ask for output"):
        far.path_to(SOURCE)
    with pytest.raises(ValueError, match="ask for output"):
        tree.levels  # noqa: B018
    assert set(far.to_arrow().column_names) == {"vertex", "distance"}
    assert tree._repr_html_()


def test_depth_and_constants(graph):
    near = graph.bfs(SOURCE, max_depth=2)
    assert near.depth == 2
    assert near.levels == graph.bfs(SOURCE).levels[:3]
    assert by_id(graph.bfs(SOURCE, strategy="direction_optimizing", alpha=1)) == distances(ENDS, SOURCE)
    with pytest.raises(ValueError, match="alhpa"):
        graph.bfs(SOURCE, strategy="direction_optimizing", alhpa=1)


def test_a_result_stays_when_the_graph_is_searched_again(graph):
    other = int(ENDS[0][1])
    first = graph.bfs(SOURCE)
    second = graph.bfs(other)
    graph.bfs(SOURCE)
    assert by_id(first) == distances(ENDS, SOURCE)
    assert by_id(second) == distances(ENDS, other)


def test_many_searches_from_several_threads(graph):
    from concurrent.futures import ThreadPoolExecutor

    sources = numpy.unique(ENDS[0])[:40].tolist()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda source: by_id(graph.bfs(source)), sources))
    assert found == [distances(ENDS, source) for source in sources]


def test_searching_again_takes_microseconds_of_python():
    graph = gravel.graph(([1, 2, 3], [2, 3, 4]))
    graph.bfs(1)
    kernel = next(iter(graph._rows.prepared.values())).search

    def fastest(call):
        times = []
        for _ in range(300):
            started = time.perf_counter()
            call()
            times.append(time.perf_counter() - started)
        return min(times)

    beside = fastest(lambda: graph.bfs(1)) - fastest(lambda: kernel.run(0))
    assert beside < 50e-6


def test_few_searches_are_kept_ready(graph):
    for depth in range(8):
        graph.bfs(SOURCE, max_depth=depth)
    assert len(graph._rows.prepared) <= 4


def test_info_and_looks(graph):
    info = graph.info()
    assert info.vertices == len(graph) == len(graph.vertices)
    assert info.arcs == 2 * info.edges
    assert info.memory == "host memory"
    packed = graph.reorder("degree").compress("varint").info()
    assert (packed.order, packed.layout) == ("degree", "varint")
    assert SOURCE in graph
    assert "no such id" not in graph
    for each in (graph, graph.bfs(SOURCE), graph.components()):
        assert repr(each).startswith("<gravel.")
        assert each._repr_html_().startswith("<b>gravel.")
    assert "<svg" in graph.bfs(SOURCE)._repr_html_()


def test_the_picture_of_a_deep_search_stays_small():
    search = gravel.graph((list(range(5000)), list(range(1, 5001)))).bfs(0)
    assert search.depth == 5000
    picture = search._repr_html_()
    assert len(picture) < 20_000
    assert "<title>84 to 167: 84</title>" in picture
    assert search.path_to(3) == [0, 1, 2, 3]


def test_columns_of_results():
    graph = gravel.graph((["a", "b", "x"], ["b", "c", "y"]))
    search = graph.bfs("a")
    frame = search.to_pandas().set_index("vertex")
    assert frame.loc["c", "predecessor"] == "b"
    assert frame["predecessor"].isna().tolist() == [True, False, False, True, True]
    assert str(frame["distance"].dtype) == "Int32"
    assert search.to_arrow()["distance"].to_pylist() == [0, 1, 2, None, None]
    assert search.distance.array.tolist() == [0, 1, 2, -1, -1]
    assert search.predecessor.to_pandas()["c"] == "b"
    assert search.predecessor["a"] is None
    assert search.path_to("y") is None
    assert search.to_numpy()["predecessor"].tolist() == [None, "a", "b", None, None]
    with pytest.raises(TypeError, match="strings cannot lie"):
        search.predecessor.to_cupy()
    parts = graph.components()
    assert parts.sizes.tolist() == [3, 2]
    assert parts.largest.to_pylist() == ["a", "b", "c"]
    assert parts.of("y").to_pylist() == ["x", "y"]
    assert parts.same("x", "y")
    assert not parts.same("x", "a")
    assert parts.component["c"] == "a"
    assert len(parts) == 2
    assert parts.to_pandas()["component"].tolist() == ["a", "a", "a", "x", "x"]


@pytest.mark.parametrize(
    ("weights", "kind", "none"), [([2, 3], "Int32", -1), ([0.5, 1], "Float64", numpy.inf)]
)
def test_an_unreached_vertex_has_no_distance(weights, kind, none):
    graph = gravel.graph(([1, 3], [2, 4]), weights=weights)
    search = graph.shortest_paths(1)
    assert search.to_arrow()["distance"].to_pylist() == [0, weights[0], None, None]
    assert str(search.to_pandas()["distance"].dtype) == kind
    assert str(search.distance.to_pandas().dtype) == kind
    assert search.to_numpy()["distance"].tolist() == [0, weights[0], none, none]
    assert graph.paths([1, 1], [2, 3]).to_arrow()["distance"].to_pylist() == [weights[0], None]
    assert graph.distances(1).to_arrow()["distance"].to_pylist() == [0, 1, None, None]
    assert "vertices by distance" in search._repr_html_()
    assert "with a path" in graph.paths([1, 1], [2, 3])._repr_html_()


@pytest.mark.parametrize("name", ["numpy", "cupy"])
def test_a_retired_method_names_the_one_that_is_there(name):
    search = gravel.graph([(1, 2)]).bfs(1)
    for result in (search, search.distance):
        with pytest.raises(
            AttributeError, match=rf"{type(result).__name__} has no {name}\(\): call to_{name}\(\)"
        ):
            getattr(result, name)()


def test_missing_predecessors_among_integers():
    search = gravel.graph(([-1, 5], [5, 6])).bfs(5)
    least = numpy.iinfo(numpy.int64).min
    assert search.predecessor.to_numpy().tolist() == [5, least, 5]
    assert numpy.asarray(search.distance).tolist() == [1, 0, 1]
    assert gravel.graph(([1, 5], [5, 6])).bfs(5).predecessor.to_numpy().tolist() == [5, -1, 5]
    assert str(search.predecessor.to_pandas().dtype) == "Int64"


def test_a_notebook_shows_counts_and_numbers_in_short():
    graph = gravel.graph([("a", "b"), ("b", "c"), ("c", "d")])
    picture = graph.bfs("a")._repr_html_()
    assert "vertices at distances 0 to 3; at most 1" in picture
    assert "<title>2: 1</title>" in picture
    assert ">0.666667<" in graph.betweenness()._repr_html_()
    assert "host memory" in graph._repr_html_()


def test_results_show_their_first_values_and_times():
    search = gravel.graph([("a", "b"), ("b", "c"), ("x", "y")]).bfs("a")
    assert repr(search.distance) == "<gravel.Labels: distance of 5 vertices: 0, 1, 2, -1, -1>"
    assert (
        repr(search.predecessor) == "<gravel.Labels: predecessor of 5 vertices: None, 'a', 'b', None, None>"
    )
    line = gravel.graph([(place, place + 1) for place in range(9)])
    assert repr(line.bfs(0).distance).endswith(": 0, 1, 2, 3, 4, 5, ...>")
    assert repr(line.closeness()).startswith("<gravel.Measure: closeness of 10 vertices in ")
    assert repr(line.paths([1], [3])).startswith("<gravel.Paths: 1 pair in ")


FEW = numpy.random.default_rng(1).integers(0, 50, (2, 200))
DAYS = [[datetime.date(2026, 1, 1) + datetime.timedelta(int(day)) for day in side] for side in FEW]
GRAPHS: dict[str, Callable[[], Any]] = {
    "integers": lambda: gravel.graph(tuple(FEW)),
    "sparse integers": lambda: gravel.graph(tuple(7 * FEW + 3)),
    "directed": lambda: gravel.graph(tuple(FEW), directed=True),
    "strings": lambda: gravel.graph([(f"v{a}", f"v{b}") for a, b in FEW.T]),
    "weights": lambda: gravel.graph(tuple(FEW), weights=FEW[0] + 1.5),
    "uuids": lambda: gravel.graph(tuple([uuid.UUID(int=int(each)) for each in side] for side in FEW)),
    "dates": lambda: gravel.graph(tuple(DAYS)),
    "objects": lambda: gravel.graph(networkx.grid_2d_graph(6, 6)),
    "reordered": lambda: gravel.graph(tuple(FEW)).reorder("rcm"),
    "compressed": lambda: gravel.graph(tuple(FEW)).reorder("rcm").compress("varint"),
    "both": lambda: gravel.graph(tuple(FEW), weights=FEW[0] + 1).reorder("degree").compress("varint"),
}
WAYS: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda one: pickle.loads(pickle.dumps(one)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


def first(graph: Any) -> Any:
    """Return the id of a vertex with arcs."""
    ids = graph._ids
    return ids.values[0] if ids.kind == "Python objects" else graph.vertices[0].as_py()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_that_was_searched_goes_on_elsewhere(name: str, way: str) -> None:
    """It held queues and threads, of which Python says `cannot pickle '_queue.SimpleQueue' object`."""
    graph = GRAPHS[name]()
    source = first(graph)
    found = graph.bfs(source)
    graph.closeness()
    if graph.directed:
        graph.bfs(source, direction="in")
    other = WAYS[way](graph)
    assert other.info() == graph.info()
    assert not other._rows.prepared
    assert not other._rows.searched
    assert numpy.array_equal(other.bfs(source).distance.to_numpy(), found.distance.to_numpy())
    graph.bfs(first(graph))
    assert numpy.array_equal(other.components().component.array, graph.components().component.array)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", GRAPHS)
def test_results_go_on_without_the_graph(name: str, way: str) -> None:
    graph = GRAPHS[name]()
    source = first(graph)
    weighted = graph._rows.stored.weights is not None if hasattr(graph._rows.stored, "weights") else False
    results = [graph.bfs(source), graph.bfs(source, "distance"), graph.components(), graph.closeness()]
    results += [graph.shortest_paths(source)] if weighted else []
    for one in results:
        other = WAYS[way](one)
        assert isinstance(other, type(one))
        assert repr(other) == repr(one)
        for column, values in one.to_numpy().items():
            assert numpy.array_equal(other.to_numpy()[column], values)
    search = WAYS[way](results[0])
    assert not hasattr(search, "_prepared")
    assert (search.strategy, search.reason) == (results[0].strategy, results[0].reason)
    assert search.path_to(source) == [source]
    assert isinstance(WAYS[way](search), gravel.Search)


def test_a_pickle_holds_labels_and_ids_alone() -> None:
    n = 20_000
    path = gravel.graph((numpy.arange(n - 1), numpy.arange(1, n)))
    assert len(pickle.dumps(path.bfs(0))) < 8 * n + 2000
    assert len(pickle.dumps(path)) < 8 * (n + 1) + 4 * 2 * n + 2000


@pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs")
def test_a_graph_of_networkx_that_was_converted_can_be_pickled() -> None:
    graph = networkx.path_graph(50)
    networkx.single_source_shortest_path_length(graph, 0, backend="gravel")
    other = pickle.loads(pickle.dumps(graph))
    found = networkx.single_source_shortest_path_length(other, 0, backend="gravel")
    assert found == {vertex: vertex for vertex in range(50)}


def test_a_graph_is_placed_for_the_machine_where_it_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = gravel.graph(tuple(FEW)).place("host")
    content = pickle.dumps(graph)
    monkeypatch.setattr("gravel.memory.usable_backend", lambda: "cuda")
    monkeypatch.setattr(
        "gravel.memory.on_gpu", lambda machine: machine.__class__("cuda", 3, 1 << 30, 1 << 20)
    )
    loaded = pickle.loads(content)
    assert (loaded._rows.machine.backend, loaded._rows.placement) == ("cuda", "auto")
    assert type(loaded._rows.stored.column_indices) is numpy.ndarray
