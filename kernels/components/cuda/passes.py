"""Components by passes over all arcs on CUDA; see `kernels/components/passes.cu`."""

from __future__ import annotations

from typing import Any, Literal

import numpy

from gravel.kernels.components import ComponentsResult
from gravel.kernels.cuda import blocks_for, event_milliseconds, load, vertex_macro

SOURCE = "kernels/components/passes.cu"
BLOCK = 256
MOST_BLOCKS = 132 * 8 * 4
"""Enough for every multiprocessor of one H200 four times over; kernels stride over the rest."""


def single_pass(
    row_offsets: Any,
    column_indices: Any,
    *,
    symmetric: bool,
    giant: Literal["sampled", "first"] = "first",
    prune: bool = True,
) -> ComponentsResult:
    """Link all arcs once; `converged` tells whether that was enough, found out after the clock has stopped.

    Parameters
    ----------
    symmetric : changes nothing: every arc is linked.
    giant : the component whose arcs are skipped: that of vertex 0, or, after a pass over the first arc of
        every vertex, the most frequent one of a sample.
    prune : whether arcs inside that component are skipped, or issue their atomics like all others.

    """
    return _run("afforest_single_pass", row_offsets, column_indices, giant, prune, most=1)


def multi_pass(
    row_offsets: Any,
    column_indices: Any,
    *,
    symmetric: bool,
    giant: Literal["sampled", "first"] = "first",
    prune: bool = True,
) -> ComponentsResult:
    """Link all arcs until a pass changes nothing; parameters as those of `single_pass`."""
    return _run("afforest_multi_pass", row_offsets, column_indices, giant, prune, most=None)


class _Passes:
    """The kernels with the arrays of one graph."""

    def __init__(self, row_offsets: Any, column_indices: Any, sampled: bool, prune: bool) -> None:
        import cupy

        self.module = load(SOURCE, VERTEX=vertex_macro(column_indices.dtype))
        self.offsets = cupy.ascontiguousarray(row_offsets)
        self.columns = cupy.ascontiguousarray(column_indices)
        self.vertices = len(row_offsets) - 1
        self.component = cupy.empty(self.vertices, column_indices.dtype)
        self.giant = cupy.empty(1, column_indices.dtype)
        self.flag = cupy.zeros(1, cupy.uint32)
        self.sampled, self.prune = sampled, prune

    def call(self, name: str, items: int, *arguments: Any) -> None:
        blocks = blocks_for(items, BLOCK, most=MOST_BLOCKS)
        self.module.get_function(name)((blocks,), (BLOCK,), arguments)

    def flagged(self, name: str, *arguments: Any) -> bool:
        """Run a kernel over all arcs and say whether it raised its flag."""
        self.flag.fill(0)
        n = numpy.uint64(self.vertices)
        self.call(
            name, len(self.columns), self.offsets, self.columns, n, self.component, *arguments, self.flag
        )
        return bool(self.flag[0])

    def flatten(self) -> None:
        self.call("compress", self.vertices, self.component, numpy.uint64(self.vertices))

    def run(self, most: int | None) -> tuple[int, bool]:
        """Link up to `most` times; returns how often, and whether the last pass changed nothing."""
        n = numpy.uint64(self.vertices)
        self.call("alone", self.vertices, self.component, n)
        if self.sampled:
            self.call("first_arcs", self.vertices, self.offsets, self.columns, n, self.component)
            self.flatten()
        passes, changed = 0, True
        while changed and passes != most:
            if self.sampled:
                self.call("sample", BLOCK, self.offsets, n, self.component, self.giant)
            else:
                self.giant[0] = self.component[0]
            changed = self.flagged("pass", self.giant, numpy.uint32(self.prune))
            self.flatten()
            passes += 1
        return passes, not changed


def _run(
    name: str, row_offsets: Any, column_indices: Any, giant: str, prune: bool, *, most: int | None
) -> ComponentsResult:
    if giant not in ("sampled", "first"):
        raise ValueError(f"giant is {giant!r}; it must be sampled or first")
    passes = _Passes(row_offsets, column_indices, giant == "sampled", prune)
    if passes.vertices == 0:
        return ComponentsResult(passes.component, 0.0, name, passes=0)
    done: list[tuple[int, bool]] = []
    taken = event_milliseconds(lambda: done.append(passes.run(most)))
    count, converged = done[0]
    converged = converged or not passes.flagged("compare")
    return ComponentsResult(passes.component, taken, name, converged, count)
