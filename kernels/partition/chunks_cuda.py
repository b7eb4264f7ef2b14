"""The edge distributor over a range of rows on the current GPU; the kernels are `split.cu`.

The twin of `gravel.kernels.partition.chunks` and of `gravel.kernels.partition.census_cpu`. Shares
take as much as the columns of their range, 4 bytes for each row of a subgraph, and 8 bytes of each bucket for
every BLOCK * ROUNDS arcs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any

import numpy

from gravel.kernels.buffers import make
from gravel.kernels.cuda import blocks_for, load, vertex_macro
from gravel.kernels.partition.distributor import buffers
from gravel.kernels.partition.distributor.rows_cuda import Kernels
from gravel.kernels.partition.layout import SUBGRAPHS, packed_bits
from gravel.kernels.partition.shares import DelegateIndex, Share, delegates_before, offsets_of

SOURCE = "kernels/partition/split.cu"

BLOCK = 256
"""Threads of a block; 256 at most."""

ROUNDS = 8
"""Arcs of a thread in a tile, as in `split.cu`."""

MAX_RANKS = 64
"""Ranks that a range is divided among at once: what a block counts in shared memory."""

MAX_BLOCKS = 1 << 14


Pieces = Iterable[tuple[int, Any]]
"""Rows in pieces: the vertex of the first, and their offsets, int64 (rows + 1,)."""


def index_delegates(
    pieces: Callable[[], Pieces], vertex_count: int, threshold: int, dtype: Any
) -> tuple[Any, DelegateIndex]:
    """List and index the vertices that have more arcs than a threshold.

    `pieces()` gives the rows of all vertices, and is called twice. Returns the delegates, ascending and of a
    dtype of columns, and their index.
    """
    import cupy

    kernels = Kernels(dtype, BLOCK)
    words, before = make(buffers.delegate_index(vertex_count), cupy).values()
    for first, offsets in pieces():
        rows = len(offsets) - 1
        span = numpy.uint64(rows), numpy.uint64(first)
        kernels.run("flag_long_rows", rows, offsets, *span, numpy.uint64(threshold), words)
    kernels.run("count_flags", len(words), words, numpy.uint64(len(words)), before[1:])
    cupy.cumsum(before, dtype=numpy.uint32, out=before)
    count = int(before[-1])
    found = buffers.delegates(count, numpy.dtype(dtype).str[1:], "device")
    vertices, degrees = make(found, cupy).values()
    index = DelegateIndex(words, before[:-1], degrees)
    for first, offsets in pieces() if count else ():
        rows = len(offsets) - 1
        span = numpy.uint64(rows), numpy.uint64(first)
        kernels.run("list_flagged", rows, offsets, *span, words, index.before, vertices, degrees)
    return vertices, index


def count_degrees(row_offsets: Any, columns_dtype: Any, degrees: Any, of_degree: Any) -> None:
    """Count some vertices by degree, as the census takes it.

    Parameters
    ----------
    row_offsets : int64 (rows + 1,).
    columns_dtype : uint32 or uint64.
    degrees : uint16 (rows,), which take their degrees, `LARGEST` at most.
    of_degree : int64 (LARGEST + 1,), to which the counts are added.

    """
    rows = len(degrees)
    Kernels(columns_dtype, BLOCK).run(
        "cap_degrees", rows, row_offsets, numpy.uint64(rows), degrees, of_degree
    )


def count_rows(
    row_offsets: Any, columns: Any, first_row: int, degrees: Any, busier: Any, quieter: Any
) -> None:
    """Count the arcs of a row range by their busier and by their quieter end.

    Parameters
    ----------
    row_offsets : int64 (rows + 1,), of the range; need not begin at 0.
    columns : of the range alone.
    degrees : of all vertices, by `count_degrees`.
    busier, quieter : int64 (LARGEST + 1,), to which the counts are added.

    """
    rows, arcs = len(row_offsets) - 1, len(columns)
    if not arcs:
        return
    # The kernel takes the rows of a whole graph: the arrays would begin so far before the range's.
    offsets = _address(row_offsets, 8 * first_row)
    begin = _address(columns, columns.dtype.itemsize * int(row_offsets[0]))
    span = numpy.uint64(first_row), numpy.uint64(rows)
    whole = numpy.uint32(0), numpy.uint32(1)
    Kernels(columns.dtype, BLOCK).run(
        "count_ends", arcs, offsets, begin, *span, *whole, degrees, busier, quieter
    )


def split_rows(
    row_offsets: Any,
    columns: Any,
    first_row: int,
    index: DelegateIndex | None,
    *,
    ranks: int,
    low: int,
    high: int,
) -> list[Share]:
    """Do as `gravel.kernels.partition.chunks.split_rows`, in arrays of the device.

    `index` is None for stripes, whose shares have nn alone. Raises ValueError for more than `MAX_RANKS` ranks
    at once.
    """
    import cupy

    span, arcs, rows = high - low, len(columns), len(row_offsets) - 1
    if span > MAX_RANKS:
        raise ValueError(f"{span} ranks at once are too many; at most {MAX_RANKS} are made together")
    names = SUBGRAPHS[:1] if index is None else SUBGRAPHS
    buckets = list(product(names, range(low, high)))
    lengths, shifts = _lengths(buckets, first_row, rows, index, ranks)
    sums = buffers.tile_sums(len(buckets), arcs, BLOCK * ROUNDS).make(cupy)
    tiles = (len(sums) - 1) // len(buckets)
    module = load(SOURCE, VERTEX=vertex_macro(columns.dtype))
    grid = (blocks_for(tiles, 1, most=MAX_BLOCKS),), (BLOCK,)
    delegates = (numpy.uint64(0),) * 3 if index is None else index
    span_of_ranks = numpy.uint32(ranks), numpy.uint32(low), numpy.uint32(span)
    rows_given = row_offsets, columns, numpy.uint64(first_row), numpy.uint64(rows)
    given = (*rows_given, *span_of_ranks, *delegates, numpy.uint32(len(buckets)), numpy.uint64(tiles))
    totals = numpy.zeros(len(buckets), numpy.int64)
    if arcs:
        counted = _addresses(lengths, shifts)
        module.get_function("count_arcs")(*grid, (*given, counted, sums[1:]))
        cupy.cumsum(sums, out=sums)
        totals = numpy.diff(cupy.asnumpy(sums[::tiles]))
    made = [
        buffers.columns_of_rank(columns.dtype.str[1:] if name == "nn" else "u4", int(total)).make(cupy)
        for (name, _), total in zip(buckets, totals, strict=True)
    ]
    if arcs:
        module.get_function("fill_arcs")(*grid, (*given, sums, _addresses(made, [0] * len(made))))
    return [
        Share(
            {name: lengths[place * span + rank] for place, name in enumerate(names)},
            {name: made[place * span + rank] for place, name in enumerate(names)},
        )
        for rank in range(span)
    ]


def _lengths(
    buckets: Sequence[tuple[str, int]], first_row: int, rows: int, index: DelegateIndex | None, ranks: int
) -> tuple[list[Any], list[int]]:
    """Make room for the lengths of each bucket's rows, and say which row of the rank each begins with."""
    import cupy

    first_delegate, last_delegate = (
        0 if index is None else delegates_before(index, vertex) for vertex in (first_row, first_row + rows)
    )
    spans = []
    for name, rank in buckets:
        first, last = ((vertex - rank + ranks - 1) // ranks for vertex in (first_row, first_row + rows))
        own = name in ("nn", "nd")
        spans.append((first, last) if own else (first_delegate, last_delegate))
    lengths = buffers.lengths_of_ranks(sum(last - first for first, last in spans)).make(cupy)
    ends = numpy.cumsum([last - first for first, last in spans]).tolist()
    begins = [0, *ends[:-1]]
    cuts = [lengths[begin:end] for begin, end in zip(begins, ends, strict=True)]
    return cuts, [4 * first for first, _ in spans]


def _address(array: Any, shift: int) -> numpy.uint64:
    """Give the address of an array as it would be so many bytes earlier."""
    return numpy.uint64((int(array.data.ptr) - shift) % (1 << 64))


def _addresses(arrays: Sequence[Any], shifts: Sequence[int]) -> Any:
    import cupy

    found = [_address(array, shift) for array, shift in zip(arrays, shifts, strict=True)]
    return cupy.asarray(numpy.array(found, numpy.uint64))


def rank_arrays(share: Share, rank: int) -> dict[str, Any]:
    """Name the arrays of a rank whose share is of all rows, in the order in which they are stored."""
    import cupy

    arrays: dict[str, Any] = {}
    for name, columns in share.columns.items():
        lengths, prefix = share.lengths[name], f"rank{rank}/{name}"
        arrays[f"{prefix}/column_indices"] = columns
        arrays[f"{prefix}/row_offsets"] = offsets_of(lengths, len(columns), cupy)
        if name == "nd":
            arrays[f"{prefix}/source_list"] = cupy.flatnonzero(lengths).astype(numpy.uint32)
        elif name != "nn":
            arrays[f"{prefix}/source_mask"] = packed_bits(lengths != 0, cupy)
    return arrays
