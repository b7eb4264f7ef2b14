"""Searches that are ready to run: all is allocated, and Python takes microseconds beside the kernel."""

from __future__ import annotations

import threading
import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gravel.mapping import LabelMap
from gravel.memory import refuse_need
from gravel.out_of_memory import memory_errors, not_enough
from gravel.rows import called, context_for
from gravel.searches import Search

if TYPE_CHECKING:
    from gravel.graphs import Graph
    from gravel.stages.traversal.graph import SearchedGraph
    from gravel.stages.traversal.parameters import TraverseParameters
    from gravel.vertex_ids import Ids


MAX_READ = 2
"""Ways of reading a graph that are kept: of a compressed graph, the rows as they are, or decoded."""


class PreparedSearch:
    """A search of one graph with one strategy; results are views of its workspace until it runs again."""

    def __init__(self, ids: Ids, search: Any, permutation: Any, notes: list[str]) -> None:
        self.ids = ids
        self.search = search
        self.map = None if permutation is None else LabelMap(permutation)
        self.notes = notes
        self._starts = permutation
        self._last: weakref.ref[Search] | None = None
        self.lock = threading.RLock()

    def run(self, source: Any, vertex: int) -> Search:
        """Search from a vertex. A result from before that is still used gets labels of its own first."""
        with self.lock:
            last = None if self._last is None else self._last()
            if last is not None:
                last._keep()
            start = vertex if self._starts is None else int(self._starts[vertex])
            try:
                found = Search(self, source, vertex, self.search.run(start))
            except MemoryError as error:
                raise not_enough(error) from error
            self._last = weakref.ref(found)
            return found


@memory_errors
def prepare(
    graph: Graph, output: str, strategy: str, max_depth: int | None, tuning: dict[str, Any]
) -> PreparedSearch:
    """Make a search ready; raises ValueError for what does not fit the graph, and `NotEnoughMemory`."""
    from gravel.stages.traversal.bfs import prepare_search

    if output not in ("both", "distance", "predecessor"):
        raise ValueError(f"output is {output!r}; it can be 'both', 'distance' or 'predecessor'")
    parameters = _parameters(
        graph, strategy=strategy, output=output, max_depth=max_depth, tuning=tuning, sources_over="one"
    )
    searched = _read(graph, parameters)
    search, notes = called(prepare_search, context_for(graph._machine), searched, parameters)
    return PreparedSearch(graph._ids, search, searched.permutation, [*searched.notes, *notes])


def searched_graph(graph: Graph, strategy: str) -> tuple[SearchedGraph, str]:
    """Return a graph ready for finding its components, and the strategy, checked."""
    searched, parameters = searched_with(graph, algorithm="components", strategy=strategy)
    return searched, parameters.strategy


def searched_with(graph: Graph, **asked: Any) -> tuple[SearchedGraph, TraverseParameters]:
    """Return a graph ready for another algorithm, and its parameters, checked."""
    parameters = _parameters(graph, **asked)
    return _read(graph, parameters), parameters


def _parameters(graph: Graph, **asked: Any) -> TraverseParameters:
    from pydantic import ValidationError

    from gravel.stages.traversal.parameters import TraverseParameters, VertexSources
    from gravel.stages.traversal.placing import MOST_SEARCHES

    placement = "auto" if graph._placement == "host" else graph._placement
    if placement == "auto" and graph._machine.backend == "cpu" and asked["strategy"] != "streamed":
        # The rows are in memory, so that no less of it is taken by reading them in parts.
        placement = "device"
    if asked.get("algorithm") != "components":
        # As many as may come at once, for which a batch makes room.
        several = MOST_SEARCHES if asked["strategy"] == "multi_source" else 1
        asked["sources"] = VertexSources(vertices=(0,) * several)
    try:
        return TraverseParameters(placement=placement, **asked)
    except ValidationError as error:
        raise ValueError("; ".join(_sentence(one) for one in error.errors())) from None


def _read(graph: Graph, parameters: TraverseParameters) -> SearchedGraph:
    """Bring the graph to where it is searched, once it is known that labels and queues fit."""
    from gravel.stages.traversal.need import estimate
    from gravel.stages.traversal.opening import open_graph
    from gravel.stages.traversal.placing import extent_of

    extent = extent_of(graph._stored)
    need = estimate(parameters, {"input": (extent,)}, graph._machine)
    # Rows that are to be pinned are in memory already.
    pinned = extent.bytes if parameters.placement in ("pinned", "split") else 0
    beyond = replace(need, host_bytes=max(0, need.host_bytes - pinned))
    hint = "Ask for one output, 'distance' or 'predecessor', or compress the graph"
    refuse_need(f"a search of {extent.vertices:,} vertices", beyond, graph._machine, graph._host_memory, hint)
    # Output and depth change nothing about how rows are read.
    key = parameters.algorithm, parameters.strategy
    found: SearchedGraph | None = graph._searched.get(key)
    if found is None:
        found = called(open_graph, parameters, graph._stored, graph._machine)
        for other in list(graph._searched)[: 1 - MAX_READ]:
            graph._searched.pop(other, None)
        graph._searched[key] = found
    return found


def _sentence(error: Any) -> str:
    text = str(error["msg"]).removeprefix("Value error, ")
    if error["type"] == "value_error":
        return text
    name = ".".join(map(str, error["loc"]))
    return f"{name} is {error['input']!r}; it should be {text.removeprefix('Input should be ')}"
