"""Searches of a distributed graph whose ranks are on GPUs, each in the memory of its worker's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from gravel.stages.errors import StageError
from gravel.stages.traversal.nccl_ranks import over_nccl

if TYPE_CHECKING:
    from collections.abc import Callable

    from gravel.kernels.partition.components import RankComponents
    from gravel.kernels.partition.cuda.peer_rank import PeerRank
    from gravel.kernels.partition.nccl import NcclRank
    from gravel.kernels.partition.program import RankLabels
    from gravel.stages.partitioning.resident import Held
    from gravel.stages.rank_group import RankContext
    from gravel.stages.traversal.distributed_rank import RankTask

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
    gang: RankContext, held: Held, runs: int, finish: Callable[[RankComponents, list[float]], Answer]
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
        rank = PeerComponents(gang, share.part, share.delegates, share.vertex_count, symmetric=True)
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
