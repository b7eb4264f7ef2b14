"""Components by passes over all arcs on the CPU, row blocks on threads; the twin of `passes_cuda.py`.

Of encoded rows each pass decodes every row anew.

Moschou, "GPU Acceleration with CUDA: Adaptive BFS & Afforest", section 2.4. Threads lower parents by atomic
minima, of which some are lost where two threads hook the same root; one thread loses none.
"""

from __future__ import annotations

import time
from typing import Any, Literal

import numpy
from numpy.typing import NDArray

from gravel.kernels.atomics import fetch_min
from gravel.kernels.components import ComponentsResult, refuse_giant
from gravel.kernels.components.cpu.forest import compress, most_frequent
from gravel.kernels.jit import serial
from gravel.kernels.layouts import EncodedRows
from gravel.kernels.layouts.spans import readable, span, values_of
from gravel.kernels.row_blocks import even_blocks, row_blocks, run_blocks

SAMPLES = 256
ALL_ARCS = (1 << 63) - 1
"""More than any row has."""


class RowPasses:
    """Rows made ready; each run grows the forest anew, by at most `most` passes over all arcs.

    Parameters are those of `gravel.kernels.papers.moschou.passes_cuda.RowPasses`, but for `decoder`. Raises
    ValueError for bytes that are no rows.
    """

    name: str
    most: int | None

    def __init__(
        self,
        rows: EncodedRows,
        *,
        symmetric: bool,
        giant: Literal["sampled", "first"] = "first",
        prune: bool = True,
    ) -> None:
        refuse_giant(giant)
        started = time.perf_counter()
        self._giant, self._prune = giant, prune
        self._count, self._dtype = rows.vertex_count, numpy.dtype(rows.dtype)
        self._rows = readable(rows)
        self._blocks = row_blocks(self._rows[0])
        nothing = numpy.zeros(0, self._dtype)
        _pass(0, 0, *self._rows, nothing, 0, True, 1)
        _apart(0, 0, *self._rows, nothing)
        compress(nothing, 0, 0)
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def run(self) -> ComponentsResult:
        """Find the components; whether the passes were enough is found out off the clock."""
        n = self._count
        component = numpy.zeros(n, self._dtype)
        started = time.perf_counter()
        component[:] = numpy.arange(n, dtype=component.dtype)
        if self._giant == "sampled":
            self._link(component, 0, False, 1)
            _flatten(component)
        passes, changed = 0, True
        while changed and passes != self.most:
            skipped = 0
            if n:
                sampled = self._giant == "sampled"
                skipped = most_frequent(component, SAMPLES) if sampled else int(component[0])
            changed = self._link(component, skipped, self._prune, ALL_ARCS)
            _flatten(component)
            passes += 1
        milliseconds = (time.perf_counter() - started) * 1e3
        converged = not changed or not self._is_apart(component)
        return ComponentsResult(component, milliseconds, self.name, converged, passes)

    def _link(self, component: NDArray[Any], skipped: int, prune: bool, arcs: int) -> bool:
        """Link up to `arcs` arcs of each row; returns whether that changed anything."""
        return any(
            run_blocks(lambda a, b: _pass(a, b, *self._rows, component, skipped, prune, arcs), self._blocks)
        )

    def _is_apart(self, component: NDArray[Any]) -> bool:
        """Whether an arc joins two labels."""
        return any(run_blocks(lambda a, b: _apart(a, b, *self._rows, component), self._blocks))


class SinglePass(RowPasses):
    """Links all arcs once; the result tells whether that was enough."""

    name, most = "afforest_single_pass", 1


class MultiPass(RowPasses):
    """Links all arcs until a pass changes nothing."""

    name, most = "afforest_multi_pass", None


def _flatten(component: NDArray[Any]) -> None:
    run_blocks(lambda a, b: compress(component, a, b), even_blocks(len(component)))


@serial
def root(component: NDArray[Any], v: int) -> int:
    """Return the root above a vertex, and let what is on the way point further up."""
    while component[v] != v:
        component[v] = component[component[v]]
        v = component[v]
    return v


@serial
def _pass(
    first: int,
    last: int,
    row_offsets: NDArray[Any],
    columns: Any,
    component: NDArray[Any],
    giant: int,
    prune: bool,
    most: int,
) -> bool:
    """Link up to `most` arcs of each row; returns whether any parent was lowered."""
    changed = False
    values = values_of(columns)
    for v in range(numpy.uint64(first), numpy.uint64(last)):
        begin, end = span(columns, row_offsets, v, values)
        for k in range(begin, begin + min(end - begin, most)):
            p = root(component, numpy.uint64(v))
            q = root(component, numpy.uint64(values[numpy.uint64(k)]))
            if prune and p == giant and q == giant:
                continue
            low = min(p, q)
            if fetch_min(component, max(p, q), low) > low:
                changed = True
    return changed


@serial
def _apart(first: int, last: int, row_offsets: NDArray[Any], columns: Any, component: NDArray[Any]) -> bool:
    values = values_of(columns)
    for v in range(numpy.uint64(first), numpy.uint64(last)):
        begin, end = span(columns, row_offsets, v, values)
        for k in range(begin, end):
            if component[values[numpy.uint64(k)]] != component[v]:
                return True
    return False
