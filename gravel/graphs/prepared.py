"""Prepared searches: memory is allocated, and Python takes microseconds beside the kernel."""

from __future__ import annotations

import threading
import weakref
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from gravel.errors import memory_errors, not_enough
from gravel.graphs.stage_calls import InMemory, called
from gravel.kernels.arrays import backend_of
from gravel.memory import refuse_need
from gravel.results.searches import Search

if TYPE_CHECKING:
    from gravel.conversion.ids import Ids
    from gravel.graphs.rows import PlacedRows
    from gravel.kernels.bfs import BFSResult
    from gravel.results.searches import TakeSubgraph
    from gravel.stages.traversal.graph import SearchedGraph
    from gravel.stages.traversal.parameters import TraverseParameters

MAX_READ = 2
"""Upper bound of the forms that a graph keeps for searches, such as encoded and decoded rows."""


class PreparedSearch:
    """A search of one graph with one strategy; results are views of its workspace until it runs again."""

    def __init__(self, ids: Ids, search: Any, permutation: Any, notes: list[str]) -> None:
        self.search = search
        self._ids = ids
        self._map = None if permutation is None else LabelMap(permutation)
        self._starts = permutation
        self._last: weakref.ref[Search] | None = None
        self._lock = threading.RLock()
        self._record = {"strategy": search.strategy, "reason": search.reason, "notes": notes}

    def run(self, source: Any, vertex: int, take: TakeSubgraph | None = None) -> Search:
        """Search from a vertex; the last result, if still in use, gets a copy of its labels first.

        `take` makes subgraphs for the result.
        """
        with self._lock:
            last = None if self._last is None else self._last()
            if last is not None:
                last._keep()
            start = vertex if self._starts is None else int(self._starts[vertex])
            try:
                found = self.search.run(start)
            except MemoryError as error:
                raise not_enough(error) from error
            record = {**self._record, "milliseconds": found.milliseconds}
            read = partial(self._labels, found)
            search = Search(self._ids, source, vertex, read, record, self._lock, take)
            self._last = weakref.ref(search)
            return search

    def _labels(self, found: BFSResult) -> tuple[Any, Any]:
        """Copy labels out of the workspace, in the order of the caller's ids."""
        if self._map is None:
            return _copied(found.distance), _copied(found.predecessor)
        return self._map.back(found.distance, found.predecessor)


class LabelMap:
    """Map of the labels of a reordered graph to the order of the caller's ids; `permutation[old] = new`."""

    def __init__(self, permutation: Any) -> None:
        self._permutation = permutation
        self._there: Any = None

    def back(self, distance: Any, predecessor: Any) -> tuple[Any, Any]:
        """Return distances and predecessors as new arrays in the same memory; None stays None."""
        if "cuda" in (backend_of(distance), backend_of(predecessor)):
            return self._on_device(distance, predecessor)
        import numpy

        from gravel.kernels.relabel import distances_back, predecessors_back

        if distance is not None:
            distance, there = numpy.empty_like(distance), distance
            distances_back(self._permutation, there, distance)
        if predecessor is not None:
            predecessor, there = numpy.empty_like(predecessor), predecessor
            predecessors_back(self._permutation, self._inverse, there, predecessor)
        return distance, predecessor

    @cached_property
    def _inverse(self) -> Any:
        import numpy

        from gravel.kernels.relabel import invert

        inverse = numpy.empty_like(self._permutation)
        invert(self._permutation, inverse)
        return inverse

    def _on_device(self, distance: Any, predecessor: Any) -> tuple[Any, Any]:
        if self._there is None:
            from gravel.kernels.relabel_cuda import LabelsBack

            self._there = LabelsBack(
                self._permutation,
                distance=distance is not None,
                predecessor=predecessor is not None,
                tree="int32" if predecessor is None else predecessor.dtype,
            )
        back = self._there.run(distance, predecessor)
        self._there.hand_over()
        return back[0], back[1]


def _copied(labels: Any) -> Any:
    """Return a copy of labels in the same memory; None stays None."""
    if backend_of(labels) != "cuda":
        return None if labels is None else labels.copy()
    from gravel.kernels.bfs.cuda.taken import taken

    return taken(labels)


@memory_errors
def prepare(
    rows: PlacedRows, ids: Ids, output: str, strategy: str, max_depth: int | None, tuning: dict[str, Any]
) -> PreparedSearch:
    """Make a search ready; raises ValueError for what does not fit the graph, and `NotEnoughMemory`."""
    from gravel.stages.traversal.search import prepare_search

    if output not in ("both", "distance", "predecessor"):
        raise ValueError(f"output is {output!r}; it can be 'both', 'distance' or 'predecessor'")
    searched, parameters = searched_with(
        rows, strategy=strategy, output=output, max_depth=max_depth, tuning=tuning, sources_over="one"
    )
    search, notes = called(prepare_search, InMemory(rows.machine), searched, parameters)
    return PreparedSearch(ids, search, searched.permutation, [*searched.notes, *notes])


def searched_with(rows: PlacedRows, **asked: Any) -> tuple[SearchedGraph, TraverseParameters]:
    """Return rows ready for an algorithm, and its checked parameters."""
    from gravel.kernels.bfs.buffers import MAX_SEARCHES
    from gravel.stages.traversal.parameters import TraverseParameters, VertexSources

    placement = "auto" if rows.placement == "host" else rows.placement
    if placement == "auto" and rows.machine.backend == "cpu" and asked["strategy"] != "streamed":
        # The rows are in memory, so that no less of it is taken by reading them in parts.
        placement = "device"
    if asked.get("algorithm") != "components":
        # As many as may come at once, for which a batch makes room.
        several = MAX_SEARCHES if asked["strategy"] == "multi_source" else 1
        asked["sources"] = VertexSources(vertices=(0,) * several)
    try:
        parameters = TraverseParameters(placement=placement, **asked)
    except ValidationError as error:
        raise ValueError("; ".join(_sentence(one) for one in error.errors())) from None
    return _read(rows, parameters), parameters


def _read(rows: PlacedRows, parameters: TraverseParameters) -> SearchedGraph:
    """Place rows for a search, after a check that labels and queues fit."""
    from gravel.stages.traversal.buffers import extent_of
    from gravel.stages.traversal.memory import estimate
    from gravel.stages.traversal.search import open_graph

    extent = extent_of(rows.stored)
    need = estimate(parameters, {"input": (extent,)}, rows.machine)
    # Rows that are to be pinned are in memory already.
    pinned = extent.bytes if parameters.placement in ("pinned", "split") else 0
    beyond = replace(need, host_bytes=max(0, need.host_bytes - pinned))
    hint = "Ask for one output, 'distance' or 'predecessor', or compress the graph"
    refuse_need(f"a search of {extent.vertices:,} vertices", beyond, rows.machine, rows.host_memory, hint)
    # Output and depth change nothing about how rows are read.
    key = parameters.algorithm, parameters.strategy
    found: SearchedGraph | None = rows.searched.get(key)
    if found is None:
        found = called(open_graph, parameters, rows.stored, rows.machine)
        for other in list(rows.searched)[: 1 - MAX_READ]:
            rows.searched.pop(other, None)
        rows.searched[key] = found
    return found


def _sentence(error: Any) -> str:
    text = str(error["msg"]).removeprefix("Value error, ")
    if error["type"] == "value_error":
        return text
    name = ".".join(map(str, error["loc"]))
    return f"{name} is {error['input']!r}; it should be {text.removeprefix('Input should be ')}"
