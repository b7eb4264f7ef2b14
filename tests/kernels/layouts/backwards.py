"""A layout of one file: each row's neighbours from the last to the first, as plain numbers.

It shows what a layout is: a codec for each side, a reader for compiled CPU kernels, and two headers for CUDA.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy

from gravel.kernels.arrays import array_module
from gravel.kernels.jit import serial
from gravel.kernels.layouts import EncodedRows
from gravel.kernels.layouts.layout import EncodingMemory, Layout, pad
from gravel.kernels.layouts.readers import StreamRows
from gravel.kernels.layouts.registry import register, unregister
from gravel.kernels.layouts.streams import BROKEN, FITS, OUT_OF_RANGE, check_offsets, check_stream, refuse


def _reversed(offsets: Any, numbers: Any) -> Any:
    module = array_module(numbers)
    place = module.arange(len(numbers))
    row = module.searchsorted(offsets, place, side="right") - 1
    return numbers[offsets[row] + offsets[row + 1] - 1 - place]


@serial
def _count(first, last, byte_offsets, stream, degrees, bits):  # type: ignore[no-untyped-def]
    for v in range(first, last):
        size = byte_offsets[v + 1] - byte_offsets[v]
        degrees[v] = size // (bits // 8)
        if size % (bits // 8):
            return v
    return -1


@serial
def _read(first, last, first_row, byte_offsets, stream, row_offsets, columns, bits, largest):  # type: ignore[no-untyped-def]
    size = bits // 8
    for v in range(first, last):
        end = byte_offsets[v + 1]
        before = numpy.uint64(0)
        for i in range(row_offsets[v], row_offsets[v + 1]):
            end -= size
            value = numpy.uint64(0)
            for k in range(size):
                value |= numpy.uint64(stream[end + k]) << numpy.uint64(8 * k)
            if value < before:
                return v, BROKEN
            if value > largest:
                return v, OUT_OF_RANGE
            columns[i] = before = value
    return -1, FITS


class BackwardsRows(StreamRows):
    """Rows for compiled kernels."""

    layout = "backwards"
    word = numpy.uint8
    count_rows = _count
    read_rows = _read


class Codec:
    """Both sides: array operations of NumPy, or of CuPy."""

    rows = BackwardsRows

    def encode(self, row_offsets: Any, columns: Any, *, first_row: int, bound: int) -> dict[str, Any]:
        """Write rows."""
        check_offsets(row_offsets, len(columns), "row_offsets", "arcs")
        stream = _reversed(row_offsets, columns).view(numpy.uint8)
        return {"byte_offsets": row_offsets * columns.dtype.itemsize, "stream": pad(stream)}

    def decode(
        self, arrays: Mapping[str, Any], arc_count: int, dtype: Any, *, first_row: int, bound: int
    ) -> tuple[Any, Any]:
        """Read rows back."""
        width, offsets, stream = numpy.dtype(dtype).itemsize, arrays["byte_offsets"], arrays["stream"]
        check_stream(offsets, stream)
        if int(offsets[-1]) != arc_count * width or int((offsets % width).sum()):
            raise ValueError(f"the compressed graph does not hold {arc_count} arcs")
        columns = _reversed(offsets // width, stream[: int(offsets[-1])].view(dtype))
        if arc_count and int(columns.max()) >= bound:
            rows = array_module(columns).searchsorted(offsets // width, columns.argmax(), side="right")
            refuse(int(rows) - 1, OUT_OF_RANGE)
        return offsets // width, columns

    def row_offsets(self, rows: EncodedRows) -> Any:
        """Count the neighbours of each row, summed up."""
        return rows.arrays["byte_offsets"] // numpy.dtype(rows.dtype).itemsize

    def searchable(self, rows: EncodedRows) -> EncodedRows:
        """Give the rows as they are."""
        return rows


CODEC = Codec()

ROWS = """\
#include "kernels/layouts/byte_rows.cuh"

// Neighbours before `end`, from the last to the first.
struct Stretch {
    const VERTEX* end;
    u32 count;
};

__device__ __forceinline__ u64 row_units(const Rows& rows, u64 v) {
    return (row_weight(rows, v) / sizeof(VERTEX) + UNIT_ARCS - 1) / UNIT_ARCS;
}

__device__ __forceinline__ Stretch stretch_of(const Rows& rows, u64 v, u64 unit) {
    const VERTEX* end = reinterpret_cast<const VERTEX*>(rows.stream + rows.byte_offsets[v + 1]);
    u64 before = unit * UNIT_ARCS, left = row_weight(rows, v) / sizeof(VERTEX) - before;
    return Stretch{end - before, left < UNIT_ARCS ? u32(left) : UNIT_ARCS};
}

template <class Visit>
__device__ __forceinline__ bool visit_unit(const Rows& rows, u64 v, u64 unit, Visit visit) {
    Stretch stretch = stretch_of(rows, v, unit);
    for (u32 step = 0; step < stretch.count; step += WARP) {
        u32 k = step + lane_id();
        VERTEX neighbour = k < stretch.count ? *(stretch.end - 1 - k) : VERTEX(0);
        if (!visit(neighbour, k < stretch.count && u64(neighbour) < rows.bound)) return false;
    }
    return true;
}

template <class Visit>
__device__ __forceinline__ void visit_units(const Rows& rows, u64 v, u64 unit, bool active,
                                            const Visit& visit) {
    for (u32 lanes = __ballot_sync(ALL_LANES, active); lanes; lanes &= lanes - 1) {
        u32 from = __ffs(i32(lanes)) - 1;
        u64 row = __shfl_sync(ALL_LANES, v, from), part = __shfl_sync(ALL_LANES, unit, from);
        visit_unit(rows, row, part, [&](VERTEX neighbour, bool valid) {
            visit(from, neighbour, valid);
            return true;
        });
    }
}
"""

CURSOR = """\
constexpr u64 LIGHT_WEIGHT = 64;

struct Cursor {
    const VERTEX *at, *begin;
};

__device__ __forceinline__ Cursor open_row(const Rows& rows, u64 v) {
    Stretch stretch = row_weight(rows, v) ? stretch_of(rows, v, 0) : Stretch{nullptr, 0};
    return Cursor{stretch.end, stretch.end - stretch.count};
}

__device__ __forceinline__ void skip_neighbours(Cursor&, u64) {}

__device__ __forceinline__ bool next_neighbour(const Rows& rows, Cursor& cursor, VERTEX& neighbour) {
    while (cursor.at != cursor.begin) {
        VERTEX read = *--cursor.at;
        if (u64(read) < rows.bound) {
            neighbour = read;
            return true;
        }
    }
    return false;
}
"""

BACKWARDS = Layout(
    name="backwards",
    cpu=f"{__name__}:CODEC",
    cuda=f"{__name__}:CODEC",
    headers={"rows.cuh": ROWS, "cursor.cuh": CURSOR},
    memory=EncodingMemory(more_per_arc=0),
)


@contextmanager
def registered() -> Iterator[str]:
    """Have the layout within the block; yields its name."""
    register(BACKWARDS)
    try:
        yield BACKWARDS.name
    finally:
        unregister(BACKWARDS)
