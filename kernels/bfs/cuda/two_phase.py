"""Two-phase BFS of Merrill et al. 2012 in one cooperative launch; see `kernels/bfs/two_phase.cu`."""

from __future__ import annotations

import time
from typing import Any

from kernels.bfs.cuda.labels import NARROW, Labels
from kernels.bfs.result import BFSResult
from kernels.cuda import event_milliseconds, load, resident_blocks, vertex_macro

SOURCE = "kernels/bfs/two_phase.cu"
BLOCKS = (128, 256)
CONTROL_WORDS = 32


def prepare(
    row_offsets: Any,
    column_indices: Any,
    *,
    output: str,
    symmetric: bool,
    max_depth: int | None = None,
    block: int = 256,
    narrow: int = NARROW,
) -> TwoPhase:
    """Make a graph ready; parameters as in `kernels.bfs.prepare`.

    `block` is 128 or 256 threads; `narrow` the number of vertices from which predecessors take 64 bits.
    `symmetric` does not matter here. The edge queue takes as many bytes as the columns, twice that with
    predecessors.
    """
    if block not in BLOCKS:
        raise ValueError(f"block is {block}; it can be {' or '.join(map(str, BLOCKS))}")
    return TwoPhase(
        row_offsets, column_indices, output=output, max_depth=max_depth, block=block, narrow=narrow
    )


class TwoPhase:
    """A prepared graph: its queues, bitmask and labels on the device."""

    strategy = "two_phase"
    reason = ""

    def __init__(
        self,
        row_offsets: Any,
        column_indices: Any,
        *,
        output: str,
        max_depth: int | None,
        block: int,
        narrow: int,
    ) -> None:
        import cupy
        import numpy

        started = time.perf_counter()
        self.vertices = len(row_offsets) - 1
        self.output = output
        columns = cupy.ascontiguousarray(column_indices)
        arcs = max(1, len(columns))
        self._labels = Labels.allocate(self.vertices, output, narrow=narrow)
        macros = {"VERTEX": vertex_macro(columns.dtype), "TREE": self._labels.tree, "BLOCK": block}
        self._kernel = load(SOURCE, **macros).get_function("search")
        self._launch = (resident_blocks(self._kernel, block),), (block,)
        self._levels = cupy.zeros(1, cupy.uint64)
        self._arguments = (
            cupy.ascontiguousarray(row_offsets),
            columns,
            self._labels.distance_argument(),
            self._labels.keys,
            self._labels.predecessor_argument(),
            cupy.empty(max(1, self.vertices), columns.dtype),
            cupy.empty(arcs, columns.dtype),
            cupy.empty(arcs if self._labels.tree else 1, columns.dtype),
            cupy.zeros(self.vertices // 32 + 1, cupy.uint32),
            cupy.zeros(CONTROL_WORDS, cupy.uint64),
            self._levels,
            cupy.zeros(1, cupy.uint64),
            numpy.uint64(self.vertices),
            numpy.uint64((1 << 31) - 1 if max_depth is None else max_depth),
        )
        cupy.cuda.Device().synchronize()
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def run(self, source: int) -> BFSResult:
        """Search from one vertex.

        Raises ValueError for a vertex that does not exist.
        """
        import numpy

        if not 0 <= source < self.vertices:
            raise ValueError(f"source {source} is not a vertex; there are {self.vertices}")
        arguments = (*self._arguments, numpy.uint64(source))
        taken = event_milliseconds(lambda: self._kernel(*self._launch, arguments))
        distance, predecessor = self._labels.results(self.output)
        return BFSResult(source, distance, predecessor, taken, ("push",) * int(self._levels[0]))
