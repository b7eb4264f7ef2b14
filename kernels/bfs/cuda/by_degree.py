"""First neighbours by degree, for bottom-up levels of graphs with hubs; see `by_degree.cu`."""

from __future__ import annotations

from typing import Any

from gravel.kernels.cuda import load, run_over, vertex_macro

SOURCE = "kernels/bfs/cuda/by_degree.cu"
CLASSES = 256  # of degrees, as in by_degree.cu

PLANES_BY_DEGREE = 1
"""Planes of neighbours made unasked: on an H200, Kronecker graphs of scale 22, 24 and 26 take 3 to 6 % less
time with one than without, and within 1 % of that with two."""

SHARE, SKEWED = 64, 4
"""A graph has hubs if this part of its vertices has so many times its share of the arcs: Kronecker and social
graphs do, lattices, roads and uniform graphs do not."""


def degree_classes(row_offsets: Any) -> Any | None:
    """Return the class of every vertex's degree, or None where the graph has no hubs.

    Parameters
    ----------
    row_offsets : int64 (vertices + 1,) on the device.

    Returns
    -------
    uint8 (vertices,) on the device, ascending with the degree in steps of an eighth of a power of two.

    """
    import cupy
    import numpy

    vertices = len(row_offsets) - 1
    classes = cupy.empty(vertices, cupy.uint8)
    counts = cupy.zeros((2, CLASSES), cupy.uint64)
    kernel = load(SOURCE, VERTEX="u32").get_function("classify")
    run_over(kernel, vertices, row_offsets, numpy.uint64(vertices), classes, counts, most=1024)
    # Of each class and those above it.
    count, arcs = (numpy.cumsum(each[::-1])[::-1] for each in counts.get().astype(numpy.int64))
    highest = numpy.flatnonzero((count > 0) & (count <= vertices // SHARE))
    if not len(highest):
        return None
    least = highest[0]
    return classes if arcs[least] * vertices >= SKEWED * count[least] * arcs[0] else None


def choose_by_degree(
    row_offsets: Any,
    column_indices: Any,
    classes: Any,
    first_neighbours: Any,
    behind: Any,
    closed: Any,
    *,
    planes: int,
) -> None:
    """Fill what a search keeps of each row with neighbours of high degree.

    Parameters
    ----------
    row_offsets, column_indices : the rows, on the device.
    classes : as `degree_classes` returns them.
    first_neighbours, behind : two neighbours of each vertex, and `planes` times eight more.
    closed : uint32 (words,), bits of the vertices without arcs.
    planes : at most 2.

    """
    import numpy

    if planes not in (0, 1, 2):
        raise ValueError(f"planes is {planes}; at most 2 of neighbours of high degree are kept")
    vertices, last = len(row_offsets) - 1, len(closed) * 32
    sizes = numpy.uint64(vertices), numpy.uint64(last), numpy.uint32(planes)
    arguments = (row_offsets, column_indices, classes, *sizes, first_neighbours, behind, closed)
    kernel = load(SOURCE, VERTEX=vertex_macro(column_indices.dtype)).get_function("choose_by_degree")
    run_over(kernel, last, *arguments, most=1 << 16)
