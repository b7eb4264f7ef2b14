"""Components by passes over all arcs on CUDA; see `kernels/components/passes.cu`."""

from __future__ import annotations

from typing import Any, Literal

import numpy

from gravel.kernels.components import ComponentsResult
from gravel.kernels.cuda import blocks_for, event_milliseconds, load, strided_blocks, vertex_macro

SOURCE = "kernels/components/passes.cu"
SINGLE_PASS, MULTI_PASS = "afforest_single_pass", "afforest_multi_pass"
BLOCK = 256


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
    return _run(SINGLE_PASS, row_offsets, column_indices, giant, prune, most=1)


def multi_pass(
    row_offsets: Any,
    column_indices: Any,
    *,
    symmetric: bool,
    giant: Literal["sampled", "first"] = "first",
    prune: bool = True,
) -> ComponentsResult:
    """Link all arcs until a pass changes nothing; parameters as those of `single_pass`."""
    return _run(MULTI_PASS, row_offsets, column_indices, giant, prune, most=None)


class Passes:
    """The kernels with the arrays of one graph: `reads` are the arguments by which they read its arcs.

    `threads` are as many as share the arcs.
    """

    def __init__(
        self,
        module: Any,
        reads: tuple[Any, ...],
        threads: int,
        vertices: int,
        dtype: Any,
        *,
        sampled: bool,
        prune: bool,
    ) -> None:
        import cupy

        self._module, self._reads, self._threads = module, reads, threads
        self.vertices = vertices
        self.component = cupy.empty(vertices, dtype)
        self._most_blocks = strided_blocks()
        self._giant = cupy.empty(1, dtype)
        self._flag = cupy.zeros(1, cupy.uint32)
        self._sampled, self._prune = sampled, prune

    def _call(self, name: str, items: int, *arguments: Any) -> None:
        blocks = blocks_for(items, BLOCK, most=self._most_blocks)
        self._module.get_function(name)((blocks,), (BLOCK,), arguments)

    def _flagged(self, name: str, *arguments: Any) -> bool:
        """Run a kernel over all arcs and say whether it raised its flag."""
        self._flag.fill(0)
        n = numpy.uint64(self.vertices)
        self._call(name, self._threads, *self._reads, n, self.component, *arguments, self._flag)
        return bool(self._flag[0])

    def _flatten(self) -> None:
        self._call("compress", self.vertices, self.component, numpy.uint64(self.vertices))

    def run(self, most: int | None) -> tuple[int, bool]:
        """Link up to `most` times; returns how often, and whether the last pass changed nothing."""
        n = numpy.uint64(self.vertices)
        self._call("alone", self.vertices, self.component, n)
        if self._sampled:
            self._call("first_arcs", self.vertices, *self._reads, n, self.component)
            self._flatten()
        passes, changed = 0, True
        while changed and passes != most:
            if self._sampled:
                self._call("sample", BLOCK, *self._reads, n, self.component, self._giant)
            else:
                self._giant[0] = self.component[0]
            changed = self._flagged("pass", self._giant, numpy.uint32(self._prune))
            self._flatten()
            passes += 1
        return passes, not changed

    def apart(self) -> bool:
        """Whether an arc joins two labels."""
        return self._flagged("compare")


def find(name: str, passes: Passes, most: int | None) -> ComponentsResult:
    """Find components by at most so many passes; whether they were enough is found out off the clock."""
    if passes.vertices == 0:
        return ComponentsResult(passes.component, 0.0, name, passes=1)
    done: list[tuple[int, bool]] = []
    taken = event_milliseconds(lambda: done.append(passes.run(most)))
    count, converged = done[0]
    return ComponentsResult(passes.component, taken, name, converged or not passes.apart(), count)


def check_giant(giant: str) -> None:
    """Raise ValueError for a way to choose the component to skip that there is not."""
    if giant not in ("sampled", "first"):
        raise ValueError(f"giant is {giant!r}; it must be sampled or first")


def _run(
    name: str, row_offsets: Any, column_indices: Any, giant: str, prune: bool, *, most: int | None
) -> ComponentsResult:
    import cupy

    check_giant(giant)
    dtype = column_indices.dtype
    reads = cupy.ascontiguousarray(row_offsets), cupy.ascontiguousarray(column_indices)
    module = load(SOURCE, VERTEX=vertex_macro(dtype))
    passes = Passes(
        module,
        reads,
        len(column_indices),
        len(row_offsets) - 1,
        dtype,
        sampled=giant == "sampled",
        prune=prune,
    )
    return find(name, passes, most)
