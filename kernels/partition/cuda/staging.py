"""Masks in rounds and local all-to-all between ranks that read each other's memory.

The kernels' side is `staged.cuh`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy
from numpy.typing import NDArray

from gravel.kernels.partition.cuda.table import arcs_by_owner, starts_of
from gravel.kernels.partition.layout import RankGraph
from gravel.kernels.partition.options import SearchOptions
from gravel.kernels.partition.reductions import Round, reduction_rounds


@dataclass(frozen=True)
class Staging:
    """What the ranks of a search do by stages; alike for all of them.

    `members` are the ranks of a group that exchanges vertices within first, or 0.
    """

    ranks: int
    rounds: tuple[Round, ...]
    members: int
    uniquify: bool

    @classmethod
    def of(cls, options: SearchOptions, ranks: int) -> Staging | None:
        """Read the options; None where every rank reads directly from every other.

        Raises ValueError for groups that would not be equal.
        """
        rounds = reduction_rounds(options.reduction_algorithm, ranks, options.groups)
        members = ranks // options.groups if options.local_all_to_all else 0
        plain = options.reduction_algorithm == "all_gather" and not options.groups
        return None if plain else cls(ranks, rounds, members, options.uniquify)

    @property
    def relays(self) -> bool:
        """Whether vertices go by way of a mate to other groups."""
        return 0 < self.members < self.ranks

    def schedule(self) -> NDArray[numpy.uint32]:
        """Make the kernel's schedule: where the list of each round and rank begins, and then the lists."""
        lists = [senders for each in self.rounds for senders in each]
        starts = len(lists) + 1 + numpy.cumsum([0, *(len(each) for each in lists)])
        return numpy.concatenate((starts, *lists)).astype(numpy.uint32)

    def masks_read(self, rank: int) -> int:
        """Count the masks that a rank reads from others in a level."""
        return sum(len(each[rank]) for each in self.rounds)

    def relay_starts(self, sent: NDArray[numpy.int64], rank: int) -> NDArray[numpy.uint64]:
        """Lay out a rank's lists for other groups, uint64 (groups + 1,); `sent` is how many nn arcs go from
        each rank to each.
        """
        members = self.members
        first, place = rank // members * members, rank % members
        counts = sent[first : first + members, place::members].sum(axis=0)
        counts[rank // members] = 0
        return starts_of(counts)


def arcs_sent(part: RankGraph, ranks: int) -> NDArray[numpy.int64]:
    """Count a rank's nn arcs to each rank, int64 (ranks,)."""
    import cupy

    return arcs_by_owner(cupy.asarray(part.nn.column_indices), ranks)


def check_staged(staging: Staging | None, *, placed: bool, layout: str | None) -> None:
    """Raise ValueError for columns that ranks do not read by stages."""
    if staging is not None and (placed or layout is not None):
        rows = "encoded rows" if layout is not None else "columns in host memory"
        raise ValueError(
            f"reduction_algorithm and groups are for columns on the GPUs, and these are {rows}; "
            "leave both out"
        )
