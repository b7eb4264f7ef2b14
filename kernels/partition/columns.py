"""Columns as visits read them: an array, or encoded rows that are decoded where they are read.

A visit asks `values_of(columns)` once for a buffer, `span(columns, offsets, row, values)` for every row, and
`column(columns, values, place)` for every place in the span. Of an array there is no buffer, and places are
those of its rows; encoded rows (`gravel.kernels.layouts.readers`) are decoded into the buffer one by
one. The three are inlined before anything is compiled: where columns are an array, visits cost what they did
without.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
from numba import types
from numba.extending import overload

from gravel.kernels.layouts.readers import read_row


def values_of(columns: Any) -> Any:
    """Give a buffer for the longest of encoded rows, None of an array."""
    raise NotImplementedError  # compiled code has the overload


def span(columns: Any, offsets: Any, row: Any, values: Any) -> tuple[int, int]:
    """Give the first place of a row's columns, and one more than its last."""
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
            return numpy.int64(offsets[row]), numpy.int64(offsets[row + 1])

        return plain

    def decoded(columns, offsets, row, values):  # type: ignore[no-untyped-def]
        if offsets[row] == offsets[row + 1]:
            return numpy.int64(0), numpy.int64(0)
        return numpy.int64(0), numpy.int64(read_row(columns, row, values))

    return decoded


@overload(column, strict=False, inline="always")
def _column(columns: Any, values: Any, place: Any) -> Callable[..., Any]:
    if not isinstance(columns, types.NamedTuple):
        return lambda columns, values, place: columns[place]
    return lambda columns, values, place: values[place]
