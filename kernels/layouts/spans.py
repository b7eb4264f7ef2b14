"""Rows as compiled CPU kernels read them: an array of columns, or encoded rows decoded where they are read.

A kernel asks `values_of(columns)` once for a buffer, `span(columns, offsets, row, values)` for every row, and
`column(columns, values, place)` for every place in the span. Of an array there is no buffer, and places are
those of its rows; encoded rows (`gravel.kernels.layouts.readers`) are decoded into the buffer one by one.
`offsets` say where rows begin: in an array of columns, or in bytes of a stream. All are inlined before
anything is compiled: where columns are an array, kernels cost what they did without.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy
from numba import types
from numba.extending import overload

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
    """Give a buffer for the longest of encoded rows, None of an array."""
    raise NotImplementedError  # compiled code has the overload


def span(columns: Any, offsets: Any, row: Any, values: Any) -> tuple[int, int]:
    """Give the first place of a row's columns, and one more than its last."""
    raise NotImplementedError


def span_between(
    columns: Any, offsets: Any, row: Any, values: Any, begin: int, first: int, last: int
) -> tuple[int, int]:
    """Give the span of what a row that begins at weight `begin` has from weight `first` to below `last`.

    Weights are those of the rows that are read, one behind the other: arcs of an array, which may be cut
    within a row, or bytes of encoded rows, of which each belongs to where its first byte is.
    """
    raise NotImplementedError


def column(columns: Any, values: Any, place: int) -> int:
    """Read one column of a row that `span` has told of."""
    raise NotImplementedError


@overload(values_of, strict=False, inline="always")
def _values_of(columns: Any) -> Callable[..., Any]:
    if not isinstance(columns, types.NamedTuple):
        return lambda columns: None

    def buffer(columns):  # type: ignore[no-untyped-def]
        return numpy.empty(columns.longest, columns.dtype.dtype)

    return buffer


@overload(span, strict=False, inline="always")
def _span(columns: Any, offsets: Any, row: Any, values: Any) -> Callable[..., Any]:
    if not isinstance(columns, types.NamedTuple):

        def plain(columns, offsets, row, values):  # type: ignore[no-untyped-def]
            place = numpy.uint64(row)
            return numpy.int64(offsets[place]), numpy.int64(offsets[place + _ONE])

        return plain
    # Imported here, since whoever reads columns alone needs no decoder.
    from gravel.kernels.layouts.readers import read_row

    def decoded(columns, offsets, row, values):  # type: ignore[no-untyped-def]
        place = numpy.uint64(row)
        if offsets[place] == offsets[place + _ONE]:
            return numpy.int64(0), numpy.int64(0)
        return numpy.int64(0), numpy.int64(read_row(columns, row, values))

    return decoded


@overload(span_between, strict=False, inline="always")
def _span_between(
    columns: Any, offsets: Any, row: Any, values: Any, begin: Any, first: Any, last: Any
) -> Callable[..., Any]:
    if not isinstance(columns, types.NamedTuple):

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


@overload(column, strict=False, inline="always")
def _column(columns: Any, values: Any, place: Any) -> Callable[..., Any]:
    # An unsigned place is not looked at for being negative.
    if not isinstance(columns, types.NamedTuple):
        return lambda columns, values, place: columns[numpy.uint64(place)]
    return lambda columns, values, place: values[numpy.uint64(place)]
