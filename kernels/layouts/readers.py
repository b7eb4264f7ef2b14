"""Rows of each layout as compiled kernels take them, and how one is decoded into a buffer.

`read_row(rows, v, buffer)` decodes row v, ascending, and returns how many neighbours it has; those of a row
that turns out to be damaged are none. `buffer` has room for `rows.longest`. `count_row(rows, v)` counts them
without decoding the row, and is -1 for one that ends too early. `stream` may be a part of the whole one, that
from byte `base` on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy
from numba.extending import overload
from numpy.typing import NDArray

from gravel.kernels.generated import class_of
from gravel.kernels.jit import serial
from gravel.kernels.layouts.registry import layout_of
from gravel.kernels.layouts.streams import check_offsets, check_stream, count_rows, largest_vertex

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows


class _Rows(NamedTuple):
    byte_offsets: Any
    stream: Any  # of the class's words
    dtype: Any  # an empty array of the neighbours' type
    longest: int
    largest: Any  # neighbour that there may be, uint64
    base: int = 0  # byte that the stream begins with


class StreamRows(_Rows):
    """Rows of a layout, each of which has a class of its own beside its compiled functions.

    `count_rows(first, last, byte_offsets, stream, degrees, bits)` stores the neighbours of each row, whose
    vertices have so many bits, and returns the first row that ends too early, or -1. `read_rows(first, last,
    first_row, byte_offsets, stream, row_offsets, columns, bits, largest)` decodes rows that were counted, and
    returns the first that is damaged and why, or -1 and anything. A class may decode a single row by
    `read_one(rows, v, buffer)` instead, as `read_row` does.
    """

    layout: ClassVar[str]
    word: ClassVar[Any] = numpy.uint32  # of bit strings; of bytes uint8
    count_rows: ClassVar[Any]
    read_rows: ClassVar[Any] = None
    read_one: ClassVar[Any] = None


def columns_of(rows: EncodedRows) -> tuple[NDArray[Any], NDArray[Any]]:
    """Offsets and columns of rows in the layout `csr`; raises ValueError for offsets that do not ascend."""
    offsets, columns = rows.arrays["row_offsets"], rows.arrays["column_indices"]
    check_offsets(offsets, len(columns), "row_offsets", "arcs")
    return offsets, columns


def rows_class(layout: str) -> Any:
    """Return the class of a layout's rows; None of columns."""
    return layout_of(layout).codec("cpu").rows


def readable(rows: EncodedRows) -> Any:
    """Bring encoded rows into the form that `read_row` takes.

    Raises ValueError for offsets that do not ascend within the stream, and for a row that ends too early.
    """
    offsets, stream, degrees = _counted(rows)
    dtype = numpy.dtype(rows.dtype)
    longest = int(degrees.max(initial=0))
    largest = largest_vertex(max(rows.vertex_count, 1), dtype)
    return rows_class(rows.layout)(offsets, stream, numpy.empty(0, dtype), longest, largest)


def count_neighbours(rows: EncodedRows) -> NDArray[Any]:
    """Count the neighbours of each row without decoding them, summed up: int64 (rows + 1,).

    Rows lie in NumPy arrays. Raises ValueError as `readable` and `columns_of` do.
    """
    if rows.layout == "csr":
        return columns_of(rows)[0]
    found = numpy.zeros(rows.vertex_count + 1, numpy.int64)
    numpy.cumsum(_counted(rows)[2], out=found[1:])
    return found


def _counted(rows: EncodedRows) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Check encoded rows; their offsets, their stream as `read_row` takes it, and neighbours of each row."""
    offsets, stream = rows.arrays["byte_offsets"], numpy.ascontiguousarray(rows.arrays["stream"])
    check_stream(offsets, stream)
    kind = rows_class(rows.layout)
    stream = stream.view(kind.word)
    return offsets, stream, count_rows(kind, offsets, stream, rows.dtype)


@serial
def _place(rows: Any, v: Any) -> Any:
    """Where row v lies in the stream: two offsets."""
    offsets = numpy.empty(2, numpy.int64)
    offsets[0], offsets[1] = rows.byte_offsets[v] - rows.base, rows.byte_offsets[v + 1] - rows.base
    return offsets


def read_row(rows: Any, v: Any, buffer: Any) -> int:
    """Decode row v into the buffer and return how many neighbours it has."""
    return int(_read_row(rows, v, buffer)(rows, v, buffer))


@overload(read_row, strict=False)
def _read_row(rows: Any, v: Any, buffer: Any) -> Callable[..., Any] | None:
    kind: Any = class_of(rows)
    if kind is None:
        return None
    count, read, one = kind.count_rows, kind.read_rows, kind.read_one

    def run_one(rows, v, buffer):  # type: ignore[no-untyped-def]
        return one(rows, numpy.int64(v), buffer)

    def run(rows, v, buffer):  # type: ignore[no-untyped-def]
        ends = numpy.zeros(2, numpy.int64)
        row, bits = numpy.int64(v), 8 * buffer.itemsize
        offsets = _place(rows, row)
        count(0, 1, offsets, rows.stream, ends[1:], bits)
        bad, _ = read(0, 1, row, offsets, rows.stream, ends, buffer, bits, rows.largest)
        return 0 if bad >= 0 else ends[1]

    return run if one is None else run_one


def count_row(rows: Any, v: Any) -> int:
    """Count the neighbours of row v, or return -1 if it ends too early."""
    return int(_count_row(rows, v)(rows, v))


@overload(count_row, strict=False)
def _count_row(rows: Any, v: Any) -> Callable[..., Any] | None:
    kind: Any = class_of(rows)
    if kind is None:
        return None
    count = kind.count_rows

    def run(rows, v):  # type: ignore[no-untyped-def]
        found = numpy.zeros(1, numpy.int64)
        bad = count(0, 1, _place(rows, numpy.int64(v)), rows.stream, found, 8 * rows.dtype.itemsize)
        return -1 if bad >= 0 else found[0]

    return run
