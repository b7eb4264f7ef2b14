"""Tarjan's algorithm on the CPU, with the smallest vertex of each component as its label."""

from __future__ import annotations

import time
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.components import ComponentsResult
from gravel.kernels.jit import serial
from gravel.kernels.ordered.strong_components import strong_components
from gravel.kernels.strong_components.buffers import tarjan


def components(row_offsets: NDArray[numpy.int64], column_indices: NDArray[Any]) -> ComponentsResult:
    """Label every vertex; see `gravel.kernels.strong_components`. Predecessors are not needed."""
    started = time.perf_counter()
    offsets, members = strong_components(row_offsets, column_indices)
    component = tarjan(len(row_offsets) - 1, column_indices.itemsize)[-1].make(numpy)
    _label(offsets, members, component)
    return ComponentsResult(component, (time.perf_counter() - started) * 1e3, "tarjan")


@serial
def _label(offsets: NDArray[Any], members: NDArray[Any], component: NDArray[Any]) -> None:
    for i in range(len(offsets) - 1):
        smallest = members[offsets[i]]
        for k in range(offsets[i], offsets[i + 1]):
            smallest = min(smallest, members[k])
        for k in range(offsets[i], offsets[i + 1]):
            component[numpy.int64(members[k])] = smallest
