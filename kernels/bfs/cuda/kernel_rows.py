"""Rows as kernels with a row source (`sources/rows.cuh`) read them: columns, or encoded rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gravel.kernels.cuda import load, resident_blocks, run_over, vertex_macro
from gravel.kernels.layouts import device_rows
from gravel.kernels.layouts.counting import row_offsets
from gravel.kernels.layouts.registry import layout_of
from gravel.kernels.layouts.units import with_units

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows

MEASURE = "kernels/bfs/cuda/measure_rows.cu"
LISTED_BEFORE = 64  # neighbours that a warp lists beside those of a unit: sources/decoded.cuh


@dataclass(frozen=True)
class Measured:
    """Sums over all rows: queue entries, weight, and rows of more than one entry.

    `last` is one more than the last vertex that has arcs, and `linked` how many vertices have.
    """

    entries: int
    weight: int
    hubs: int
    last: int
    linked: int


class Columns:
    """Columns, and the macros and arguments by which a kernel reads them."""

    def __init__(self, row_offsets: Any, column_indices: Any) -> None:
        import cupy

        columns = cupy.ascontiguousarray(column_indices)
        self.dtype = columns.dtype
        self.vertices, self.arcs = len(row_offsets) - 1, len(columns)
        self.macros = {"LAYOUT": "csr", "VERTEX": vertex_macro(self.dtype)}
        self.arguments = cupy.ascontiguousarray(row_offsets), columns

    def lists(self, block: int) -> int:
        """Bytes of shared memory for decoded neighbours, of which there are none."""
        return 0


class DecodedRows:
    """Encoded rows, whose arrays lie wherever the device can read; long ones are `cut` into units.

    `macros` and `arguments` are those by which a kernel reads them; `added` counts the bytes of the device,
    beside the rows, that say where units begin.
    """

    def __init__(self, rows: EncodedRows, *, cut: bool = True) -> None:
        import numpy

        self.dtype = numpy.dtype(rows.dtype)
        self._rows = with_units(rows, cut=cut)  # which keeps the arrays alive
        self.vertices, self.arcs = rows.vertex_count, rows.arc_count
        self.macros = {"LAYOUT": rows.layout, "VERTEX": vertex_macro(self.dtype)}
        self.added = self._rows.nbytes - rows.nbytes
        self._listed = layout_of(rows.layout).unit_arcs + LISTED_BEFORE
        self.arguments = device_rows(self._rows)

    def count(self) -> Any:
        """Count the neighbours of each row, summed up: CuPy int64 (vertices + 1,)."""
        return row_offsets(self._rows)

    def lists(self, block: int) -> int:
        """Bytes of shared memory for a block's decoded neighbours: `sources/decoded.cuh`."""
        return block // 32 * self._listed * (int(self.dtype.itemsize) + 1)

    def measure(self) -> Measured:
        """Sum up rows."""
        import cupy

        places = -(-max(self.vertices, 1) // 32) * 32
        return self._measure(places, 0, None, None, cupy.empty(places // 32, cupy.uint32))

    def _measure(self, places: int, planes: int, first: Any, behind: Any, closed: Any) -> Measured:
        """Sum up rows; fill in first neighbours, unless None, and mark in `closed` vertices without arcs."""
        import cupy
        import numpy

        kernel = load(MEASURE, **self.macros).get_function("measure_rows")
        totals = cupy.zeros(5, cupy.uint64)
        sizes = (numpy.uint64(number) for number in (self.vertices, places, planes))
        kept = (numpy.uint64(0),) * 2 if first is None else (first, behind)
        most = resident_blocks(kernel, 256)
        run_over(kernel, places, *self.arguments, *sizes, *kept, closed, totals, most=most)
        return Measured(*(int(total) for total in totals.get()))


def kernel_rows(rows: EncodedRows) -> Columns | DecodedRows:
    """Bring rows of any layout into the form that kernels take."""
    if rows.layout != "csr":
        return DecodedRows(rows)
    return Columns(rows.arrays["row_offsets"], rows.arrays["column_indices"])
