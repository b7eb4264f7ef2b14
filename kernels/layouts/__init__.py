"""Layouts of rows: how neighbour lists are stored, and how they are read back on the CPU and in kernels.

| layout | rows are | arrays |
|---|---|---|
| `csr` | columns | `row_offsets` int64 (rows + 1,), `column_indices` (arcs,) |
| `varint` | gaps as LEB128 bytes | `byte_offsets` int64 (rows + 1,), `stream` uint8 |
| `blocks` | blocks of gaps for warps | the same |
| `elias_fano` | Elias-Fano sequences | the same |

Each has a folder here, with its format, its codecs and its readers; `gravel.kernels.layouts.registry` lists
them, and `gravel.kernels.layouts.layout` is what each says of itself. Row v of a stream is
`stream[byte_offsets[v]:byte_offsets[v + 1]]`. After the last row stand zero bytes up to a multiple of
`ALIGNMENT`, so that a kernel may load whole aligned words; `varint` may have an array `checkpoints` besides.

On the device, `kernels/layouts/rows.cuh` includes the header of the layout that the macro LAYOUT names;
a kernel takes `ROWS_PARAMETERS`, for which `device_rows` gives the arguments.
"""

from __future__ import annotations

from typing import Any

from gravel.kernels.arrays import backend_of
from gravel.kernels.layouts.layout import ALIGNMENT, EncodedRows, columns_as_rows, side_of
from gravel.kernels.layouts.registry import layout_of, layouts

__all__ = [
    "ALIGNMENT",
    "LAYOUTS",
    "EncodedRows",
    "columns_as_rows",
    "decode",
    "device_rows",
    "encode",
    "side_of",
]

LAYOUTS = tuple(layouts())
"""Those that come with gravel."""


def _codec(layout: str, array: Any) -> Any:
    """Import what encodes and decodes a layout where this array lies."""
    return layout_of(layout).codec(backend_of(array))


def encode(
    layout: str, row_offsets: Any, column_indices: Any, *, first_row: int = 0, bound: int | None = None
) -> EncodedRows:
    """Write rows in a layout, on the side where the arrays lie.

    Parameters
    ----------
    layout : the name of a layout.
    row_offsets : int64 (rows + 1,) from 0 to the number of arcs, NumPy or CuPy.
    column_indices : uint32 or uint64 (arcs,) on the same side, each row ascending.
    first_row : the first row's number, where these are some rows of a larger graph. Rows that are encoded a
        range at a time have the bytes that they have when encoded at once.
    bound : neighbours are below it, as a rule; by default the number of rows behind the last one.

    Raises ValueError, naming the first row, when a row does not ascend (not for `csr`, which keeps rows as
    they are), and when the offsets do not fit the columns.

    """
    rows = len(row_offsets) - 1
    arrays: dict[str, Any] = _codec(layout, column_indices).encode(
        row_offsets,
        column_indices,
        first_row=first_row,
        bound=max(0, first_row + rows) if bound is None else bound,
    )
    return EncodedRows(layout, rows, len(column_indices), column_indices.dtype, arrays, first_row)


def decode(
    rows: EncodedRows, *, arc_count: int | None = None, dtype: Any = None, bound: int | None = None
) -> tuple[Any, Any]:
    """Read rows back on the side where their arrays lie; safe on any bytes.

    Parameters
    ----------
    rows : what `encode` gave, or arrays that claim to be that.
    arc_count, dtype : those that `rows` states by default.
    bound : every neighbour is below this; by default the number of rows behind the last one.

    Returns `row_offsets` int64 (rows + 1,) and `column_indices`. Raises ValueError when the arrays are no
    rows of this layout, name a neighbour not below `bound`, or do not hold `arc_count` neighbours.

    """
    decoded: tuple[Any, Any] = _codec(rows.layout, next(iter(rows.arrays.values()))).decode(
        rows.arrays,
        rows.arc_count if arc_count is None else arc_count,
        rows.dtype if dtype is None else dtype,
        first_row=rows.first_row,
        bound=rows.first_row + rows.vertex_count if bound is None else bound,
    )
    return decoded


def device_rows(rows: EncodedRows, *, bound: int | None = None) -> tuple[Any, ...]:
    """Kernel arguments for the layout's `ROWS_PARAMETERS`; the caller keeps the arrays alive.

    The arrays are CuPy's, or NumPy arrays over memory that the device can read (pinned and mapped).
    `bound` is as in `decode`: a kernel sees no neighbour that is not below it.
    """
    import numpy

    most = rows.first_row + rows.vertex_count if bound is None else bound
    limit = numpy.uint64(max(0, min(most, int(numpy.iinfo(rows.dtype).max) + 1, (1 << 64) - 1)))
    return (*(_address(rows.arrays.get(name)) for name in layout_of(rows.layout).arrays), limit)


def _address(array: Any) -> Any:
    import numpy

    if array is None:
        return numpy.uint64(0)
    return array if backend_of(array) == "cuda" else numpy.uint64(array.ctypes.data)
