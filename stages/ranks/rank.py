"""One rank of a group that searches a partition: on the CPU, or on its GPU beside peers or over NCCL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from gravel.stages.errors import StageError

if TYPE_CHECKING:
    from gravel.kernels.bfs.query import Query
    from gravel.kernels.partition.cuda.placing import Placing
    from gravel.kernels.partition.layout import RankPart
    from gravel.kernels.partition.options import PathOptions
    from gravel.kernels.verify.ranks.rows import RankRows
    from gravel.stages.rank_group import RankContext
    from gravel.stages.ranks.label_ranges import LabelWriters
    from gravel.stages.rows.encoded import EncodedRank


@dataclass(frozen=True)
class RankTask:
    """Task of one rank of a group: its part of the partition, and the sources of this call.

    `striped` says that `arrays` have no delegates.
    `transport` says how ranks on GPUs reach each other. Without sources the rank lets its part go.
    """

    token: str
    rank: int
    ranks: int
    vertex_count: int
    striped: bool
    delegates: Any
    arrays: Mapping[str, Any]
    asked: Query
    options: Any
    threads: int
    sources: tuple[int, ...] = ()
    backend: str = "cpu"
    transport: str = "auto"
    placing: Placing | None = None
    encoded: EncodedRank | None = None  # instead of `arrays`
    returned: bool = False  # whether labels go back, which are written, or counted alone, otherwise
    writers: LabelWriters | None = None


class Rank(Protocol):
    """A rank's part in memory, ready for searches that all ranks make together."""

    def join(self, rank_group: RankContext) -> None:
        """Take part in the group; all ranks call it."""
        ...

    def leave(self, rank_group: RankContext) -> None:
        """Release what belongs to others; all ranks call it."""
        ...

    def wake(self) -> None:
        """Bring a GPU up to speed for a search that follows at once; all ranks call it."""
        ...

    def run(self, source: int) -> Any:
        """Search from one vertex and return the rank's labels; all ranks call it."""
        ...


class CpuRank:
    """A rank whose part is in host memory; `search(rank_group, source)` is one search of it."""

    def __init__(self, search: Callable[[RankContext, int], Any]) -> None:
        self._search = search
        self._rank_group: RankContext | None = None

    def join(self, rank_group: RankContext) -> None:
        """Take part in the group."""
        self._rank_group = rank_group

    def leave(self, rank_group: RankContext) -> None:
        """Do nothing: nothing belongs to others."""

    def wake(self) -> None:
        """Do nothing: a CPU needs no waking."""

    def run(self, source: int, *, on_device: bool = False) -> Any:
        """Search from one vertex; `on_device` is for GPUs."""
        assert self._rank_group is not None
        return self._search(self._rank_group, source)


Kept = TypeVar("Kept")


class Residents(Generic[Kept]):
    """Values that stay in a worker's memory from one call to the next, by the search's token and the rank."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, int], Kept] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, token: str, rank: int, make: Callable[[], Kept]) -> Kept:
        """Return what a rank keeps, made first if it is not here; other searches' are let go before."""
        key = token, rank
        if key not in self._kept:
            for other in [other for other in self._kept if other[0] != token]:
                del self._kept[other]
            self._kept[key] = make()
        return self._kept[key]

    def drop(self, token: str, rank: int) -> Kept | None:
        """Remove what a rank keeps and return it; None if it is not here."""
        return self._kept.pop((token, rank), None)


RESIDENT: Residents[tuple[Rank, RankRows]] = Residents()
"""Ranks in this process's memory or on its GPU, and their rows on the host."""


def search_as_rank(rank_group: RankContext, task: RankTask) -> list[Any]:
    """Search from each source in turn as one rank of a group; without sources, let the rank go.

    Raises `RankGroupBroken` when the GPUs waited for each other in vain.
    """
    from gravel.kernels.exchange import Endpoint
    from gravel.stages.rank_group import RankGroupBroken
    from gravel.stages.ranks.label_ranges import write_labels

    if not task.sources:
        gone = RESIDENT.drop(task.token, task.rank)
        if gone is not None:
            gone[0].leave(rank_group)
        return []
    if task.backend == "cpu":
        from gravel.kernels.threads import set_threads

        set_threads(task.threads)
    try:
        rank, rows = RESIDENT.find(task.token, task.rank, lambda: _read_rank(rank_group, task))
        rank.join(rank_group)
        answers: list[Any] = []
        writers = task.writers
        for source in task.sources:
            # Nobody begins, or starts its clock, before all have ended the search before.
            rank_group.barrier()
            rank.wake()
            labels = rank.run(source)
            if task.returned:
                answers.append(labels)
                continue
            # What one program posts must not be taken for what the next does.
            rank_group.barrier()
            answers.append(write_labels(Endpoint(rank_group), rank_group, rows, labels, writers))
            writers = writers and writers.after(answers[-1][1])
    except RuntimeError as error:
        if task.backend == "cpu":
            raise
        RESIDENT.drop(task.token, task.rank)
        raise RankGroupBroken(f"rank {task.rank}: {error}") from error
    return answers


