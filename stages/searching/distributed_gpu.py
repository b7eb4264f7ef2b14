"""Searches of a distributed graph whose ranks are on GPUs, each in the memory of its worker's."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernels.partition.program import RankLabels
    from stages.gang import RankContext
    from stages.partitioning.resident import Held
    from stages.searching.distributed_rank import RankTask


def search_on_gpu(gang: RankContext, held: Held, task: RankTask, source: int) -> RankLabels:
    """Search from one vertex as one rank; labels stay on the GPU until the next search.

    Raises `GangBroken` when the GPUs waited for each other in vain.
    """
    from kernels.cuda.wake import wake
    from kernels.partition.cuda.peer_rank import PeerRank
    from stages.gang import GangBroken

    share = held.share
    try:
        if "searcher" not in held.kept:
            held.kept["searcher"] = PeerRank(
                gang,
                share.part,
                share.delegates.get(),
                share.vertex_count,
                symmetric=True,
                options=task.options,
                tree=task.tree,
                max_depth=task.max_depth,
            )
        rank: PeerRank = held.kept["searcher"]
        rank.join(gang)
        # The ranks have checked the labels before, and an idle GPU lowers its clocks.
        wake()
        gang.barrier()
        return rank.run(source, on_device=True)
    except RuntimeError as error:
        held.kept.clear()
        raise GangBroken(f"rank {gang.rank}: {error}") from error
