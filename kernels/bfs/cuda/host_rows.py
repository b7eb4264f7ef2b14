"""Search of rows in host memory in one launch; see `kernels/bfs/host_rows.cu`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from kernels.bfs.cuda.labels import NARROW, Labels
from kernels.bfs.result import BFSResult
from kernels.cuda import blocks_for, event_milliseconds, load, resident_blocks, vertex_macro

SOURCE, PREPARATION = "kernels/bfs/host_rows.cu", "kernels/bfs/host_rows_prepare.cu"
LINE = 32  # columns, as in host_rows.cuh
LINES = 32  # of a word, as in host_rows.cuh
HEAD_GROUP = 4  # as in host_rows.cuh
CONTROL_WORDS = 4 * 32  # four copies of host_rows.cuh's
LENGTHS = 64 * 8  # as in host_rows_prepare.cu
LOG_FIRST = 3  # as in host_rows.cu
LOGGED_LEVELS = 1 << 16
"""Levels whose direction is told; those beyond are called top-down."""


def prepare(
    row_offsets: Any,
    column_indices: Any,
    *,
    output: str,
    symmetric: bool,
    max_depth: int | None = None,
    heads: int = 0,
    keep: int = 0,
    alpha: float = 4.0,
    block: int = 512,
    blocks_per_processor: int | None = None,
    narrow: int = NARROW,
) -> HostRowsSearch:
    """Make a graph ready; parameters as in `kernels.bfs.prepare`, and these.

    `row_offsets` lie on the device. `column_indices` are a CuPy array as well, whose memory may be pinned
    host memory (`kernels.placement`).

    Parameters
    ----------
    heads : first neighbours of each vertex that the device keeps, 0 or a multiple of 4. With some, and if the
        graph is symmetric, levels go bottom-up where that reads less.
    keep : bytes of columns that the device keeps at most: those of the longest rows, since a search meets
        these in the levels that it goes top-down and then reads them whole.
    alpha : go bottom-up when the frontier's arcs times alpha exceed the unvisited ones. Lower than where rows
        lie on the device, since the rows of vertices that no head leads to come over the link.
    block, blocks_per_processor : threads of a block, a multiple of 32 up to 512, and how many of them run on
        a multiprocessor at most; None for as many as fit.
    narrow : vertices from which predecessors take 64 bits.

    Raises ValueError for a value that a parameter cannot have.

    """
    if block % 32 or not 32 <= block <= 512:
        raise ValueError(f"block is {block}; it must be a multiple of 32 up to 512")
    if heads < 0 or heads % HEAD_GROUP:
        raise ValueError(f"heads is {heads}; it must be 0 or a multiple of {HEAD_GROUP}")
    started = time.perf_counter()
    search = HostRowsSearch(
        row_offsets,
        column_indices,
        output=output,
        max_depth=max_depth,
        heads=heads if symmetric else 0,
        keep=keep,
        alpha=alpha,
        block=block,
        blocks_per_processor=blocks_per_processor,
        narrow=narrow,
    )
    search.prepare_milliseconds = (time.perf_counter() - started) * 1e3
    return search


def in_host_memory(array: Any) -> bool:
    """Whether a CuPy array is a view of pinned host memory."""
    import cupy

    if not array.size:
        return False
    runtime = cupy.cuda.runtime
    return bool(runtime.pointerGetAttributes(array.data.ptr).type == runtime.memoryTypeHost)


@dataclass(frozen=True)
class KeptLines:
    """Lines of columns that the device has: the lines, their bits, and how many lie before each word."""

    lines: Any
    bits: Any
    before: Any
    count: int


class HostRowsSearch:
    """A prepared graph: what `kernels/bfs/host_rows.cuh` keeps on the device, beside the columns."""

    strategy = "host_rows"
    reason = ""
    prepare_milliseconds = 0.0

    def __init__(
        self,
        row_offsets: Any,
        column_indices: Any,
        *,
        output: str,
        max_depth: int | None,
        heads: int,
        keep: int,
        alpha: float,
        block: int,
        blocks_per_processor: int | None,
        narrow: int,
    ) -> None:
        import cupy
        import numpy

        self.output = output
        self._row_offsets = cupy.ascontiguousarray(row_offsets)
        self._columns = column_indices
        self.vertices, self._arcs = len(row_offsets) - 1, len(column_indices)
        self._item = column_indices.dtype.itemsize
        self._over_link = in_host_memory(column_indices)
        self._labels = Labels.allocate(self.vertices, output, narrow=narrow)
        vertex = vertex_macro(column_indices.dtype)
        self._preparation = load(PREPARATION, VERTEX=vertex, TREE=0)
        self._kernel = load(SOURCE, VERTEX=vertex, TREE=self._labels.tree).get_function("search")
        processors = int(cupy.cuda.Device().attributes["MultiProcessorCount"])
        grid = resident_blocks(self._kernel, block)
        if blocks_per_processor is not None:
            grid = min(grid, processors * max(1, blocks_per_processor))
        self._launch = (grid,), (block,)

        words, self._line_words = -(-self.vertices // 32), -(-self._arcs // (LINE * LINES))
        first_rows = cupy.empty(self._line_words + 1, column_indices.dtype)
        sizes = numpy.uint64(self.vertices), numpy.uint64(self._arcs)
        self._start("find_first_rows", self._line_words + 1, self._row_offsets, *sizes, first_rows)
        kept = self._keep(keep)
        self.kept_bytes = kept.count * LINE * self._item if kept else 0
        first_heads = closed = waiting = None
        if heads:
            first_heads = cupy.full(
                self.vertices * heads, numpy.iinfo(column_indices.dtype).max, column_indices.dtype
            )
            ends = (numpy.uint64(0), numpy.uint64(self._arcs), numpy.uint64(heads))
            self._start(
                "find_heads", self._arcs, self._row_offsets, self._columns, first_rows, *ends, first_heads
            )
            closed, waiting = cupy.zeros(words, cupy.uint32), cupy.zeros(words, cupy.uint32)
            self._start("find_closed", self.vertices, self._row_offsets, numpy.uint64(self.vertices), closed)
        self._log = cupy.zeros(LOG_FIRST + LOGGED_LEVELS, cupy.uint64)
        self._arguments = (
            self._row_offsets,
            self._columns,
            first_rows,
            *((kept.lines, kept.bits, kept.before) if kept else (numpy.uint64(0),) * 3),
            _or_nothing(first_heads),
            _or_nothing(closed),
            *(cupy.zeros(max(1, words), cupy.uint32) for _ in range(3)),
            _or_nothing(waiting),
            cupy.zeros(max(1, self._line_words), cupy.uint32),
            self._labels.distance_argument(),
            self._labels.keys,
            self._labels.predecessor_argument(),
            cupy.zeros(CONTROL_WORDS, cupy.uint64),
            self._log,
            cupy.zeros(1, cupy.uint64),
            *sizes,
            numpy.uint64(heads),
            numpy.float64(alpha),
            numpy.uint64((1 << 31) - 1 if max_depth is None else max_depth),
            numpy.uint64(LOGGED_LEVELS),
        )
        cupy.cuda.Device().synchronize()

    def _start(self, name: str, items: int, *arguments: Any) -> None:
        if items > 0:
            self._preparation.get_function(name)((blocks_for(items, 256, most=1 << 11),), (256,), arguments)

    def _keep(self, budget: int) -> KeptLines | None:
        """Copy the lines of the longest rows, at most `budget` bytes, to the device."""
        import cupy
        import numpy

        most = budget // (LINE * self._item)
        if most <= 0 or not self._arcs:
            return None
        vertices = numpy.uint64(self.vertices)
        counts = cupy.zeros(LENGTHS, cupy.uint64)
        self._start("count_lines", self.vertices, self._row_offsets, vertices, counts)
        least = shortest_kept(counts.get().tolist(), most)
        bits = cupy.zeros(self._line_words, cupy.uint32)
        self._start("mark_long_rows", self.vertices, self._row_offsets, vertices, numpy.uint64(least), bits)
        ones = cupy.empty(self._line_words, cupy.uint32)
        self._start("count_bits", self._line_words, bits, numpy.uint64(self._line_words), ones)
        upto = cupy.cumsum(ones, dtype=cupy.uint32)
        count = int(upto[-1])
        lines = cupy.empty(max(1, count) * LINE, self._columns.dtype)
        kept = KeptLines(lines, bits, upto - ones, count)
        ends = numpy.uint64(0), numpy.uint64(self._line_words), numpy.uint64(self._arcs)
        self._start("keep_lines", self._line_words * 32, self._columns, bits, kept.before, *ends, lines)
        return kept

    def run(self, source: int) -> BFSResult:
        """Search from one vertex; `link_bytes` counts the lines that came out of host memory.

        Raises ValueError for a vertex that does not exist.
        """
        import numpy

        if not 0 <= source < self.vertices:
            raise ValueError(f"source {source} is not a vertex; there are {self.vertices}")
        arguments = (*self._arguments, numpy.uint64(source))
        taken = event_milliseconds(lambda: self._kernel(*self._launch, arguments))
        levels, host, _, *pulled = (int(word) for word in self._log[: LOG_FIRST + 256].get())
        if levels > len(pulled):
            pulled = self._log[LOG_FIRST : LOG_FIRST + levels].get().tolist()
        pulled += [0] * (levels - len(pulled))
        distance, predecessor = self._labels.results(self.output)
        return BFSResult(
            source,
            distance,
            predecessor,
            taken,
            tuple("pull" if way else "push" for way in pulled[:levels]),
            link_bytes=host * LINE * self._item if self._over_link else None,
        )


def shortest_kept(counts: list[int], most: int) -> int:
    """Length of the shortest rows that are kept, so that all as long or longer have at most `most` lines.

    `counts[8 * octave + eighth]` counts the lines of the rows whose length is at least
    2^octave * (1 + eighth / 8), up to the next.
    """
    total, least = 0, 1 << 62
    for place in range(len(counts) - 1, -1, -1):
        total += counts[place]
        if total > most:
            break
        octave, eighth = divmod(place, 8)
        least = -((-(8 + eighth) << octave) // 8)
    return least


def _or_nothing(array: Any | None) -> Any:
    import numpy

    return numpy.uint64(0) if array is None else array
