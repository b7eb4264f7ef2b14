"""What one rank of a distributed graph does for `traverse`: it searches, counts what it reaches, checks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from gravel.stages.errors import StageError
from gravel.stages.partitioning.resident import Held, Recipe, find_rank, wire_of
from gravel.stages.traversal.nccl_ranks import over_nccl

if TYPE_CHECKING:
    from collections.abc import Callable

    from gravel.kernels.partition import SearchOptions
    from gravel.kernels.partition.components import RankComponents
    from gravel.kernels.partition.cuda.peer_rank import PeerRank
    from gravel.kernels.partition.nccl import NcclRank
    from gravel.kernels.partition.program import RankLabels
    from gravel.kernels.verify import Check
    from gravel.kernels.verify.ranks import LevelSums
    from gravel.stages.rank_group import RankContext
    from gravel.stages.traversal.distributed_components import ComponentsTask


@dataclass(frozen=True)
class RankTask:
    """What each rank is given; with `draw` it draws sources, without sources it forgets its search."""

    recipe: Recipe
    backend: str
    threads: int
    options: SearchOptions
    max_depth: int | None
    tree: bool
    transport: str = "auto"
    check: bool = False
    labels: bool = True
    sources: tuple[int, ...] = ()
    draw: tuple[int, int] | None = None  # how many, and the seed


@dataclass(frozen=True)
class RankAnswer:
    """What one rank tells of one search; `sums` and `checks` are of all ranks."""

    rank: int
    labels: RankLabels  # without arrays unless they are wanted
    sums: LevelSums
    checks: tuple[Check, ...]


def work_as_rank(gang: RankContext, task: RankTask) -> list[Any]:
    """Do what a task asks for as one rank; the rank's part is found or made first."""
    from gravel.kernels.jit import set_threads

    set_threads(task.threads)
    named, held, _ = find_rank(gang, task.recipe, task.backend)
    if task.draw is not None:
        return _drawn(named, held, *task.draw)
    if not task.sources:
        searcher = held.kept.pop("searcher", None)
        if searcher is not None and task.backend == "cuda":
            searcher.leave(named)
        held.kept.clear()
        return []
    return [_search(named, held, task, source) for source in task.sources]


def ready_as_rank(gang: RankContext, task: RankTask | ComponentsTask) -> bool:
    """Find or make the rank; returns whether it was made."""
    from gravel.kernels.jit import set_threads

    set_threads(task.threads)
    _, _, new = find_rank(gang, task.recipe, task.backend)
    return new


def _drawn(gang: RankContext, held: Held, count: int, seed: int) -> list[Any]:
    from gravel.kernels.exchange import Endpoint, drive
    from gravel.kernels.partition.distributor.draw import draw_program, with_arcs

    share = held.share
    filled = with_arcs(share.part, share.delegates, share.vertex_count, gang.size)
    drawn = drive(draw_program(Endpoint(gang), filled, share.vertex_count, count, seed), gang)
    return [drawn]


def _search(gang: RankContext, held: Held, task: RankTask, source: int) -> RankAnswer:
    from gravel.kernels.exchange import Endpoint, drive
    from gravel.kernels.verify.ranks import check_program, sum_levels_program

    if task.backend == "cuda":
        labels = search_on_gpu(gang, held, task, source)
    else:
        labels = _search_on_cpu(gang, held, task, source)
    checker = checker_of(held, gang.size)
    # What one program posts must not be taken for what the next does.
    gang.barrier()
    with wire_of(gang, task.backend) as wire:
        end = Endpoint(wire)
        sums = drive(sum_levels_program(end, checker, labels.distance), wire)
        checks: list[Check] = []
        if task.check:
            found = labels.distance, labels.predecessor
            checks = drive(check_program(end, checker, source, *found, max_depth=task.max_depth), wire)
    return RankAnswer(gang.rank, _told(labels, task.labels), sums, tuple(checks))


def _search_on_cpu(gang: RankContext, held: Held, task: RankTask, source: int) -> RankLabels:
    from gravel.kernels.partition.rank_search import RankSearch
    from gravel.kernels.partition.search import search_rank

    if "searcher" not in held.kept:
        share = held.share
        held.kept["searcher"] = RankSearch(
            share.part, share.delegates, share.vertex_count, gang.size, symmetric=True, options=task.options
        )
    # Nobody begins, or starts its clock, before all have ended the search before.
    gang.barrier()
    return search_rank(gang, held.kept["searcher"], source, max_depth=task.max_depth, tree=task.tree)


