"""First neighbours of columns in host memory, kept on the device; see `kept.cu`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy

from gravel.kernels.cuda import load, run_over, vertex_macro

SOURCE = "kernels/components/cuda/kept.cu"
MAX_BLOCKS = 1 << 14
MAX_KEPT = 4096
"""Neighbours of a row that are kept at most: one warp joins them, and all share the rest of the row."""


@dataclass(frozen=True)
class Kept:
    """What the device has of rows that lie elsewhere; all CuPy arrays.

    `longer` uint32 (vertices / 32, rounded up) has the rows of more neighbours than are known. `offsets`
    int64 (vertices + 1,) and `columns` are the first neighbours of each row, at most `most`; None and 0 where
    heads alone are known.
    """

    longer: Any
    offsets: Any = None
    columns: Any = None
    most: int = 0

    def arguments(self) -> tuple[Any, ...]:
        """What `KEPT_PARAMETERS` are."""
        arrays = (self.longer, self.offsets, self.columns)
        return *(numpy.uint64(0) if each is None else each for each in arrays), numpy.uint64(self.most)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(int(each.nbytes) for each in (self.longer, self.offsets, self.columns) if each is not None)


def heads_alone(vertices: int) -> Kept:
    """Keep no more than heads; `read_heads` fills in which rows are longer."""
    import cupy

    return Kept(cupy.zeros(max(1, -(-vertices // 32)), cupy.uint32))


def keep_first(row_offsets: Any, columns: Any, budget: int, *, least: int = 1) -> Kept | None:
    """Copy the first neighbours of every row to the device, as many as fit.

    Parameters
    ----------
    row_offsets : int64 (vertices + 1,) on the device.
    columns : uint32 or uint64 (arcs,), a CuPy array that may be a view of pinned host memory.
    budget : bytes that these neighbours and their offsets take at most.
    least : neighbours of a row below which none are kept.

    Returns None where fewer than `least` neighbours of every row fit.

    """
    import cupy

    vertices, dtype = len(row_offsets) - 1, columns.dtype
    count = numpy.uint64(vertices)
    module = load(SOURCE, VERTEX=vertex_macro(dtype))
    total = cupy.zeros(1, cupy.uint64)

    def run(name: str, items: int, *arguments: Any) -> None:
        run_over(module.get_function(name), items, *arguments, most=MAX_BLOCKS)

    def fits(most: int) -> bool:
        total.fill(0)
        run("count_first", vertices, row_offsets, count, numpy.uint64(most), total)
        return bool(int(total[0]) * dtype.itemsize + 8 * (vertices + 1) <= budget)

    most = most_kept(fits)
    if most < least:
        return None
    offsets = cupy.zeros(vertices + 1, cupy.int64)
    longer = cupy.zeros(max(1, -(-vertices // 32)), cupy.uint32)
    run("measure_first", vertices, row_offsets, count, numpy.uint64(most), offsets[1:], longer)
    cupy.cumsum(offsets, out=offsets)
    kept = cupy.empty(max(1, int(offsets[-1])), dtype)
    run("copy_first", 32 * vertices, row_offsets, columns, count, offsets, kept)
    return Kept(longer, offsets, kept, most)


def read_kept_heads(kept: Kept, heads: Any) -> None:
    """Fill heads (planes, vertices) with what is kept, all ones where a row has fewer."""
    planes, vertices = heads.shape
    kernel = load(SOURCE, VERTEX=vertex_macro(heads.dtype)).get_function("heads_of_first")
    arguments = kept.offsets, kept.columns, numpy.uint64(vertices), numpy.uint64(planes), heads
    run_over(kernel, vertices, *arguments, most=MAX_BLOCKS)


def most_kept(fits: Callable[[int], bool]) -> int:
    """Find how many neighbours of each row fit, at most `MAX_KEPT`; 0 where not even one does."""
    low, high = 0, MAX_KEPT
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low
