"""What a traversal counts of its searches."""

from dataclasses import replace

import numpy
import pytest

from gravel.kernels.order import METHODS
from gravel.stages.artifacts import Graph, Partition
from tests.stages.traverse_case import (
    BACKENDS,
    GRAPHS,
    partitioned,
    plain,
    renumbered,
    run,
)
from tests.zoo import scipy_distances


def test_counts_of_a_search():
    graph = plain(GRAPHS["tail_on_clique"])
    _, measurement = run(graph, sources={"vertices": [0]})
    (search,) = measurement.searches
    assert search["source"] == 0
    assert search["reached"] == 60
    assert search["arcs"] == graph.arc_count
    assert search["edges"] == graph.arc_count // 2
    assert search["depth"] == 31
    levels = search["levels"]
    assert levels["vertices"] == [1, 29, *[1] * 30]
    assert levels["arcs"][0] == 29
    assert sum(levels["arcs"]) == graph.arc_count
    assert set(levels["pulled"]) <= set(range(32))
    assert search["milliseconds"] > 0
    assert search["map_back_milliseconds"] == 0
    assert measurement.prepare_milliseconds > 0
    assert measurement.strategy == "direction_optimizing"
    assert measurement.backend == "cpu"


def test_edges_count_loops_once_and_duplicates_never():
    # 0-1 twice, a loop at 1 stored twice, 1-2, and 3 with a loop alone.
    offsets = numpy.array([0, 2, 7, 8, 9])
    columns = numpy.array([1, 1, 0, 0, 1, 1, 2, 1, 3], numpy.uint32)
    graph = Graph(
        row_offsets=offsets,
        column_indices=columns,
        vertex_count=4,
        arc_count=9,
        symmetric=True,
        deduplicated=False,
        loop_count=3,
    )
    for searched in (graph, partitioned(graph)):
        if isinstance(searched, Partition):
            searched = Partition(**{**vars(searched), "deduplicated": False, "loop_count": 3})
        _, measurement = run(searched, sources={"vertices": [0, 3]})
        assert [search["edges"] for search in measurement.searches] == [3, 1]
        assert [search["arcs"] for search in measurement.searches] == [8, 1]
        _, measurement = run(searched, algorithm="components")
        assert measurement.searches[0]["edges"] == 4


def test_a_directed_search_counts_arcs():
    graph = plain(GRAPHS["directed_chain_back"], symmetric=False)
    traversal, measurement = run(graph, sources={"vertices": [2, 0]})
    assert traversal.distance.tolist() == [[2, 1, 0, -1, -1], [0, -1, -1, -1, -1]]
    assert measurement.searches[0]["edges"] == measurement.searches[0]["arcs"] == 2
    assert measurement.strategy == "top_down"


@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
@pytest.mark.parametrize("output", ["both", "predecessor"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_statistics(symmetric, output, backend):
    graph = plain(GRAPHS["skewed_random"], symmetric=symmetric)
    _, measurement = run(
        renumbered(graph),
        backend=backend,
        strategy="two_phase" if backend == "cuda" else "top_down",
        output=output,
        statistics=True,
        sources={"vertices": [0, 1]},
    )
    distance = scipy_distances(graph.row_offsets, graph.column_indices, 0)
    first, second = measurement.searches
    distinct = [
        len({int(w) for v in numpy.flatnonzero(distance == level) for w in rows(graph, v)})
        for level in range(distance.max() + 1)
    ]
    assert first["levels"]["distinct"] == distinct
    assert "distinct" not in second["levels"]
    if backend == "cpu":
        assert "top_down does not count the arcs that it gathers on cpu" in measurement.notes
        assert "expanded" not in first
    else:
        for search in (first, second):
            assert search["expanded"] == sum(search["levels"]["expanded"]) >= search["arcs"]
            assert search["redundant_expansion"] == search["expanded"] / search["arcs"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_order_of_a_graph_is_timed_with_statistics(method, backend):
    graph = replace(renumbered(plain(GRAPHS["skewed_random"])), method=method)
    _, measurement = run(graph, backend=backend, statistics=True)
    assert (measurement.order_milliseconds > 0) == (method != "original")
    assert (0 < measurement.order_find_milliseconds < measurement.order_milliseconds) == (
        method != "original"
    )
    assert run(graph, backend=backend)[1].order_milliseconds is None
    assert run(plain(GRAPHS["path_33"]), backend=backend, statistics=True)[1].order_milliseconds is None
    directed = replace(renumbered(plain(GRAPHS["skewed_random"], symmetric=False)), method=method)
    _, measurement = run(directed, backend=backend, statistics=True)
    assert (measurement.order_milliseconds is None) == METHODS[method].symmetric


def rows(graph, vertex):
    return graph.column_indices[graph.row_offsets[vertex] : graph.row_offsets[vertex + 1]]


def test_a_partition_counts_nothing():
    _, measurement = run(partitioned(plain(GRAPHS["path_33"])), statistics=True)
    assert any("partition do not count" in note for note in measurement.notes)