def checker_of(held: Held, ranks: int) -> Any:
    """Find or make what a rank checks its labels with."""
    if "checker" not in held.kept:
        if held.backend == "cuda":
            from gravel.kernels.verify.ranks.cuda import RankChecker as Made
        else:
            from gravel.kernels.verify.ranks.cpu import RankChecker as Made  # type: ignore[assignment]
        share = held.share
        held.kept["checker"] = Made(share.part, share.delegates, share.vertex_count, ranks)
    return held.kept["checker"]


def _told(labels: RankLabels, wanted: bool) -> RankLabels:
    """Bring labels to the host, or leave them behind."""
    import numpy

    from gravel.kernels.placement.device_copies import on_host

    if not wanted:
        return replace(labels, distance=numpy.empty(0, numpy.int32), predecessor=None)
    distance: Any = on_host(labels.distance)
    return replace(labels, distance=distance, predecessor=on_host(labels.predecessor))


Answer = TypeVar("Answer")


def search_on_gpu(gang: RankContext, held: Held, task: RankTask, source: int) -> RankLabels:
    """Search from one vertex as one rank; labels stay on the GPU until the next search.

    Raises `RankGroupBroken` when the GPUs waited for each other in vain, and `StageError` where they cannot
    reach each other as was asked.
    """
    from gravel.stages.rank_group import RankGroupBroken

    try:
        if "searcher" not in held.kept:
            sends = over_nccl(gang, task.transport)
            held.kept["searcher"] = (_nccl_rank if sends else _peer_rank)(gang, held, task)
        rank: PeerRank | NcclRank = held.kept["searcher"]
        rank.join(gang)
        gang.barrier()
        rank.wake()
        return rank.run(source, on_device=True)
    except RuntimeError as error:
        held.kept.clear()
        raise RankGroupBroken(f"rank {gang.rank}: {error}") from error


def _peer_rank(gang: RankContext, held: Held, task: RankTask) -> PeerRank:
    from gravel.kernels.partition.cuda.peer_rank import PeerRank

    return PeerRank(gang, held.share.part, **_facts(held, task))


def _nccl_rank(gang: RankContext, held: Held, task: RankTask) -> NcclRank:
    from gravel.kernels.partition.nccl import NcclRank

    try:
        return NcclRank(gang, held.share.part, **_facts(held, task))
    except ValueError as error:
        raise StageError(f"rank {gang.rank}: {error}", hint="use transport: peer") from None


def _facts(held: Held, task: RankTask) -> dict[str, Any]:
    return {
        "delegates": held.share.delegates.get(),
        "vertex_count": held.share.vertex_count,
        "symmetric": True,
        "options": task.options,
        "tree": task.tree,
        "max_depth": task.max_depth,
    }


def find_on_gpu(
    gang: RankContext,
    held: Held,
    runs: int,
    finish: Callable[[RankComponents, list[float]], Answer],
    *,
    barrier_seconds: float,
) -> Answer:
    """Find components as one rank, so many times; `finish` gets the last labels, on the GPU, and all times.

    Raises `RankGroupBroken` when the GPUs waited for each other in vain, and `StageError` where they cannot
    read each other's memory.
    """
    import cupy

    from gravel.kernels.cuda.wake import wake
    from gravel.kernels.partition.cuda.components import PeerComponents
    from gravel.kernels.partition.cuda.mapping import why_no_peers
    from gravel.stages.rank_group import RankGroupBroken

    problem = why_no_peers(gang)
    if problem is not None:
        raise StageError(
            f"components over GPUs are found by GPUs that read each other's memory, and {problem}",
            hint="find them with `backend: cpu`",
        )
    # What others map is allocated beside the pool, where earlier searches may have left theirs.
    cupy.get_default_memory_pool().free_all_blocks()
    share = held.share
    try:
        rank = PeerComponents(
            gang,
            share.part,
            share.delegates,
            share.vertex_count,
            symmetric=True,
            time_limit=barrier_seconds,
        )
    except ValueError as error:
        raise StageError(str(error), hint="distribute the graph over more ranks") from None
    times = []
    try:
        for _ in range(runs):
            gang.barrier()
            wake()
            found = rank.run(on_device=True)
            times.append(found.milliseconds)
    except RuntimeError as error:
        raise RankGroupBroken(f"rank {gang.rank}: {error}") from error
    answer = finish(found, times)
    rank.leave(gang)
    return answer
