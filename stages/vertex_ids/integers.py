"""Integer ids in memory: the rank of each, ascending, found by all cores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from gravel.kernels.arrays import index_dtype
from gravel.kernels.ids import buffers
from gravel.kernels.ids.bitmap import count_before, mark, members, rank
from gravel.kernels.ids.buffers import BLOCK
from gravel.kernels.ids.hashed import EMPTY, ranked
from gravel.kernels.row_blocks import even_blocks, run_blocks

SPARSE = 64
"""Bits of a bitmap for each id in the columns up to which it is used: as many bytes as the ids themselves."""

MIN_SPAN = 1 << 20
"""Ids within such a range are marked in a bitmap however few they are."""


class Numbered(NamedTuple):
    """`ids` ascending, int64, or None where they are `first`, `first + 1`, ...; and vertices by column."""

    distinct: int
    ids: NDArray[numpy.int64] | None
    first: int
    columns: list[NDArray[Any]]


def are_far_apart(columns: Sequence[NDArray[Any]]) -> bool:
    """Return whether ids, none of them negative, are too far from each other for a bitmap."""
    bounds = [_bounds(column) for column in columns if len(column)]
    low, high = min(low for low, _ in bounds), max(high for _, high in bounds)
    return low >= 0 and _takes_a_table(high - low + 1, sum(map(len, columns)))


def number_integers(columns: Sequence[NDArray[Any]]) -> Numbered:
    """Number the ids of columns together, each by its rank.

    Columns are of any integer types; their memory may be that of the result where no vertex is renumbered.
    """
    bounds = [_bounds(column) for column in columns if len(column)]
    if not bounds:
        return Numbered(0, None, 0, [numpy.zeros(0, numpy.uint32) for _ in columns])
    low, high = min(low for low, _ in bounds), max(high for _, high in bounds)
    span, count = high - low + 1, sum(map(len, columns))
    if _takes_a_table(span, count):
        return _far_apart(columns, low)
    base = low // 64 * 64
    words = (high - base) // (64 * BLOCK) * BLOCK + BLOCK
    bitmap = buffers.words(words).make(numpy)
    for column in columns:
        _mark(bitmap, base, column)
    before = buffers.counts(words).make(numpy)
    count_before(bitmap, before)
    distinct = int(before[-1])
    dtype = numpy.dtype(index_dtype(distinct))
    if distinct == span:
        return Numbered(distinct, None, low, [_shifted(column, low, dtype) for column in columns])
    ids = numpy.empty(distinct + 64, numpy.int64)
    members(bitmap, base, ids)
    return Numbered(
        distinct, ids[:distinct], 0, [_ranked(bitmap, before, base, column, dtype) for column in columns]
    )


def _takes_a_table(span: int, count: int) -> bool:
    return span > max(MIN_SPAN, SPARSE * count)


def _bounds(column: NDArray[Any]) -> tuple[int, int]:
    found = run_blocks(
        lambda low, high: (int(column[low:high].min()), int(column[low:high].max())), even_blocks(len(column))
    )
    return min(low for low, _ in found), max(high for _, high in found)


def _mark(bitmap: NDArray[Any], base: int, column: NDArray[Any]) -> None:
    none = numpy.empty(0, numpy.int64)  # the bitmap covers all

    def part(low: int, high: int) -> None:
        mark(bitmap, base, column[low:high].astype(numpy.int64, copy=False), none)

    run_blocks(part, _pieces(len(column)))


def _shifted(column: NDArray[Any], first: int, dtype: Any) -> NDArray[Any]:
    if not first and column.dtype.itemsize == dtype.itemsize and column.flags.c_contiguous:
        return column.view(dtype)
    out = numpy.empty(len(column), dtype)

    def part(low: int, high: int) -> None:
        if first:
            numpy.subtract(column[low:high], first, out=out[low:high], casting="unsafe", dtype=numpy.int64)
        else:
            out[low:high] = column[low:high]

    run_blocks(part, _pieces(len(column)))
    return out


def _ranked(
    bitmap: NDArray[Any], before: NDArray[Any], base: int, column: NDArray[Any], dtype: Any
) -> NDArray[Any]:
    out = numpy.empty(len(column), dtype)

    def part(low: int, high: int) -> None:
        rank(bitmap, before, base, column[low:high].astype(numpy.int64, copy=False), out[low:high])

    run_blocks(part, _pieces(len(column)))
    return out


def _far_apart(columns: Sequence[NDArray[Any]], low: int) -> Numbered:
    if low == EMPTY:
        raise ValueError(f"{EMPTY} is no vertex id: gravel marks free places with it")
    wide = [column.astype(numpy.int64, copy=False) for column in columns]
    ids, found = ranked(wide, index_dtype(sum(map(len, columns))))
    dtype = index_dtype(len(ids))
    return Numbered(len(ids), ids, 0, [each.astype(dtype, copy=False) for each in found])


def _pieces(rows: int) -> list[tuple[int, int]]:
    """Cut a column into pieces that caches hold, for threads to take one after the other."""
    step = 1 << 18
    return [(low, min(low + step, rows)) for low in range(0, rows, step)]
