"""Rows as compiled CPU kernels read them: an array of columns, or encoded rows decoded where they are read.

A kernel asks `values_of(columns)` once for an array, and `span(columns, offsets, row, values)` for the places
in it where a row's neighbours are. Of columns that is the array itself; encoded rows
(`gravel.kernels.layouts.readers`) are decoded into a buffer one by one. `offsets` say where rows begin: among
columns, or in bytes of a stream. A place is best read as `values[numpy.uint64(place)]`: unsigned, it is not
compared with 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy
from numba.extending import overload

from gravel.kernels.generated import class_of

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows

_ONE = numpy.uint64(1)


def readable(rows: EncodedRows) -> tuple[Any, Any]:
    """Bring rows into the form that kernels read: where each begins, and columns or what stands for them.

    Raises ValueError for encoded rows whose offsets do not ascend within the stream or that end too early.
    """
    if rows.layout == "csr":
        return rows.arrays["row_offsets"], rows.arrays["column_indices"]
    # Imported here, since whoever reads columns alone needs no decoder.
    from gravel.kernels.layouts import readers

    return rows.arrays["byte_offsets"], readers.readable(rows)


def values_of(columns: Any) -> Any:
    """Give the array that spans name places of: the columns, or a buffer for the longest of encoded rows."""
    return _values_of(columns)(columns)


def span(columns: Any, offsets: Any, row: Any, values: Any) -> tuple[int, int]:
    """Give the first place of a row's columns, and one more than its last."""
    begin, end = _span(columns, offsets, row, values)(columns, offsets, row, values)
    return begin, end


def span_between(
    columns: Any, offsets: Any, row: Any, values: Any, begin: int, first: int, last: int
) -> tuple[int, int]:
    """Give the span of what a row that begins at weight `begin` has from weight `first` to below `last`.

    Weights are those of the rows that are read, one behind the other: arcs of an array, which may be cut
    within a row, or bytes of encoded rows, of which each belongs to where its first byte is.
    """
    given = columns, offsets, row, values, begin, first, last
    low, high = _span_between(*given)(*given)
    return low, high


@overload(values_of, strict=False)
def _values_of(columns: Any) -> Callable[..., Any]:
    if not class_of(columns):
        return lambda columns: columns

    def buffer(columns):  # type: ignore[no-untyped-def]
        return numpy.empty(columns.longest, columns.dtype.dtype)

    return buffer


@overload(span, strict=False)
def _span(columns: Any, offsets: Any, row: Any, values: Any) -> Callable[..., Any]:
    if not class_of(columns):

        def plain(columns, offsets, row, values):  # type: ignore[no-untyped-def]
            place = numpy.uint64(row)
            return numpy.int64(offsets[place]), numpy.int64(offsets[place + _ONE])

        return plain
    # Imported here, since whoever reads columns alone needs no decoder.
    from gravel.kernels.layouts.readers import read_row

    def decoded(columns, offsets, row, values):  # type: ignore[no-untyped-def]
        return numpy.int64(0), numpy.int64(read_row(columns, row, values))

    return decoded


@overload(span_between, strict=False)
def _span_between(
    columns: Any, offsets: Any, row: Any, values: Any, begin: Any, first: Any, last: Any
) -> Callable[..., Any]:
    if not class_of(columns):

        def plain(columns, offsets, row, values, begin, first, last):  # type: ignore[no-untyped-def]
            place = numpy.uint64(row)
            low, high = numpy.int64(offsets[place]), numpy.int64(offsets[place + _ONE])
            return low + max(0, first - begin), min(high, low + (last - begin))

        return plain

    def decoded(columns, offsets, row, values, begin, first, last):  # type: ignore[no-untyped-def]
        if begin < first:
            return numpy.int64(0), numpy.int64(0)
        return span(columns, offsets, row, values)

    return decoded
