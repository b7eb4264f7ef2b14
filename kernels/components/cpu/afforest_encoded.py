"""Components of encoded rows on the CPU: each row is decoded where it is joined, and kept nowhere.

Every `sampled_every`-th row is joined first, which brings forth the largest component; of a symmetric graph
its vertices' other rows are skipped, undecoded: an arc out of it is in the row of its other end as well.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.components import ComponentsResult
from gravel.kernels.components.cpu.forest import compress, link, most_frequent
from gravel.kernels.jit import serial
from gravel.kernels.layouts.readers import read_row, readable
from gravel.kernels.row_blocks import even_blocks, row_blocks, run_blocks

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows

SAMPLES = 1024
"""Vertices looked at to find it; as in the GAP Benchmark Suite."""


class RowForest:
    """Rows made ready: counting their neighbours finds damaged ones. Each run grows the forest anew.

    Parameters are those of `gravel.kernels.components.cpu.afforest.prepare`.
    """

    def __init__(self, rows: EncodedRows, symmetric: bool, every: int, giant: str, prune: bool) -> None:
        self._symmetric, self._every, self._giant, self._prune = symmetric, every, giant, prune
        started = time.perf_counter()
        self._count, self._dtype = rows.vertex_count, rows.dtype
        self._rows = readable(rows)
        self._blocks = row_blocks(self._rows.byte_offsets)
        nothing = numpy.zeros(0, rows.dtype)
        _join_rows(self._rows, 0, 0, 1, True, nothing, -1, numpy.zeros(1, rows.dtype))
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def run(self) -> ComponentsResult:
        """Find the components."""
        started = time.perf_counter()
        component = numpy.arange(self._count, dtype=self._dtype)
        self._join(component, sampled=True, giant=-1)
        run_blocks(lambda a, b: compress(component, a, b), even_blocks(self._count))
        giant = -1
        if self._symmetric and self._prune and self._count:
            giant = int(component[0]) if self._giant == "first" else most_frequent(component, SAMPLES)
        self._join(component, sampled=False, giant=giant)
        run_blocks(lambda a, b: compress(component, a, b), even_blocks(self._count))
        return ComponentsResult(component, (time.perf_counter() - started) * 1e3, "afforest")

    def _join(self, component: NDArray[Any], *, sampled: bool, giant: int) -> None:
        def join(first: int, last: int) -> None:
            buffer = numpy.empty(max(1, self._rows.longest), self._dtype)
            _join_rows(self._rows, first, last, self._every, sampled, component, giant, buffer)

        run_blocks(join, self._blocks)


@serial
def _join_rows(
    rows: Any,
    first: int,
    last: int,
    every: int,
    sampled: bool,
    component: NDArray[Any],
    giant: int,
    buffer: NDArray[Any],
) -> None:
    """Join the rows that are sampled, or those that are not, but for vertices that hang on `giant`."""
    for row in range(first, last):
        v = numpy.uint64(row)
        if (row % every == 0) != sampled or (giant >= 0 and component[v] == numpy.uint64(giant)):
            continue
        for k in range(read_row(rows, row, buffer)):
            u = buffer[k]
            if component[u] != component[v]:
                link(component, v, u)
