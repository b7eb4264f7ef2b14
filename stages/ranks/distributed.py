"""Searches and components of a graph that only its ranks hold, which may check them at once."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from gravel.stages.context import Context, Ranges
from gravel.stages.partitioning.resident import Recipe, run_ranks
from gravel.stages.ranks.distributed_rank import (
    ComponentsAnswer,
    ComponentsTask,
    RankAnswer,
    RankTask,
    find_as_rank,
    ready_as_rank,
    work_as_rank,
)
from gravel.stages.ranks.label_ranges import LabelRanges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.stages.artifacts import DistributedGraph, Measurement, Traversal
    from gravel.stages.traversal.parameters import TraverseParameters

CHECKED_AT_ONCE = 8
"""Sources of one call of the rank group when no labels come back; between calls progress is reported."""

TOGETHER, APART = "all {} ranks in one process", "each of {} ranks on its own worker"


MADE_ANEW = "the workers did not have the ranks in memory, and made them anew"


def search_distributed(
    context: Context, parameters: TraverseParameters, graph: DistributedGraph
) -> tuple[Traversal, Measurement]:
    """Search from every source, after one search that compiles and is not measured.

    With output `checks` no labels come back: the ranks check theirs after each search, and what they find is
    in the traversal. Raises `StageError` for what a distributed graph does not have.
    """
    import numpy

    from gravel.kernels.strategy import Ran
    from gravel.stages.artifacts import Measurement, Traversal
    from gravel.stages.traversal.records import asked_of, machine_name, options_read, ran_record

    task, are, notes = _task_of(context, parameters, graph)
    ranks = graph.ranks
    where, more = whereabouts(context, graph, task.backend)
    notes += more
    started = time.perf_counter()
    if any(run_ranks(context, ready_as_rank, task, ranks)):
        notes.append(MADE_ANEW)
    preparing = (time.perf_counter() - started) * 1e3
    sources = _sources(context, parameters, graph, task)
    labels = LabelRanges(context, graph.vertex_count, parameters.output)
    checks: list[Any] | None = [] if parameters.output == "checks" else None
    records: list[dict[str, Any]] = []
    try:
        if len(sources):
            run_ranks(context, work_as_rank, replace(task, sources=(int(sources[0]),), check=False), ranks)
        for source, answers in _answers(context, task, sources.tolist(), ranks, labels):
            records.append(_record(source, answers))
            if checks is not None:
                checks.append([asdict(check) for check in answers[0].checks])
            context.progress(len(records), len(sources), "searches")
    finally:
        run_ranks(context, work_as_rank, task, ranks)
    distance, predecessor = labels.close()
    if parameters.max_depth is not None:
        notes.append(
            f"arcs of vertices at distance {parameters.max_depth} are counted, and were not followed"
        )
    if checks is not None:
        notes.append("no labels were kept: each search was checked on its ranks")
    traversal = Traversal(
        algorithm="bfs",
        sources=numpy.asarray(sources, numpy.int64),
        distance=distance,
        predecessor=predecessor,
        vertex_count=graph.vertex_count,
        max_depth=parameters.max_depth,
        checks=checks,
    )
    measurement = Measurement(
        algorithm="bfs",
        strategy="partition",
        reason=f"the graph is distributed by degree; {where}",
        backend=task.backend,
        hardware=machine_name(context.machine, task.backend, parameters.threads),
        prepare_milliseconds=preparing,
        searches=records,
        notes=notes,
        graph=described(graph),
        asked=asked_of(parameters),
        ran=ran_record(
            Ran(f"{work_as_rank.__module__}:work_as_rank", options_read(task.options, are)), task.backend
        ),
    )
    return traversal, measurement


def whereabouts(context: Context, graph: DistributedGraph, backend: str) -> tuple[str, list[str]]:
    """Say where the ranks are, and, in sentences, what is not as asked."""
    ranks = graph.ranks
    notes = ["searched on the CPU"] if backend != context.machine.backend else []
    if context.reserved >= ranks > 1:
        return APART.format(ranks), notes
    if ranks == 1:
        return "one rank has all of it", notes
    notes.append(f"{ranks} workers were not there at once, so the ranks took turns in one process")
    return TOGETHER.format(ranks), notes


def described(graph: DistributedGraph) -> dict[str, Any]:
    """Describe the graph as `Measurement.graph` does."""
    return {
        "vertices": graph.vertex_count,
        "arcs": graph.arc_count,
        "symmetric": True,
        "digest": hashlib.blake2b(Recipe.of(graph).key.encode(), digest_size=8).hexdigest(),
        "partition": {"ranks": graph.ranks, "threshold": graph.threshold, **graph.statistics},
    }


def _task_of(
    context: Context, parameters: TraverseParameters, graph: DistributedGraph
) -> tuple[RankTask, str, list[str]]:
    from gravel.kernels.bfs.query import Query
    from gravel.stages.ranks.rank import check_nccl_options
    from gravel.stages.ranks.searches import search_options
    from gravel.stages.traversal.records import ranks_are, unread_notes
    from gravel.stages.traversal.strategy import backend_of_search

    options = search_options(parameters.tuning, ranks=graph.ranks)
    backend = backend_of_search(parameters, context.machine)
    if backend == "cuda" and parameters.transport == "nccl":
        check_nccl_options(options)
    notes = []
    if parameters.transport != "auto" and backend == "cpu":
        notes.append(f"transport {parameters.transport} is for ranks on GPUs, and was left out")
    grouped = context.reserved >= graph.ranks > 1
    are = ranks_are(backend, parameters.transport, grouped=grouped)
    notes += unread_notes(options, parameters.tuning, are)
    checks = parameters.output == "checks"
    output = "both" if checks else parameters.output
    task = RankTask(
        recipe=Recipe.of(graph),
        backend=backend,
        threads=min(context.machine.threads, parameters.threads or context.machine.threads),
        asked=Query(output=output, symmetric=True, max_depth=parameters.max_depth),
        options=options,
        transport=parameters.transport,
        check=checks,
    )
    return task, are, notes


def _sources(
    context: Context, parameters: TraverseParameters, graph: DistributedGraph, task: RankTask
) -> NDArray[Any]:
    from gravel.stages.traversal.parameters import RandomSources, VertexSources
    from gravel.stages.traversal.preparation import check_sources

    asked = parameters.sources
    if isinstance(asked, RandomSources):
        answers = run_ranks(
            context, work_as_rank, replace(task, draw=(asked.random, asked.seed)), graph.ranks
        )
        drawn: NDArray[Any] = answers[0][0]
        return drawn
    assert isinstance(asked, VertexSources)  # ids of a file were resolved before
    return check_sources(asked.vertices, graph.vertex_count)


def _answers(
    context: Context, task: RankTask, sources: Sequence[int], ranks: int, labels: LabelRanges
) -> Iterator[tuple[int, list[RankAnswer]]]:
    size = CHECKED_AT_ONCE if task.check else labels.together
    for first in range(0, len(sources), size):
        several = tuple(sources[first : first + size])
        asked = replace(task, sources=several, writers=None if task.check else labels.writers())
        by_worker = run_ranks(context, work_as_rank, asked, ranks)
        by_rank = sorted(by_worker, key=lambda answers: answers[0].rank)
        for place, source in enumerate(several):
            answers = [answers[place] for answers in by_rank]
            labels.add([answer.written for answer in answers])
            yield source, answers


def _record(source: int, answers: Sequence[RankAnswer]) -> dict[str, Any]:
    from gravel.kernels.partition.search import directions_of
    from gravel.stages.ranks.levels import levels_by_rank

    labels = [answer.labels for answer in answers]
    sums = answers[0].written.sums
    arcs = int(sums.arcs.sum())
    depth = len(sums.vertices) - 1
    pulled = [level for level, way in enumerate(directions_of(labels)[: depth + 1]) if way == "pull"]
    return {
        "source": source,
        "milliseconds": max(rank.milliseconds for rank in labels),
        "map_back_milliseconds": 0.0,
        "batch": 1,
        "reached": int(sums.vertices.sum()),
        "arcs": arcs,
        "edges": arcs // 2,
        "depth": depth,
        "levels": {"vertices": sums.vertices.tolist(), "arcs": sums.arcs.tolist(), "pulled": pulled},
        **levels_by_rank(SimpleNamespace(labels=labels, strategy="partition")),
    }


def find_distributed(
    context: Context, parameters: TraverseParameters, graph: DistributedGraph
) -> tuple[Traversal, Measurement]:
    """Label the components once to warm up and some times on the clock.

    With output `checks` no labels come back: the ranks check those of the last run, and what they find is in
    the traversal. Raises `StageError` for what a distributed graph does not have, and where GPUs cannot read
    each other's memory.
    """
    from gravel.kernels.arrays import index_dtype
    from gravel.kernels.strategy import Ran
    from gravel.stages.artifacts import Measurement, Traversal
    from gravel.stages.ranks.components import exchange_record
    from gravel.stages.ranks.distributed_rank import ready_as_rank
    from gravel.stages.traversal.implementations import RUNS
    from gravel.stages.traversal.records import asked_of, machine_name, ran_record
    from gravel.stages.traversal.strategy import backend_of_search, barrier_limit

    backend, checks = backend_of_search(parameters, context.machine), parameters.output == "checks"
    ranges = None if checks else context.ranges(index_dtype(graph.vertex_count))
    task = ComponentsTask(
        recipe=Recipe.of(graph),
        backend=backend,
        threads=min(context.machine.threads, parameters.threads or context.machine.threads),
        runs=1 + RUNS,
        barrier_seconds=barrier_limit(parameters.tuning),
        check=checks,
        writer=None if ranges is None else ranges.writer,
    )
    where, notes = whereabouts(context, graph, backend)
    started = time.perf_counter()
    if any(run_ranks(context, ready_as_rank, task, graph.ranks)):
        notes.append(MADE_ANEW)
    preparing = (time.perf_counter() - started) * 1e3
    answers = sorted(run_ranks(context, find_as_rank, task, graph.ranks), key=lambda answer: answer.rank)
    context.progress(1 + RUNS, 1 + RUNS, "runs")
    times = [max(each) for each in zip(*(answer.milliseconds for answer in answers), strict=True)]
    record: dict[str, Any] = {
        "source": None,
        "map_back_milliseconds": 0.0,
        "batch": 1,
        "reached": graph.vertex_count,
        "arcs": graph.arc_count,
        "edges": graph.arc_count // 2,
        "depth": 0,
        "levels": {"vertices": [], "arcs": [], "pulled": []},
        "exchange": exchange_record([answer.last for answer in answers]),
    }
    notes.append(f"{sum(answer.named for answer in answers):,} components")
    if checks:
        notes.append("no labels were kept: the last run's were checked on its ranks")
    traversal = Traversal(
        algorithm="components",
        component=None if ranges is None else _component(ranges, answers, graph.vertex_count),
        vertex_count=graph.vertex_count,
        checks=[[asdict(check) for check in answers[0].checks]] if checks else None,
    )
    measurement = Measurement(
        algorithm="components",
        strategy="partition",
        reason=f"the graph is distributed by degree; {where}",
        backend=backend,
        hardware=machine_name(context.machine, backend, parameters.threads),
        prepare_milliseconds=preparing,
        searches=[record | {"milliseconds": milliseconds} for milliseconds in times[1:]],
        notes=notes,
        graph=described(graph),
        asked=asked_of(parameters),
        ran=ran_record(Ran(f"{find_as_rank.__module__}:find_as_rank", {}), backend),
    )
    return traversal, measurement


def _component(ranges: Ranges, answers: Sequence[ComponentsAnswer], vertices: int) -> Any:
    for answer in answers:
        ranges.add(answer.receipts)
    return ranges.close(vertices)
