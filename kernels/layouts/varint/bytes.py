"""Delta-varint rows (Moschou, section 2.1): neighbour lists as strings of bytes.

A row's neighbours ascend. The first is written as it is, each further one as its gap to the one before, so
a repeated neighbour is a gap of 0. A number is cut into groups of 7 bits, the lowest first; every byte but
a number's last has its top bit set (LEB128). Row v is `stream[byte_offsets[v]:byte_offsets[v + 1]]`; the
number of its neighbours is the number of its bytes without the top bit.

A number takes at most 5 bytes for uint32 and 10 for uint64. Needless leading groups of zero are read, and
never written.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from gravel.kernels.layouts.alignment import ALIGNMENT
from gravel.kernels.strategy import backend_of

__all__ = ["decode", "encode", "encoded_size", "unpad"]


def _twin(array: Any) -> ModuleType:
    return importlib.import_module(f"gravel.kernels.layouts.varint.{backend_of(array)}")


def encode(row_offsets: Any, column_indices: Any, *, alignment: int = 1) -> tuple[Any, Any]:
    """Write rows as bytes.

    Parameters
    ----------
    row_offsets : int64 (rows + 1,) from 0 to the number of arcs, NumPy or CuPy.
    column_indices : uint32 or uint64 (arcs,) on the same side, each row ascending.
    alignment : zero bytes after the last row make the stream as long as a multiple of it.

    Returns `byte_offsets` int64 (rows + 1,) and `stream` uint8 (bytes,) on that side. Raises ValueError,
    naming the first row, when a row does not ascend.

    """
    twin = _twin(column_indices)
    encoded: tuple[Any, Any] = twin.encode(row_offsets, column_indices, alignment=alignment)
    return encoded


def decode(
    byte_offsets: Any, stream: Any, arc_count: int, dtype: Any, *, bound: int | None = None
) -> tuple[Any, Any]:
    """Read rows back; safe on any bytes.

    Parameters
    ----------
    byte_offsets : int64 (rows + 1,), NumPy or CuPy.
    stream : uint8 (bytes,) on the same side.
    arc_count : how many neighbours there must be in all.
    dtype : of the result's columns, uint32 or uint64.
    bound : every neighbour is below this; the number of rows by default.

    Returns `row_offsets` int64 (rows + 1,) and `column_indices`. Raises ValueError when the offsets do not
    ascend from 0 to the length of the stream, a row ends within a number, a number is too long or too
    large, a neighbour is not below `bound`, or there are not `arc_count` of them.

    """
    decoded: tuple[Any, Any] = _twin(stream).decode(byte_offsets, stream, arc_count, dtype, bound=bound)
    return decoded


def encoded_size(row_offsets: Any, column_indices: Any) -> int:
    """Count the bytes that `encode` would write; the same arguments and errors."""
    return int(_twin(column_indices).encoded_size(row_offsets, column_indices))


def unpad(byte_offsets: Any, stream: Any) -> Any:
    """Take the zero bytes off again; raises ValueError when there is something else after the last row."""
    end = int(byte_offsets[-1]) if len(byte_offsets) else 0
    fits = 0 <= end <= len(stream) < end + ALIGNMENT
    # CuPy compiles its first `any` of a process for 12 s; a maximum comes compiled.
    if not fits or (end < len(stream) and int(stream[end:].max())):
        raise ValueError(f"byte_offsets end at {end}; the stream has {len(stream)} bytes")
    return stream[:end]
