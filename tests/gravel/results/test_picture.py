"""What notebooks show of each result: times in seconds, distances as float32, and a distribution."""

from __future__ import annotations

import re
from typing import Any

import numpy
import pytest

import gravel
from gravel.results.picture import histogram
from tests.gravel.samples import random_edges

WEIGHTS = numpy.linspace(0.1, 2, 2000, dtype=numpy.float32)
GRAPH = gravel.graph(random_edges(1, 300, 2000), weights=WEIGHTS, backend="cpu")
FIRST = GRAPH.vertices.to_pylist()[:20]

TIMED = {
    "bfs": lambda graph: graph.bfs(FIRST[0]),
    "shortest_paths": lambda graph: graph.shortest_paths(FIRST[0]),
    "paths": lambda graph: graph.paths(FIRST[:10], FIRST[10:]),
    "components": lambda graph: graph.components(),
    "pagerank": lambda graph: graph.pagerank(),
    "closeness": lambda graph: graph.closeness(),
    "edge_betweenness": lambda graph: graph.edge_betweenness(k=3),
    "distances": lambda graph: graph.distances(FIRST[:3]),
}


def heights(html: str) -> list[float]:
    return [float(each) for each in re.findall(r"height='([0-9.]+)' fill", html)]


@pytest.mark.parametrize("name", TIMED)
def test_times_are_seconds(name: str) -> None:
    found: Any = TIMED[name](GRAPH)
    assert re.search(r"in [0-9.]+ s[,>]|, [0-9.]+ s,", repr(found))
    assert re.search(r">[0-9.]+ s<", found._repr_html_())
    assert " ms" not in repr(found) + found._repr_html_()


@pytest.mark.parametrize("name", sorted(TIMED.keys() - {"components"}))
def test_a_result_has_a_picture_of_its_distribution(name: str) -> None:
    assert len(heights(TIMED[name](GRAPH)._repr_html_())) > 1


def test_a_graph_shows_its_degrees() -> None:
    assert len(heights(GRAPH._repr_html_())) > 4
    ring = gravel.graph([(1, 2), (2, 3), (3, 1)])
    assert not heights(ring._repr_html_())


def test_one_component_is_no_block_and_unreached_vertices_no_bar() -> None:
    graph = gravel.graph([(1, 2), (2, 3), (8, 9)])
    assert not heights(gravel.graph([(1, 2)]).components()._repr_html_())
    assert len(heights(graph.components()._repr_html_())) == 2
    assert len(heights(graph.bfs(1)._repr_html_())) == 3
    assert len(heights(graph.distances([1], [1, 3, 8])._repr_html_())) == 3  # distances 0, 1 and 2
    assert not heights(graph.distances([1], [8])._repr_html_())


def test_numbers_far_apart_have_ranges_that_double() -> None:
    drawn = histogram("vertices by degree", numpy.array([1] * 50 + [2] * 20 + [5] * 9 + [4000]))
    assert sum(height > 1 for height in heights(drawn)) == 4
    assert "<title>4 to 8: 9</title>" in drawn


def test_distances_are_shown_as_float32() -> None:
    graph = gravel.graph([("a", "b"), ("b", "c")], weights=[0.1, 0.2])
    distance = graph.shortest_paths("a").distance
    assert repr(distance).endswith("3 vertices: 0.0, 0.1, 0.3>")
    assert distance["b"] == numpy.float32(0.1)
