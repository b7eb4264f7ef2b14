"""The work of one rank of a distributed graph: it searches or finds components, counts and checks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gravel.stages.partitioning.resident import Recipe, Resident, find_rank, wire_of
from gravel.stages.ranks.components import find_together
from gravel.stages.ranks.rank import make_rank
from gravel.stages.verifying.ranks import check_labels, checker_of

if TYPE_CHECKING:
    from gravel.kernels.bfs.query import Query
    from gravel.kernels.partition import SearchOptions
    from gravel.kernels.partition.components import RankComponents
    from gravel.kernels.partition.program import RankLabels
    from gravel.kernels.verify import Check
    from gravel.stages.context import RangeWriter
    from gravel.stages.rank_group import RankContext
    from gravel.stages.ranks.label_ranges import LabelWriters, WrittenLabels


@dataclass(frozen=True)
class RankTask:
    """Task of each rank; with `draw` it draws sources, without sources it forgets its search."""

    recipe: Recipe
    backend: str
    threads: int
    asked: Query
    options: SearchOptions
    transport: str = "auto"
    check: bool = False
    writers: LabelWriters | None = None  # without them no labels are kept
    sources: tuple[int, ...] = ()
    draw: tuple[int, int] | None = None  # how many, and the seed


@dataclass(frozen=True)
class RankAnswer:
    """Answer of one rank on one search; `checks` are of all ranks."""

    rank: int
    labels: RankLabels  # without arrays
    written: WrittenLabels
    checks: tuple[Check, ...]


def work_as_rank(rank_group: RankContext, task: RankTask) -> list[Any]:
    """Carry out a task as one rank; the rank's part is found or made first."""
    from gravel.kernels.threads import set_threads

    set_threads(task.threads)
    named, resident, _ = find_rank(rank_group, task.recipe, task.backend)
    if task.draw is not None:
        return _drawn(named, resident, *task.draw)
    if not task.sources:
        searcher = resident.kept.pop("searcher", None)
        if searcher is not None:
            searcher.leave(named)
        resident.kept.clear()
        return []
    answers: list[RankAnswer] = []
    for source in task.sources:
        answers.append(_search(named, resident, task, source))
        task = replace(task, writers=task.writers and task.writers.after(answers[-1].written))
    return answers


def ready_as_rank(rank_group: RankContext, task: RankTask | ComponentsTask) -> bool:
    """Find or make the rank; returns whether it was made."""
    from gravel.kernels.threads import set_threads

    set_threads(task.threads)
    _, _, new = find_rank(rank_group, task.recipe, task.backend)
    return new


def _drawn(rank_group: RankContext, resident: Resident, count: int, seed: int) -> list[Any]:
    from gravel.kernels.exchange import Endpoint, drive
    from gravel.kernels.partition.distributor.program import draw_program, with_arcs

    share = resident.share
    filled = with_arcs(share.part, share.delegates, share.vertex_count, rank_group.size)
    drawn = drive(draw_program(Endpoint(rank_group), filled, share.vertex_count, count, seed), rank_group)
    return [drawn]


def _search(rank_group: RankContext, resident: Resident, task: RankTask, source: int) -> RankAnswer:
    from gravel.kernels.exchange import Endpoint, drive
    from gravel.kernels.verify.ranks import check_program
    from gravel.stages.ranks.label_ranges import write_labels

    found = search_here(rank_group, resident, task, source)
    checker = checker_of(resident, rank_group.size)
    # What one program posts must not be taken for what the next does.
    rank_group.barrier()
    checks: list[Check] = []
    with wire_of(rank_group, task.backend) as wire:
        end = Endpoint(wire)
        labels, written = write_labels(end, wire, checker, found, task.writers)
        if task.check:
            own = found.distance, found.predecessor
            checks = drive(check_program(end, checker, source, *own, max_depth=task.asked.max_depth), wire)
    return RankAnswer(rank_group.rank, labels, written, tuple(checks))


def search_here(rank_group: RankContext, resident: Resident, task: RankTask, source: int) -> RankLabels:
    """Search from one vertex as one rank; labels of a GPU stay there until the next search.

    Raises `RankGroupBroken` when the GPUs waited for each other in vain, and `StageError` where they cannot
    reach each other as was asked.
    """
    from gravel.kernels.arrays import on_host
    from gravel.kernels.partition.layout import RankPart
    from gravel.stages.rank_group import RankGroupBroken

    share = resident.share
    try:
        if "searcher" not in resident.kept:
            resident.kept["searcher"] = make_rank(
                rank_group,
                RankPart(share.part, on_host(share.delegates), share.vertex_count, rank_group.size),
                task.asked,
                task.options,
                backend=task.backend,
                transport=task.transport,
            )
        rank = resident.kept["searcher"]
        rank.join(rank_group)
        # Nobody begins, or starts its clock, before all have ended the search before.
        rank_group.barrier()
        rank.wake()
        found: RankLabels = rank.run(source, on_device=True)
    except RuntimeError as error:
        if task.backend == "cpu":
            raise
        resident.kept.clear()
        raise RankGroupBroken(f"rank {rank_group.rank}: {error}") from error
    return found


@dataclass(frozen=True)
class ComponentsTask:
    """Task of each rank: how often to find components, and whether to check labels, or to write them."""

    recipe: Recipe
    backend: str
    threads: int
    runs: int
    barrier_seconds: float
    check: bool
    writer: RangeWriter | None


@dataclass(frozen=True)
class ComponentsAnswer:
    """Answer of one rank; `checks` are of all ranks."""

    rank: int
    last: RankComponents  # without labels
    receipts: tuple[Any, ...]
    milliseconds: tuple[float, ...]  # of each run
    named: int  # components whose smallest vertex is the rank's
    checks: tuple[Check, ...]


def find_as_rank(rank_group: RankContext, task: ComponentsTask) -> ComponentsAnswer:
    """Find components as one rank, so many times; the rank's part is found or made first."""
    from gravel.kernels.partition.layout import RankPart
    from gravel.kernels.threads import set_threads

    set_threads(task.threads)
    named, resident, _ = find_rank(rank_group, task.recipe, task.backend)
    resident.kept.clear()

    share = resident.share
    return find_together(
        named,
        RankPart(share.part, share.delegates, share.vertex_count, rank_group.size),
        symmetric=True,
        backend=task.backend,
        runs=task.runs,
        barrier_seconds=task.barrier_seconds,
        finish=lambda found, times: _answer(named, resident, task, found, times),
    )


def _answer(
    rank_group: RankContext,
    resident: Resident,
    task: ComponentsTask,
    found: RankComponents,
    times: list[float],
) -> ComponentsAnswer:
    from gravel.kernels.arrays import on_host
    from gravel.stages.ranks.components import write_components

    component = found.component
    named = _named(rank_group, component, resident.backend)
    checks = check_labels(rank_group, resident, component) if task.check else []
    receipts: list[Any] = []
    if task.writer is not None:
        given = resident.share.vertex_count, task.writer
        receipts = write_components(rank_group, on_host(component), *given)
    last = replace(found, component=component[:0])
    return ComponentsAnswer(rank_group.rank, last, tuple(receipts), tuple(times), named, tuple(checks))


def _named(rank_group: RankContext, component: Any, backend: str) -> int:
    """Count the own vertices that are labels of themselves."""
    if backend == "cuda":
        import cupy as xp
    else:
        import numpy as xp
    kind = component.dtype.type
    vertices = xp.arange(len(component), dtype=component.dtype) * kind(rank_group.size) + kind(
        rank_group.rank
    )
    return int(xp.count_nonzero(component == vertices))
