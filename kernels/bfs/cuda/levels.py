"""Labels of a search on the device: taken out of its workspace, and counted; see `kernels/bfs/levels.cu`.

CuPy has both, and compiles four kernels of its own for them, which took 4 s on an H100.
"""

from __future__ import annotations

from typing import Any

from gravel.kernels.cuda import blocks_for, load

SOURCE = "kernels/bfs/levels.cu"
BLOCK = 256
MOST_BLOCKS = 1 << 11
ROOM = 1024
"""Levels that are counted at first, at least as many as `NEAR` in the kernel; of a deeper search all are."""


def taken(labels: Any) -> Any:
    """Copy labels, int32 (vertices,) of any stride, or contiguous ones of any type."""
    import cupy
    import numpy

    if labels.flags.c_contiguous or labels.dtype != numpy.int32:
        return labels.copy()
    out = cupy.empty(len(labels), labels.dtype)
    address, stride = numpy.uint64(labels.data.ptr), numpy.int64(labels.strides[0] // labels.itemsize)
    _run("take", len(labels), address, stride, numpy.uint64(len(labels)), out)
    return out


def level_sizes(distance: Any, *, room: int = ROOM) -> list[int]:
    """Count the vertices at each distance; see `gravel.kernels.bfs.levels.level_sizes`."""
    import cupy
    import numpy

    counts = cupy.zeros(room + 1, cupy.uint64)
    _run("count_levels", len(distance), distance, numpy.uint64(len(distance)), numpy.uint64(room), counts)
    *found, levels = counts.get().tolist()
    return found[:levels] if levels <= room else level_sizes(distance, room=levels)


def _run(name: str, items: int, *arguments: Any) -> None:
    grid = (blocks_for(items, BLOCK, most=MOST_BLOCKS),)
    load(SOURCE).get_function(name)(grid, (BLOCK,), arguments)
