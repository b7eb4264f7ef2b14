"""Labels of a renumbered graph, brought back to the numbering from before.

`permutation[old] = new`, as in `gravel.stages.artifacts.Ordering`. Everything here runs on the CPU; the CUDA
twin is `gravel.kernels.relabel_cuda`.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial
from gravel.kernels.row_blocks import even_blocks, run_blocks


@serial
def invert(permutation: NDArray[Any], inverse: NDArray[Any]) -> None:
    """Fill `inverse[new] = old`."""
    for old in range(len(permutation)):
        inverse[permutation[old]] = old


@serial
def distances_back(permutation: NDArray[Any], distance: NDArray[Any], result: NDArray[Any]) -> None:
    """Give each old vertex the distance of its new one."""
    for old in range(len(permutation)):
        result[old] = distance[permutation[old]]


@serial
def predecessors_back(
    permutation: NDArray[Any], inverse: NDArray[Any], predecessor: NDArray[Any], result: NDArray[Any]
) -> None:
    """Give each old vertex the old name of its new one's predecessor; -1 stays."""
    for old in range(len(permutation)):
        new = predecessor[permutation[old]]
        result[old] = numpy.int64(inverse[new]) if new >= 0 else -1


@serial
def components_back(
    permutation: NDArray[Any], component: NDArray[Any], smallest: NDArray[Any], result: NDArray[Any]
) -> None:
    """Label each old vertex with the smallest old vertex of its component.

    `component` has the label of each new vertex; `smallest` is workspace (vertices,) of the labels' dtype.
    """
    none = smallest.dtype.type(numpy.int64(-1))
    smallest[:] = none
    for old in range(len(permutation)):
        label = component[permutation[old]]
        if smallest[label] == none:
            smallest[label] = old
        result[old] = smallest[label]


def row_offsets_back(permutation: NDArray[Any], row_offsets: NDArray[Any]) -> NDArray[numpy.int64]:
    """Make the row offsets of a graph before it was renumbered: int64 (vertices + 1,)."""
    found = numpy.zeros(len(row_offsets), numpy.int64)

    def lengths(low: int, high: int) -> None:
        _lengths_back(permutation, row_offsets, found, low, high)

    run_blocks(lengths, even_blocks(len(permutation)))
    return numpy.cumsum(found, out=found)


@serial
def _lengths_back(
    permutation: NDArray[Any], row_offsets: NDArray[Any], lengths: NDArray[numpy.int64], low: int, high: int
) -> None:
    for old in range(low, high):
        new = numpy.int64(permutation[old])
        lengths[old + 1] = row_offsets[new + 1] - row_offsets[new]
