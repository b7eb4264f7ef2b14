"""PageRank of a graph: the ranks of NetworkX in every arrangement, and what is refused."""

from __future__ import annotations

from typing import Any

import networkx
import numpy
import pytest

import gravel
from tests.gravel.graphs.test_graph import ARRANGED
from tests.gravel.samples import random_edges

ENDS = random_edges(seed=5, vertices=300, edges=500)
WEIGHTS = numpy.random.default_rng(3).integers(1, 7, len(ENDS[0]))


def reference(*, directed: bool, weighted: bool = False) -> Any:
    made = networkx.DiGraph() if directed else networkx.Graph()
    for u, v, weight in zip(*(each.tolist() for each in ENDS), WEIGHTS.tolist(), strict=True):
        known = made.get_edge_data(u, v, {"weight": weight})["weight"]
        made.add_edge(u, v, weight=min(weight, known) if weighted else 1)
    made.remove_edges_from(list(networkx.selfloop_edges(made)))
    return made


def built(*, directed: bool, weighted: bool = False) -> Any:
    return gravel.graph(ENDS, directed=directed, weights=WEIGHTS if weighted else None)


def agrees(measure: Any, expected: dict[Any, float]) -> None:
    columns = measure.numpy()
    found = dict(zip(columns["vertex"].tolist(), columns["pagerank"].tolist(), strict=True))
    assert found == pytest.approx(expected, rel=0, abs=1e-9)


@pytest.mark.parametrize("way", ARRANGED)
@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
def test_every_arrangement_gives_what_networkx_gives(way: str, directed: bool) -> None:
    made = reference(directed=directed)
    arranged = ARRANGED[way](built(directed=directed))
    found = arranged.pagerank()
    agrees(found, networkx.pagerank(made))
    assert found.residual < 1e-6 * len(made)
    more = arranged.pagerank(damping=0.5, tolerance=1e-12, max_iterations=500)
    agrees(more, networkx.pagerank(made, 0.5, tol=1e-12, max_iter=500))
    assert more.iterations > found.iterations
    assert (arranged.pagerank().values == found.values).all()


@pytest.mark.parametrize("layout", [None, "varint", "blocks"])
@pytest.mark.parametrize("direction", ["out", "in", "both"])
def test_weights_and_directions(layout: str | None, direction: str) -> None:
    graph, made = built(directed=True, weighted=True), reference(directed=True, weighted=True)
    if direction == "in":
        made = made.reverse()
    if direction == "both":
        both = networkx.Graph()
        for u, v, weight in made.edges(data="weight"):
            known = both.get_edge_data(u, v, {"weight": weight})["weight"]
            both.add_edge(u, v, weight=min(weight, known))
        made = both
    graph = graph if layout is None else graph.compress(layout)
    agrees(graph.pagerank(direction=direction), networkx.pagerank(made))
    agrees(graph.pagerank(direction=direction, by="arcs"), networkx.pagerank(made, weight=None))


def test_jumps() -> None:
    graph, made = built(directed=True).reorder("random"), reference(directed=True)
    some = list(made)[3:40:5]
    agrees(
        graph.pagerank(personalization=some), networkx.pagerank(made, personalization=dict.fromkeys(some, 1))
    )
    weighed = {vertex: place + 1 for place, vertex in enumerate(some)}
    agrees(graph.pagerank(personalization=weighed), networkx.pagerank(made, personalization=weighed))


def test_rows_without_room_for_decoded_ones_are_pulled_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gravel.stages.measuring.flow.decodes", lambda *_: False)
    for layout in ("varint", "blocks", "elias_fano"):
        found = built(directed=False).reorder("degree").compress(layout).pagerank()
        agrees(found, networkx.pagerank(reference(directed=False)))


def test_what_is_refused() -> None:
    graph = built(directed=False)
    with pytest.raises(ArithmeticError, match="after 2 iterations the residual is"):
        graph.pagerank(max_iterations=2, tolerance=1e-12)
    for asked, message in (
        ({"damping": 2}, "damping is 2"),
        ({"by": "weights"}, "no weights"),
        ({"by": "hops"}, "by is 'hops'"),
        ({"direction": "up"}, "direction is 'up'"),
        ({"personalization": {graph.vertices[0].as_py(): 0}}, "personalization must"),
    ):
        with pytest.raises(ValueError, match=message):
            graph.pagerank(**asked)
    with pytest.raises(gravel.UnknownVertex):
        graph.pagerank(personalization=[-1])


def test_a_graph_without_edges() -> None:
    empty = gravel.graph(([], []))
    assert len(empty.pagerank()) == 0


@pytest.mark.gpu
@pytest.mark.parametrize("layout", [None, "varint", "elias_fano"])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_gpu_finds_the_same(layout: str | None, directed: bool, weighted: bool) -> None:
    asked: Any = {"directed": directed, "weights": WEIGHTS if weighted else None}
    here, there = (gravel.graph(ENDS, backend=backend, **asked) for backend in ("cpu", "cuda"))
    there = there.reorder("degree")
    there = there if layout is None else there.compress(layout)
    found, expected = there.pagerank(tolerance=1e-9), here.pagerank(tolerance=1e-9)
    numpy.testing.assert_allclose(found.values, expected.values, rtol=0, atol=1e-12)
    assert found.iterations == expected.iterations
