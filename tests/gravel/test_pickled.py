"""Graphs that were searched, and results, as pickles and copies; and memory that runs out under a limit."""

from __future__ import annotations

import copy
import datetime
import pickle
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx
import numpy
import pytest

import gravel

ENDS = numpy.random.default_rng(1).integers(0, 50, (2, 200))
DAYS = [[datetime.date(2026, 1, 1) + datetime.timedelta(int(day)) for day in side] for side in ENDS]
GRAPHS: dict[str, Callable[[], Any]] = {
    "integers": lambda: gravel.graph(tuple(ENDS)),
    "sparse integers": lambda: gravel.graph(tuple(7 * ENDS + 3)),
    "directed": lambda: gravel.graph(tuple(ENDS), directed=True),
    "strings": lambda: gravel.graph([(f"v{a}", f"v{b}") for a, b in ENDS.T]),
    "weights": lambda: gravel.graph(tuple(ENDS), weights=ENDS[0] + 1.5),
    "uuids": lambda: gravel.graph(tuple([uuid.UUID(int=int(each)) for each in side] for side in ENDS)),
    "dates": lambda: gravel.graph(tuple(DAYS)),
    "objects": lambda: gravel.graph(networkx.grid_2d_graph(6, 6)),
    "reordered": lambda: gravel.graph(tuple(ENDS)).reorder("rcm"),
    "compressed": lambda: gravel.graph(tuple(ENDS)).reorder("rcm").compress("varint"),
    "both": lambda: gravel.graph(tuple(ENDS), weights=ENDS[0] + 1).reorder("degree").compress("varint"),
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
    assert numpy.array_equal(other.bfs(source).distance.numpy(), found.distance.numpy())
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
        for column, values in one.numpy().items():
            assert numpy.array_equal(other.numpy()[column], values)
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
    graph = gravel.graph(tuple(ENDS)).place("host")
    content = pickle.dumps(graph)
    monkeypatch.setattr("gravel.memory.usable_backend", lambda: "cuda")
    monkeypatch.setattr(
        "gravel.memory.on_gpu", lambda machine: machine.__class__("cuda", 3, 1 << 30, 1 << 20)
    )
    loaded = pickle.loads(content)
    assert (loaded._rows.machine.backend, loaded._rows.placement) == ("cuda", "auto")
    assert type(loaded._rows.stored.column_indices) is numpy.ndarray


LIMITED = """
import resource, sys
import numpy, gravel
n = 1_000_000
ends = numpy.arange(n), numpy.arange(1, n + 1)
small = gravel.graph((ends[0][:9], ends[1][:9]), weights=ends[0][:9])
graph = gravel.graph(ends)
search = graph.bfs(0)
small.bfs(0), small.shortest_paths(0), small.distance(0, 1), small.reorder("rcm"), small.compress()
with open("/proc/self/status") as file:
    size = next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmSize"))
resource.setrlimit(resource.RLIMIT_AS, (size + (1 << 20),) * 2)
for work in (
    lambda: gravel.graph(ends, weights=ends[0]), lambda: graph.distance(0, 7), lambda: search.to_arrow(),
    lambda: graph.reorder("rcm"), lambda: graph.compress("varint"), lambda: graph.bfs(0, "distance"),
    lambda: search.distance.to_arrow(),
):
    try:
        kept = work()
    except gravel.NotEnoughMemory as error:
        print(type(error).__name__, error)
    else:
        del kept
        print("fits")
"""


def test_memory_that_runs_out_under_a_limit_is_not_enough_memory(tmp_path: Path) -> None:
    """NumPy's own `Unable to allocate 22.9 MiB for an array` reached the caller."""
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 7
    refused = [line for line in lines if line.startswith("NotEnoughMemory host memory ran out: ")]
    assert len(refused) >= 3, lines
    assert all("ulimit -v" in line for line in refused)
