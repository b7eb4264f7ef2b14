"""Searches from many sources, on one worker or on several that hold the whole graph each.

`context.rank_group` is called once to read the graph on every worker, which keeps it, then for some sources
at a time, as many as their labels have room for, and at last to let go.
"""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gravel.stages.rank_group import worker_name
from gravel.stages.traversal.buffers import extent_of
from gravel.stages.traversal.labels import LabelRows, SearchLabels
from gravel.stages.traversal.memory import LABEL_BYTES, spreading_of
from gravel.stages.traversal.preparation import sources_of
from gravel.stages.traversal.search import (
    depth_notes,
    described_search,
    labelled,
    open_graph,
    prepare_search,
    timed,
)

if TYPE_CHECKING:
    from gravel.kernels.bfs import Search
    from gravel.stages.artifacts import CompressedGraph, Graph, Measurement, Partition, Traversal
    from gravel.stages.context import Context
    from gravel.stages.rank_group import RankContext
    from gravel.stages.stage import Machine
    from gravel.stages.traversal.graph import SearchedGraph
    from gravel.stages.traversal.parameters import TraverseParameters


def workers_for(
    context: Context, parameters: TraverseParameters, stored: Graph | CompressedGraph | Partition
) -> tuple[int, str]:
    """Tell to how many workers sources are dealt, 1 for none, and why.

    Raises `StageError` where workers are asked for and the graph is partitioned.
    """
    from gravel.kernels.placement import DoesNotFit

    extent = extent_of(stored)
    if extent.normal_arcs is not None:
        return 1, ""
    if parameters.algorithm != "bfs":
        return 1, ""
    try:
        found = spreading_of(parameters, extent, context.machine)
    except DoesNotFit:
        return 1, ""  # reading it says so, with what would fit
    if found.reason:
        context.log(f"sources over {'workers' if found.most > 1 else 'one worker'}: {found.reason}")
    workers = min(found.most, context.reserved)
    return (workers, found.reason) if found.most > 1 and workers >= found.least else (1, found.reason)


@dataclass(frozen=True)
class ShareTask:
    """Task of a worker: the graph, how to search it, and its sources of this call; None to begin."""

    token: str
    parameters: TraverseParameters
    stored: Graph | CompressedGraph
    machine: Machine
    sources: tuple[int, ...] | None
    last: bool = False


@dataclass(frozen=True)
class Ready:
    """Answer of a worker that holds the graph."""

    sources: tuple[int, ...]  # of all workers
    described: dict[str, Any]
    notes: list[str]
    vertex_count: int
    seconds: float  # to read and prepare
    name: str


@dataclass(frozen=True)
class Share:
    """Searches of one worker: a record for each, and labels as rows."""

    records: list[dict[str, Any]]
    distance: Any
    predecessor: Any


RESIDENT: dict[tuple[str, int], tuple[SearchedGraph, Search]] = {}
"""Graphs that this process keeps for searches, by token and rank."""


def search_share(rank_group: RankContext, task: ShareTask) -> Ready | Share | None:
    """Read the graph, or search from the sources of this call, or let go, as one worker of the rank group."""
    key = task.token, rank_group.rank
    if task.last:
        RESIDENT.pop(key, None)
        return None
    if task.sources is None:
        for other in [other for other in RESIDENT if other[0] != task.token]:
            del RESIDENT[other]
        return _make_ready(rank_group, task)
    return _search(rank_group, task, *RESIDENT[key])


def _make_ready(rank_group: RankContext, task: ShareTask) -> Ready:
    from gravel.stages.artifacts import Graph
    from gravel.stages.context import PlainContext
    from gravel.stages.turning import turned_on_host

    started = time.perf_counter()
    parameters, context = task.parameters, PlainContext(task.machine)
    stored = task.stored
    if isinstance(stored, Graph):
        stored = turned_on_host(stored, parameters.direction)
    graph = open_graph(parameters, stored, task.machine)
    sources = sources_of(parameters, graph)
    # What compiles while a graph is prepared must not count as its preparation.
    prepare_search(context, graph, parameters)
    search, notes = prepare_search(context, graph, parameters)
    if len(sources):
        search.run(graph.starts(sources[:1])[0])
    RESIDENT[task.token, rank_group.rank] = graph, search
    return Ready(
        tuple(sources.tolist()),
        described_search(task.machine, graph, search, parameters),
        [*graph.notes, *notes, *getattr(search, "notes", [])],
        graph.vertex_count,
        time.perf_counter() - started,
        worker_name(graph.backend),
    )


def _search(rank_group: RankContext, task: ShareTask, graph: SearchedGraph, search: Search) -> Share:
    from gravel.kernels.threads import set_threads
    from gravel.stages.context import PlainContext

    sources = list(task.sources or ())
    set_threads(min(task.machine.threads, task.parameters.threads or task.machine.threads))
    context = PlainContext(task.machine)
    labels = SearchLabels(context, graph, task.parameters, len(sources))
    # All workers search at the same time, so that what they share slows all of them down, or none.
    rank_group.barrier()
    if not sources:
        return Share([], None, None)
    records = timed(context, graph, search, labels, sources, graph.starts(sources), warm_ups=0)
    return Share([{**record, "worker": rank_group.rank} for record in records], **labels.close()[0])


def search_spread(
    context: Context, parameters: TraverseParameters, stored: Graph | CompressedGraph, workers: int, why: str
) -> tuple[Traversal, Measurement]:
    """Search from every source, each on one of the workers; records say on which.

    A search's time is what it took on its worker. Raises `StageError` as a search on one worker does.
    """
    from gravel.stages.artifacts import Measurement

    token = uuid.uuid4().hex

    def call(shares: list[tuple[int, ...] | None], last: bool = False) -> list[Any]:
        tasks = [ShareTask(token, parameters, stored, context.machine, share, last) for share in shares]
        return context.rank_group(search_share, tasks)

    ready: list[Ready] = call([None] * workers)
    first = ready[0]
    size = workers * max(1, LABEL_BYTES // (12 * max(1, first.vertex_count)) // workers)
    records: list[dict[str, Any]] = []
    labels = LabelRows(context.sink, first.vertex_count, parameters.output)
    for begin in range(0, len(first.sources), size):
        several = first.sources[begin : begin + size]
        found: list[Share] = call([several[worker::workers] for worker in range(workers)])
        for place in range(len(several)):
            share, row = found[place % workers], place // workers
            records.append(share.records[row])
            distance, predecessor = (
                None if rows is None else rows[row] for rows in (share.distance, share.predecessor)
            )
            labels.append(distance, predecessor)
        context.progress(len(records), len(first.sources), "searches")
    call([()] * workers, last=True)
    described = {**first.described, "prepare_milliseconds": _slowest(ready)}
    described["asked"] = {**described["asked"], "workers": workers}
    measurement = Measurement(
        **described,
        searches=records,
        notes=[*first.notes, *depth_notes(parameters), workers_note(ready, why)],
    )
    distance, predecessor = labels.close()
    together = {"distance": distance, "predecessor": predecessor}
    return labelled(parameters, first.sources, together, first.vertex_count), measurement


def _slowest(ready: list[Ready]) -> float:
    return max(float(each.described["prepare_milliseconds"]) for each in ready)


def workers_note(ready: list[Ready], why: str) -> str:
    """Say which workers searched, why, and how long they took to load the graph."""
    load = max(each.seconds for each in ready)
    names = "; ".join(f"worker {place} is {each.name}" for place, each in enumerate(ready))
    return (
        f"sources were dealt to {len(ready)} workers that each hold the whole graph, {why}; "
        f"they were ready after {load:.1f} s; {names}"
    )
