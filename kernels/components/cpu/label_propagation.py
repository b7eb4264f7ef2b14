"""Label propagation on one thread, as plain as can be."""

from __future__ import annotations

import time
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.components import ComponentsResult
from gravel.kernels.jit import serial


def components(
    row_offsets: NDArray[Any], column_indices: NDArray[Any], *, symmetric: bool = True
) -> ComponentsResult:
    """Label every vertex with the smallest vertex of its (weak) component.

    Labels pass along arcs both ways, so `symmetric` changes nothing. Sweeps alternate in direction; there
    are at most as many as the longest path of ever smaller labels has turns.
    """
    component = numpy.empty(len(row_offsets) - 1, column_indices.dtype)
    _compile(row_offsets, column_indices, component)
    started = time.perf_counter()
    propagate(row_offsets, column_indices, component)
    milliseconds = (time.perf_counter() - started) * 1e3
    return ComponentsResult(component, milliseconds, "label_propagation")


def _compile(row_offsets: NDArray[Any], column_indices: NDArray[Any], component: NDArray[Any]) -> None:
    propagate(row_offsets[:1], column_indices[:0], component[:0])


@serial
def propagate(row_offsets: NDArray[Any], column_indices: NDArray[Any], component: NDArray[Any]) -> None:
    """Lower labels until no arc joins different ones."""
    n = len(component)
    for v in range(n):
        component[v] = v
    changed = True
    forward = True
    while changed:
        changed = False
        for step in range(n):
            v = step if forward else n - 1 - step
            label = component[v]
            for k in range(row_offsets[v], row_offsets[v + 1]):
                u = column_indices[k]
                other = component[u]
                if other < label:
                    label = other
                    changed = True
                elif label < other:
                    component[u] = label
                    changed = True
            component[v] = label
        forward = not forward
