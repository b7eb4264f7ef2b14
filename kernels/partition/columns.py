"""Columns as visits read them: an array, or encoded rows that are decoded where they are read.

A visit asks `values_of(columns)` for the array that it will read from, once, and for every row
`span(columns, offsets, row, values)`, which says where in that array the row's columns are: in `columns`
itself, or, of encoded rows (`kernels.bfs.rows.cpu.readers`), in a buffer that they were just decoded into.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
from numba import types
from numba.extending import overload

from kernels.bfs.rows.cpu.readers import read_row


def values_of(columns: Any) -> Any:
    """Give the array that rows are read from: `columns`, or a buffer for the longest row."""
    raise NotImplementedError  # compiled code has the overload


def span(columns: Any, offsets: Any, row: Any, values: Any) -> tuple[int, int]:
    """Give the first place of a row's columns in `values`, and one more than its last."""
    raise NotImplementedError


@overload(values_of, strict=False)
def _values_of(columns: Any) -> Callable[..., Any]:
    if not isinstance(columns, types.NamedTuple):
        return lambda columns: columns

    def buffer(columns):  # type: ignore[no-untyped-def]
        return numpy.empty(columns.longest, columns.dtype.dtype)

    return buffer


@overload(span, strict=False)
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
