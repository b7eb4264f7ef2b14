"""What a rank's visits read of its rows beside the CSR: which have arcs, their first columns, their lengths.

A visit is a chain of loads. With these the common cases take two or three that lie side by side, instead of
offsets and a column that are far apart.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.arrays import backend_of
from gravel.kernels.partition.buffers import TILE
from gravel.kernels.partition.cuda.compact_ids import CompactIds
from gravel.kernels.partition.layout import packed_bits

LONG_ROW = numpy.uint8(255)
"""Stands for a length from there on, as in rank.cuh."""


def row_mask(row_offsets: Any, *, longer_than: int = 0) -> Any:
    """Set a bit for every row with more arcs: uint32, as many as 64-bit words take; on the device."""
    import cupy

    return packed_bits(row_offsets[1:] - row_offsets[:-1] > longer_than, cupy).view(numpy.uint32)


def own_delegates(delegates: NDArray[Any], ranks: int, rank: int) -> Any:
    """Set a bit for every delegate that is a vertex of this rank, as `row_mask` does."""
    import cupy

    own = cupy.asarray(delegates) % delegates.dtype.type(ranks) == rank
    return packed_bits(own, cupy).view(numpy.uint32)


def own_vertices(
    delegates: NDArray[Any], ranks: int, rank: int, own_count: int, ids: CompactIds
) -> dict[str, Any]:
    """Give a rank's vertices that are delegates, ascending, uint32 arrays on the device.

    `own_places` and `own_numbers` are their compact ids and their numbers, one each; `own_tiles` is how many
    come before each TILE of its `own_count` vertices, and before the end.
    """
    import cupy

    own = numpy.flatnonzero(delegates % delegates.dtype.type(ranks) == rank)
    places = (delegates[own] // delegates.dtype.type(ranks)).astype(numpy.uint32)
    order = numpy.argsort(places)
    tiles = numpy.searchsorted(places[order], numpy.arange(-(-own_count // TILE) + 1) * TILE)
    found: dict[str, NDArray[Any]] = {
        "own_places": ids.of(places[order]),
        "own_numbers": own[order],
        "own_tiles": tiles,
    }
    return {name: cupy.asarray(values.astype(numpy.uint32, copy=False)) for name, values in found.items()}


def first_columns(row_offsets: Any, columns: Any, no_column: int, count: int) -> Any:
    """Give each row's first columns, uint32, `count` for each of as many rows as fill quads.

    Offsets are on the device, columns anywhere. `no_column` stands for those that a row does not have.
    """
    import cupy

    heads = cupy.full((-(-(len(row_offsets) - 1) // 4) * 4, count), no_column, numpy.uint32)
    for place in range(count):
        rows = cupy.flatnonzero(row_offsets[1:] - row_offsets[:-1] > place)
        at = row_offsets[rows] + row_offsets.dtype.type(place)
        heads[rows, place] = columns[at] if backend_of(columns) == "cuda" else cupy.asarray(columns[at.get()])
    return heads.ravel()


def first_delegates(heads: Any, delegates: NDArray[Any], rows: int) -> Any:
    """Give the vertex of each row's first column, as the delegates' dtype (rows,); all bits if it has none.

    `heads` is what `first_columns` gives, one of each row, with a `no_column` not below the number of
    delegates; it is empty where rows have none.
    """
    import cupy

    none = delegates.dtype.type(numpy.iinfo(delegates.dtype).max)
    if not len(heads):
        return cupy.full(rows, none, delegates.dtype)
    known = cupy.asarray(numpy.append(delegates, none))
    return known[cupy.minimum(heads[:rows], numpy.uint32(len(delegates)))]


def nn_owners(row_offsets: Any) -> Any:
    """Give the row of each arc, uint32; offsets are on the device."""
    import cupy

    rows = len(row_offsets) - 1
    owners = cupy.zeros(int(row_offsets[-1]), numpy.uint32)
    # A one where a row begins, as many where rows without arcs are passed by; their sums are the rows.
    begins = row_offsets[1:rows].astype(numpy.int64)
    begins = begins[begins < len(owners)]
    cupy.add.at(owners, begins, numpy.uint32(1))
    return cupy.cumsum(owners, dtype=numpy.uint32)


def short_lengths(row_offsets: Any) -> Any:
    """Give each row's length up to LONG_ROW, uint8, as many as words of a bitmap take; on the device."""
    import cupy

    rows = len(row_offsets) - 1
    lengths = cupy.zeros(-(-rows // 32) * 32, numpy.uint8)
    most = row_offsets.dtype.type(LONG_ROW)
    lengths[:rows] = cupy.minimum(row_offsets[1:] - row_offsets[:-1], most)
    return lengths


def delegate_lengths(dn_offsets: Any, dd_offsets: Any) -> Any:
    """Give the lengths of delegates' dn and dd rows side by side, uint32 (2 * delegates,); on the device."""
    import cupy

    lengths = cupy.empty((len(dn_offsets) - 1, 2), numpy.uint32)
    for place, offsets in enumerate((dn_offsets, dd_offsets)):
        lengths[:, place] = offsets[1:] - offsets[:-1]
    return lengths.ravel()
