"""One stripe's arrays on a device, and its entry in the table that `kernels/striped/stripes.cu` takes."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.bfs.asked import Asked
from gravel.kernels.bfs.cuda.labels import Labels
from gravel.kernels.buffers import make
from gravel.kernels.partition.buffers import stripe
from gravel.kernels.partition.cuda.table import Slab, Table, arcs_by_owner, starts_of
from gravel.kernels.partition.layout import RankGraph, local_count, row_lengths
from gravel.kernels.striped.options import StripedOptions

SHARED = ("counts", "bin_start", "bin_ids", "bin_tails")
"""Arrays that other ranks read, in the order of the kernel's `Stripe`."""

FIELDS = (
    *SHARED,
    "rank",
    "row_offsets",
    "columns",
    "distance",
    "keys",
    "predecessor",
    "bitmask",
    "queue",
    "huge",
    "tails",
    "sent",
    "came",
    "local",
)
"""The kernel's `Stripe`, field by field, 8 bytes each."""

LONGEST = 1 << 17
"""Arcs of a row that one block reads: the whole grid reads longer ones, as in `kernels/bfs/wide.cuh`."""

MAX_ARCS = 1 << 32
"""From which on row offsets take 64 bits."""


class StripeMemory(Table):
    """Stripe `part.rank` on the current device; everything is allocated here.

    A bin has room for as many vertices as can come into it in one search: every arc to its owner, and with
    the bitmask each of the owner's vertices once.

    Parameters
    ----------
    offset_dtype : of the row offsets, numpy.uint32 or numpy.uint64.
    longest : arcs of a row that one block reads.

    Raises ValueError for more vertices than the keys of a search with predecessors tell apart.

    """

    fields = FIELDS

    def __init__(
        self,
        part: RankGraph,
        *,
        vertex_count: int,
        ranks: int,
        offset_dtype: Any,
        asked: Asked,
        options: StripedOptions,
        longest: int = LONGEST,
    ) -> None:
        import cupy

        counts = [local_count(vertex_count, ranks, rank) for rank in range(ranks)]
        local = counts[part.rank]
        # What a key has room for is a vertex of the whole graph.
        self.labels = Labels.allocate(local, asked, within=vertex_count)
        columns = cupy.asarray(part.nn.column_indices)
        starts = bin_starts(columns, counts, bitmask=options.bitmask)
        table = stripe(
            ranks,
            local,
            vertex_count,
            int(starts[-1]),
            tree=self.labels.tree > 0,
            bitmask=options.bitmask,
            huge=int((row_lengths(part.nn) > longest).sum()),
        )
        self.slab = Slab(table[:4])
        self.slab.arrays["bin_start"].set(starts)
        self.arrays = self.slab.arrays | {
            "row_offsets": cupy.asarray(part.nn.row_offsets).astype(offset_dtype, copy=False),
            "columns": columns,
            "distance": self.labels.distance_argument(),
            "keys": self.labels.keys,
            "predecessor": self.labels.predecessor_argument(),
            **make(table[4:], cupy),
        }
        self.numbers = {"rank": part.rank, "local": local}


def bin_starts(columns: Any, counts: list[int], *, bitmask: bool) -> NDArray[numpy.uint64]:
    """Lay the bins for each rank, which owns `counts` vertices, one after another: uint64 (ranks + 1,)."""
    room = arcs_by_owner(columns, len(counts))
    if bitmask:
        room = numpy.minimum(room, counts)
    return starts_of(room)
