"""Delegates numbered by their arcs, most first, in the memory of GPUs.

A partition numbers delegates by their vertices. On a GPU most of what a backward visit does is to test bits
of delegates, and in a skewed graph most arcs lead to few of them. With these first a row's first columns are
those that are found soonest, and the bits of most columns lie in few lines of the first-level cache.

Trees of the smallest predecessors keep the partition's numbers, so that they are the same for any number of
ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.cuda.room import free_bytes
from gravel.kernels.order import renumber_cuda
from gravel.kernels.partition.buffers import SMALLEST
from gravel.kernels.partition.cuda.row_tables import row_mask
from gravel.kernels.partition.layout import SUBGRAPHS, RankGraph, Subgraph, arc_count

ARCS_AT_ONCE = 1 << 27
"""Arcs whose rows are sorted at once: keys and the sort's copy take 16 bytes each, 2 GiB."""

ROW_BYTES = 48
"""For each row of the subgraphs while they are renumbered: offsets of both, as int64, and the permutation."""


def is_free(*, tree: int, placed: bool, encoded: bool) -> bool:
    """Tell whether a search may number delegates as it likes.

    Trees of the smallest predecessors depend on the numbers, and columns in host memory and encoded rows stay
    as they are.
    """
    return not (tree == SMALLEST or placed or encoded)


def room_for(parts: Sequence[RankGraph]) -> bool:
    """Tell whether the device has room for ranks' subgraphs twice, and for what `renumbered` sorts."""
    arcs = [[arc_count(part.subgraph(name)) for name in SUBGRAPHS[1:]] for part in parts]
    rows = sum(len(part.nd.row_offsets) + 2 * len(part.dd.row_offsets) for part in parts)
    sorted_at_once = min(ARCS_AT_ONCE, max(map(max, arcs)))
    names = sum(arc_count(part.nn) * part.nn.column_indices.dtype.itemsize for part in parts)
    wanted = 8 * sum(map(sum, arcs)) + names + 16 * sorted_at_once + ROW_BYTES * rows
    return wanted <= free_bytes()


def numbers_by_degree(part: RankGraph) -> NDArray[numpy.uint32]:
    """Number the delegates by their arcs on one rank, most first, uint32 (delegates,), on the host.

    All ranks have to take the numbers of one; which one does not matter, since the distributor spreads every
    delegate's arcs over all ranks.
    """
    import cupy

    arcs = cupy.zeros(len(part.dn.row_offsets) - 1, numpy.int64)
    for subgraph in (part.dn, part.dd):
        arcs += cupy.diff(cupy.asarray(subgraph.row_offsets).astype(numpy.int64))
    numbers = cupy.empty(len(arcs), numpy.uint32)
    numbers[cupy.argsort(-arcs)] = cupy.arange(len(arcs), dtype=numpy.uint32)
    found: NDArray[numpy.uint32] = numbers.get()
    return found


def in_order(delegates: NDArray[Any], numbers: NDArray[numpy.uint32] | None) -> NDArray[Any]:
    """Give the delegates' vertices by number; they ascend where `numbers` is None."""
    if numbers is None:
        return delegates
    placed = numpy.empty_like(delegates)
    placed[numbers] = delegates
    return placed


def renumbered(part: RankGraph, numbers: NDArray[numpy.uint32]) -> RankGraph:
    """Give delegates other numbers, `numbers[old] = new`; the result is on the device, its rows sorted.

    `room_for` tells whether there is room for both.
    """
    import cupy

    delegates = cupy.asarray(numbers)
    own = cupy.arange(len(part.nd.row_offsets) - 1, dtype=numpy.uint32)

    def changed(subgraph: Subgraph, rows: Any, columns: Any) -> Subgraph:
        offsets = cupy.asarray(subgraph.row_offsets).astype(numpy.int64)
        old = cupy.asarray(subgraph.column_indices)
        given = {"column_permutation": columns, "arcs_at_once": ARCS_AT_ONCE}
        return Subgraph(*renumber_cuda.apply(offsets, old, rows, **given))

    nd, dn = changed(part.nd, own, delegates), changed(part.dn, delegates, own)
    dd = changed(part.dd, delegates, delegates)
    masks = {"dn_source_mask": row_mask(dn.row_offsets), "dd_source_mask": row_mask(dd.row_offsets)}
    return replace(part, nd=nd, dn=dn, dd=dd, **masks)
