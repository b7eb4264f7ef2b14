"""The NetworkX backend on an emulated GPU: what runs there, and that results are NetworkX's."""

from __future__ import annotations

import re
from typing import Any

import networkx as nx
import numpy
import pytest

from gravel.networkx import device
from gravel.networkx.backend import backend
from gravel.pipeline.core.errors import RequestError
from tests.gravel.networkx.graphs import KINDS, calls, connected, graph, outcome

THERE: dict[str, tuple[int, ...]] = {
    "ancestors": (3,),
    "average_shortest_path_length": (),
    "center": (),
    "closeness_centrality": (),
    "connected_components": (),
    "descendants": (3,),
    "descendants_at_distance": (3, 2),
    "diameter": (),
    "dijkstra_path_length": (1, 4),
    "eccentricity": (),
    "has_path": (1, 4),
    "is_connected": (),
    "is_strongly_connected": (),
    "is_weakly_connected": (),
    "node_connected_component": (3,),
    "number_connected_components": (),
    "number_strongly_connected_components": (),
    "number_weakly_connected_components": (),
    "periphery": (),
    "radius": (),
    "shortest_path_length": (1, 4),
    "single_source_dijkstra_path_length": (3,),
    "weakly_connected_components": (),
}
"""Functions that run on a GPU, and arguments; `harmonic_centrality` does too, and rounds otherwise there."""

REFUSED = {nx.Graph: re.compile("weakly|strongly"), nx.DiGraph: re.compile("(?<!ly)_connected|^connected")}
"""Functions that NetworkX refuses for a kind of graph."""


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with nx.config(warnings_to_ignore={"cache"}):
        yield


@pytest.fixture
def on_gpu(on_cpu: Any) -> Any:
    with nx.config.backends.gravel(device="cuda"):
        yield


@pytest.mark.parametrize("make", [graph, connected])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("nodes", "edges"), [(1, 0), (7, 9), (40, 70)])
def test_results_are_those_of_networkx(on_gpu: Any, kind: Any, make: Any, nodes: int, edges: int) -> None:
    made = make(kind, "text", nodes, edges, nodes)
    ran = set()
    for name, positional, named in calls(made, nodes):
        if name in THERE and not hasattr(named.get("v"), "__next__"):
            found, expected = (outcome(name, made, positional, named, way) for way in ("gravel", "networkx"))
            if name.endswith("length"):
                found, expected = _unordered(found), _unordered(expected)
            assert found == expected, (name, positional, named)
            ran.add(name)
    assert ran == THERE.keys()


def _unordered(found: Any) -> Any:
    """Let lengths be equal in any order of those that are equally long."""
    if isinstance(found, list) and all(isinstance(each, tuple) for each in found):
        return {key: _unordered(value) for key, value in found}
    return found


@pytest.mark.parametrize("name", [*THERE, "harmonic_centrality"])
def test_it_runs_on_the_gpu(on_gpu: Any, name: str) -> None:
    for kind in (nx.Graph, nx.DiGraph):
        there = backend.convert_from_nx(nx.cycle_graph(9, kind), {"weight": 1})
        outcome(name, there, THERE.get(name, ()), {}, "gravel")
        assert bool(there.kept) != bool(REFUSED[kind].search(name))


def test_harmonic_centrality_is_that_of_networkx_up_to_rounding(on_gpu: Any) -> None:
    for kind in KINDS:
        made = graph(kind, "mixed", 40, 60, 3)
        found = nx.harmonic_centrality(made, backend="gravel")
        assert found == pytest.approx(nx.harmonic_centrality(made, backend="networkx"), rel=1e-12)
        assert list(found) == list(nx.harmonic_centrality(made, backend="networkx"))


def test_pagerank_is_that_of_networkx_up_to_rounding(on_gpu: Any) -> None:
    for kind in (nx.Graph, nx.DiGraph):
        made = graph(kind, "mixed", 40, 60, 3)
        for weight in (None, "cost"):
            there = backend.convert_from_nx(made, {"cost": 1})
            found = nx.pagerank(there, weight=weight, backend="gravel")
            expected = nx.pagerank(made, weight=weight, backend="networkx")
            assert found == pytest.approx(expected, rel=0, abs=1e-9)
            assert list(found) == list(expected)
            assert ("flow", weight, True) in there.kept


def test_one_source_of_many_runs_on_the_gpu(on_gpu: Any) -> None:
    made = graph(nx.DiGraph, "range", 40, 90, 5)
    for sources in ([3], [3, 17], [3, 17, 22]):
        there = backend.convert_from_nx(made, {"hops": 1})
        found = nx.multi_source_dijkstra_path_length(there, sources, weight="hops", backend="gravel")
        assert found == nx.multi_source_dijkstra_path_length(made, sources, weight="hops", backend="networkx")
        assert (("lengths", "hops") in there.kept) == (len(sources) == 1)


@pytest.mark.parametrize(
    ("weights", "narrow"),
    [
        ([0.5, 1.25], numpy.float32),
        ([0.1, 0.2], None),
        ([0.5, 0.1], None),
        ([1e300], None),
        ([1, (1 << 31) - 1], numpy.int32),
        ([1, 1 << 31], None),
    ],
)
def test_a_gpu_takes_weights_that_it_does_not_round(weights: Any, narrow: Any) -> None:
    found = device._of_32_bits(numpy.array(weights))
    assert (found if found is None else found.dtype) == narrow


def test_lengths_come_in_ascending_order(on_gpu: Any) -> None:
    made = graph(nx.DiGraph, "text", 40, 90, 5)
    for source in made:
        found = nx.single_source_dijkstra_path_length(made, source, weight="hops", backend="gravel")
        assert next(iter(found)) == source
        assert list(found.values()) == sorted(found.values())


def test_auto_takes_a_gpu_for_much_work_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    there = backend.convert_from_nx(nx.path_graph(100))
    monkeypatch.setattr(device, "_is_usable", lambda memory: True)
    assert not device.many_on_gpu(there, 100)
    monkeypatch.setattr(device, "GPU_FROM", 100 * (100 + 198))
    assert device.many_on_gpu(there, 100)
    assert not device.many_on_gpu(there, 99)
    assert not device.everything_on_gpu()
    with nx.config.backends.gravel(device="cpu"):
        assert not device.many_on_gpu(there, 100)
    monkeypatch.setattr(device, "_is_usable", lambda memory: False)
    assert not device.many_on_gpu(there, 100)


def test_a_gpu_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise RequestError("a GPU is asked for, and this machine has none", hint="use the CPU")

    monkeypatch.setattr("gravel.memory.demand_gpu", refuse)
    made = nx.path_graph(4)
    with nx.config.backends.gravel(device="cuda"), pytest.raises(RequestError, match="this machine has none"):
        nx.diameter(made, backend="gravel")
    assert not device._is_usable(0)
    assert nx.diameter(made, backend="gravel") == 3


def test_a_device_that_does_not_exist() -> None:
    with (
        nx.config.backends.gravel(device="gpu"),
        pytest.raises(ValueError, match="device is 'gpu'; it can be 'auto', 'cpu', 'cuda'"),
    ):
        nx.diameter(nx.path_graph(4), backend="gravel")