def _read_rank(rank_group: RankContext, task: RankTask) -> tuple[Rank, RankRows]:
    import numpy

    from gravel.kernels.partition import stripes
    from gravel.kernels.partition.layout import RankPart, rank_from_arrays
    from gravel.kernels.verify.ranks.rows import RankRows

    from_arrays = stripes.rank_from_arrays if task.striped else rank_from_arrays
    part = RankPart(
        task.encoded.read() if task.encoded else from_arrays(task.arrays, task.rank),
        numpy.asarray(task.delegates),
        task.vertex_count,
        task.ranks,
    )
    made: Rank = make_rank(
        rank_group,
        part,
        task.asked,
        task.options,
        backend=task.backend,
        transport=task.transport,
        placing=task.placing,
    )
    return made, RankRows(part.graph, part.delegates, task.vertex_count, task.ranks)


def make_rank(
    rank_group: RankContext,
    part: RankPart,
    asked: Query,
    options: Any,
    *,
    backend: str,
    transport: str = "auto",
    placing: Placing | None = None,
) -> Any:
    """Make one rank of a partition by degree ready where it searches.

    Raises `StageError` where GPUs cannot reach each other as is asked, and for weights that no search takes.
    """
    from gravel.kernels.partition.options import PathOptions

    if isinstance(options, PathOptions):
        return _path_rank(rank_group, part, asked, options)
    if backend == "cpu":
        from gravel.kernels.partition import search_rank
        from gravel.kernels.partition.rank_search import RankSearch

        state = RankSearch(part, asked, options)
        return CpuRank(lambda wire, source: search_rank(wire, state, source))
    if not over_nccl(rank_group, transport, placed=placing is not None):
        from gravel.kernels.partition.cuda.peer_rank import PeerRank

        return PeerRank(rank_group, part, asked, options, placing=placing)
    from gravel.kernels.partition.nccl import NcclRank

    check_nccl_options(options)
    try:
        return NcclRank(rank_group, part, asked, options)
    except ValueError as error:
        raise StageError(f"rank {rank_group.rank}: {error}", hint="use transport: peer") from None


def _path_rank(rank_group: RankContext, part: RankPart, asked: Query, options: PathOptions) -> CpuRank:
    from gravel.kernels.partition.paths import rank_of, search_rank
    from gravel.stages.weights import unusable

    try:
        state = rank_of(rank_group, part, tree=asked.tree, options=options)
    except ValueError as error:
        raise unusable(error, None) from None
    # What one program posts must not be taken for what the next does.
    rank_group.barrier()
    return CpuRank(lambda wire, source: search_rank(wire, state, source))


def check_nccl_options(options: Any) -> None:
    """Raise `StageError` for options that have no meaning over NCCL."""
    if options.reduction_algorithm != "all_gather":
        raise StageError(
            f"reduction_algorithm {options.reduction_algorithm} and transport nccl do not go together; ranks "
            "over NCCL choose among three algorithms of their own by size",
            hint="leave reduction_algorithm out, or use transport: peer or backend: cpu",
        )


def over_nccl(rank_group: RankContext, asked: str, *, placed: bool = False) -> bool:
    """Choose as one rank of a group; all choose alike. Peers are preferred where all ranks are on one host.

    `asked` is "nccl" or "peer", or anything else to choose; `placed` tells of columns in host memory.
    Raises `StageError` for peers on several hosts, and where those have no NCCL.
    """
    import socket

    from gravel.kernels.partition.nccl import why_not

    if asked == "nccl":
        return True
    hosts = sorted(set(rank_group.all_gather(socket.gethostname())))
    if len(hosts) == 1:
        return False
    where = (
        f"the ranks' GPUs are on {len(hosts)} hosts ({', '.join(hosts[:4])}{', ...' if hosts[4:] else ''})"
    )
    if asked == "peer":
        raise StageError(
            f"{where}, and transport peer is for one", hint="take transport: nccl, or GPUs of one host"
        )
    for rank, why in enumerate(rank_group.all_gather(why_not())):
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
