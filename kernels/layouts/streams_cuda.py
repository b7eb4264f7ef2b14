"""What the layouts of bit strings share on the GPU: dealing units to warps, reading rows, refusing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy

from gravel.kernels.cuda import blocks_for, load, run_over, vertex_macro
from gravel.kernels.layouts import EncodedRows
from gravel.kernels.layouts.streams import (
    OUT_OF_RANGE,
    check_offsets,
    check_stream,
    largest_vertex,
    offsets_of,
    refuse,
    refuse_input,
    vertex_dtype,
)

READ = "kernels/layouts/read.cu"
UNIT_ARCS = 256
"""Neighbours of a unit, as in the layouts' headers."""

MAX_BLOCKS = 1 << 14
BLOCK = 256

_NONE = (1 << 64) - 1


def grid(rows: int, arcs: int) -> tuple[tuple[int], tuple[int]]:
    """Launch with a warp for each row and for each unit of a longer one."""
    return (blocks_for((rows + arcs // UNIT_ARCS) * 32, BLOCK, most=MAX_BLOCKS),), (BLOCK,)


def grid_of_groups(rows: int, arcs: int) -> tuple[tuple[int], tuple[int]]:
    """Launch with a warp for each 32 rows and for each 32 units of longer ones."""
    groups = -(-rows // 32) + -(-arcs // (32 * UNIT_ARCS))
    return (blocks_for(groups * 32, BLOCK, most=MAX_BLOCKS),), (BLOCK,)


def distributed(row_offsets: Any) -> tuple[Any, ...]:
    """Kernel arguments DEAL_PARAMETERS."""
    import cupy

    degrees = row_offsets[1:] - row_offsets[:-1]
    long_rows = cupy.flatnonzero(degrees > UNIT_ARCS)
    units = offsets_of((degrees[long_rows] + (UNIT_ARCS - 1)) // UNIT_ARCS)
    return row_offsets, numpy.uint64(len(degrees)), long_rows, units, numpy.uint64(len(long_rows))


def no_faults() -> Any:
    """Start value of a kernel's `faults`."""
    import cupy

    return cupy.full(1, numpy.uint64(_NONE))


def find_fault(faults: Any) -> tuple[int, int] | None:
    """Give the first row that a kernel refused, and why, or None."""
    found = int(faults[0])
    return None if found == _NONE else (found >> 2, found & 3)


def refuse_found(faults: Any) -> None:
    """Raise ValueError for a row that could not be decoded."""
    if fault := find_fault(faults):
        refuse(*fault)


def refuse_found_input(faults: Any) -> None:
    """Raise ValueError for a row that could not be encoded."""
    if fault := find_fault(faults):
        refuse_input(*fault)


def count_rows(layout: str, arrays: Mapping[str, Any], dtype: Any, first_row: int) -> Any:
    """Count the neighbours of each row without decoding it, summed up: int64 (rows + 1,).

    Raises ValueError for offsets that do not ascend within the stream.
    """
    import cupy

    byte_offsets, stream = arrays["byte_offsets"], arrays["stream"]
    check_stream(byte_offsets, stream)
    rows = len(byte_offsets) - 1
    degrees = cupy.empty(rows, cupy.int64)
    if rows:
        # The kernel compares neighbours itself, to tell which rows are damaged and which go beyond the graph.
        module = load(READ, LAYOUT=layout, VERTEX=vertex_macro(vertex_dtype(dtype)))
        numbers = (numpy.uint64(number) for number in (_NONE, rows, first_row))
        arguments = byte_offsets, stream, *numbers, degrees
        run_over(module.get_function("read_degrees"), rows, *arguments, most=MAX_BLOCKS)
    return offsets_of(degrees)


def read_rows(
    layout: str, arrays: Mapping[str, Any], arc_count: int, dtype: Any, first_row: int, bound: int
) -> tuple[Any, Any]:
    """Read rows back; see `gravel.kernels.layouts.decode`."""
    dtype = vertex_dtype(dtype)
    row_offsets = count_rows(layout, arrays, dtype, first_row)
    rows = len(row_offsets) - 1
    parameters = arrays["byte_offsets"], arrays["stream"], numpy.uint64(_NONE)

    def read(columns: Any, largest: Any) -> None:
        module = load(READ, LAYOUT=layout, VERTEX=vertex_macro(dtype))
        faults, shares = no_faults(), distributed(row_offsets)
        module.get_function("read_rows")(
            *grid_of_groups(rows, arc_count),
            (*parameters, *shares, numpy.uint64(first_row), largest, columns, faults),
        )
        refuse_found(faults)
        module.get_function("check_seams")(*grid(rows, arc_count), (*shares, columns, faults))
        refuse_found(faults)

    return row_offsets, filled_columns(row_offsets, arc_count, dtype, bound, read)


def filled_columns(
    row_offsets: Any, arc_count: int, dtype: Any, bound: int, read: Callable[[Any, Any], None]
) -> Any:
    """Allocate the columns of rows that were counted, and have them read: `read(columns, largest vertex)`.

    Raises ValueError where there are not `arc_count`, or any where no vertex is below `bound`.
    """
    import cupy

    if int(row_offsets[-1]) != arc_count:
        raise ValueError(
            f"the compressed graph holds {int(row_offsets[-1])} arcs; it should hold {arc_count}"
        )
    columns = cupy.empty(arc_count, dtype)
    if arc_count and bound < 1:
        refuse(int(cupy.flatnonzero(cupy.diff(row_offsets))[0]), OUT_OF_RANGE)
    if arc_count:
        read(columns, largest_vertex(bound, columns.dtype))
    return columns


@dataclass(frozen=True)
class Codec:
    """A layout of bit strings; `kernel` is the file that writes it.

    `write(module, dealt, row_offsets, columns, first_row, bound)` returns byte offsets and the stream of rows
    of which at least one has neighbours.
    """

    layout: str
    kernel: str
    write: Callable[..., tuple[Any, Any]]

    def encode(self, row_offsets: Any, columns: Any, *, first_row: int, bound: int) -> dict[str, Any]:
        """Write rows; see `gravel.kernels.layouts.encode`."""
        import cupy

        module = load(self.kernel, VERTEX=vertex_macro(columns.dtype))
        check_offsets(row_offsets, len(columns), "row_offsets", "arcs")
        if not len(columns):
            none = cupy.zeros(len(row_offsets), cupy.int64), cupy.zeros(0, cupy.uint8)
            return dict(zip(("byte_offsets", "stream"), none, strict=True))
        offsets, stream = self.write(module, distributed(row_offsets), row_offsets, columns, first_row, bound)
        return {"byte_offsets": offsets, "stream": stream}

    def decode(
        self, arrays: Mapping[str, Any], arc_count: int, dtype: Any, *, first_row: int, bound: int
    ) -> tuple[Any, Any]:
        """Read rows back; see `gravel.kernels.layouts.decode`."""
        return read_rows(self.layout, arrays, arc_count, dtype, first_row, bound)

    def row_offsets(self, rows: EncodedRows) -> Any:
        """Count the neighbours of each row, summed up."""
        return count_rows(rows.layout, rows.arrays, rows.dtype, rows.first_row)

    def searchable(self, rows: EncodedRows) -> EncodedRows:
        """Give the rows as they are: each says itself where its units begin."""
        return rows
