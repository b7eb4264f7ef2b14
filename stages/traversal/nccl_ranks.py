"""Ranks on GPUs that send to each other over NCCL, and the choice between that and peer memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.stages.errors import StageError
from gravel.stages.traversal.partitioned import GangSearch

if TYPE_CHECKING:
    from gravel.kernels.bfs import BFSResult
    from gravel.kernels.partition import SearchOptions
    from gravel.kernels.partition.nccl import NcclRank, NcclSearch
    from gravel.stages.context import Context
    from gravel.stages.rank_group import RankContext
    from gravel.stages.traversal.graph import SearchedGraph
    from gravel.stages.traversal.partitioned import RankTask
    from gravel.stages.traverse import TraverseParameters

BYTES_PER_ARRIVAL = 8
"""Of an arc between normal vertices, beside what peers take: an id that comes, and a tail asked for."""


def check_nccl_options(options: SearchOptions) -> None:
    """Raise `StageError` for options that have no meaning over NCCL."""
    if options.reduction_algorithm != "all_gather":
        raise StageError(
            f"reduction_algorithm {options.reduction_algorithm} and transport nccl do not go together; ranks "
            "over NCCL choose among three algorithms of their own by size",
            hint="leave reduction_algorithm out, or use transport: peer or backend: cpu",
        )


def prepare_over_nccl(
    context: Context, graph: SearchedGraph, parameters: TraverseParameters, options: SearchOptions
) -> tuple[Any, list[str]]:
    """Make a partition ready for searches over NCCL; returns sentences on what could not be as asked, too.

    Raises `StageError` where there is no GPU for each rank, no NCCL, or columns were to lie in host memory.
    """
    from gravel.kernels.partition.nccl import NcclSearch

    assert graph.partition is not None
    check_nccl_options(options)
    ranks = graph.partition.ranks
    if parameters.placement not in ("auto", "device"):
        raise StageError(
            f"placement {parameters.placement} and transport nccl do not go together; ranks that send have "
            "all their columns on their GPUs",
            hint="leave the placement out, or use transport: peer",
        )
    if ranks > 1 and (context.reserved < ranks or graph.stored is None):
        there = max(1, context.reserved)
        raise StageError(
            f"NCCL takes a GPU for each rank; there are {ranks} ranks, and {there} GPUs were there at once",
            hint=f"search with {ranks} GPUs, or with transport: peer, which takes several ranks on a GPU",
        )
    if ranks > 1:
        return NcclGangSearch(context, graph, parameters, options), []
    try:
        search = NcclSearch(
            graph.partition,
            output=parameters.output,
            max_depth=parameters.max_depth,
            symmetric=graph.symmetric,
            options=options,
        )
    except ValueError as error:
        raise StageError(str(error), hint="use transport: peer") from None
    return NcclOnGpu(search), []


class NcclGangSearch(GangSearch):
    """As `GangSearch`, with every rank on its worker's GPU, over NCCL."""

    backend = "cuda"
    rank_backend = "nccl"
    placement = "device"


class NcclOnGpu:
    """A single rank on this process's GPU."""

    backend = "cuda"
    placement = "device"

    def __init__(self, search: NcclSearch) -> None:
        self._search = search
        self.strategy, self.reason = search.strategy, search.reason
        self.prepare_milliseconds = search.prepare_milliseconds
        self.labels: Any = ()

    def run(self, source: int) -> BFSResult:
        """Search from one vertex."""
        from gravel.kernels.cuda.wake import wake

        wake()
        found = self._search.run(source)
        self.labels = self._search.labels
        return found


def over_nccl(gang: RankContext, asked: str, *, placed: bool = False) -> bool:
    """Choose as one rank of a gang; all choose alike. Peers are preferred where all ranks are on one host.

    `asked` is "nccl" or "peer", or anything else to choose; `placed` tells of columns in host memory.
    Raises `StageError` for peers on several hosts, and where those have no NCCL.
    """
    import socket

    from gravel.kernels.partition.nccl import why_not

    if asked == "nccl":
        return True
    hosts = sorted(set(gang.all_gather(socket.gethostname())))
    if len(hosts) == 1:
        return False
    where = (
        f"the ranks' GPUs are on {len(hosts)} hosts ({', '.join(hosts[:4])}{', ...' if hosts[4:] else ''})"
    )
    if asked == "peer":
        raise StageError(
            f"{where}, and transport peer is for one", hint="take transport: nccl, or GPUs of one host"
        )
    for rank, why in enumerate(gang.all_gather(why_not())):
        if why is not None:
            raise StageError(
                f"{where}, which takes NCCL, and rank {rank} has none: {why}",
                hint="install it on every host, or search with GPUs of one",
            )
    if placed:
        raise StageError(
            f"{where}, and over NCCL all columns have to lie on the GPUs", hint="search with more GPUs"
        )
    return True


def nccl_rank(gang: RankContext, task: RankTask) -> NcclRank:
    """Read a rank, and connect it; raises `StageError` where NCCL cannot be used."""
    import numpy

    from gravel.kernels.partition.layout import rank_from_arrays
    from gravel.kernels.partition.nccl import NcclRank

    check_nccl_options(task.options)
    try:
        return NcclRank(
            gang,
            task.encoded.read() if task.encoded else rank_from_arrays(task.arrays, task.rank),
            numpy.asarray(task.delegates),
            task.vertex_count,
            symmetric=task.symmetric,
            options=task.options,
            tree=task.tree,
            max_depth=task.max_depth,
        )
    except ValueError as error:
        raise StageError(f"rank {task.rank}: {error}", hint="use transport: peer") from None
