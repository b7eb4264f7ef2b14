"""Searches from up to 4,096 sources at once on a GPU; see `bit_parallel.cu`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy

from gravel.kernels.buffers import exact, make
from gravel.kernels.cuda import blocks_for, event_milliseconds, load
from gravel.kernels.cuda.pieces import Pieces
from gravel.kernels.distances.aggregates import Aggregates, VertexAggregates
from gravel.kernels.distances.buffers import rows_of_bits
from gravel.kernels.distances.interface import Batches, refuse_width
from gravel.kernels.distances.outputs_cuda import Outputs
from gravel.kernels.distances.row_parts import RowParts
from gravel.kernels.layouts.units import offsets_of

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows

SOURCE = "kernels/distances/bit_parallel.cu"
WORDS = (2, 8, 32, 64, 128)
"""Words of 32 bits that a row may have, as in the kernel."""

BLOCK = 256
WARP = 32
MAX_BLOCKS = 1 << 12
"""Best of 2^11 to 2^15 at Kronecker 22 with 1,024 sources, in its own order and by degree, on an H100: 2 to 9
percent."""

FEW_BLOCKS = 1 << 10
"""Of rows of 64 bits, whose lanes each hold counters that are added up at the end of a block. 2^9 to 2^12 are
within 7 percent there with 64 sources."""

PIECE = 256
"""Arcs that a group of lanes reads at a time; longer rows are spread over the grid in such pieces. 64 takes 3
to 12 percent longer there, 128 and 512 up to 8."""

PIECE_BYTES = 512
"""The same of encoded rows: two units of varint, or about as many arcs. Not measured."""

PUSH_SHARE = 16
"""Push while the frontier has less than this part of all arcs: an arc that is pushed costs atomics where one
that is pulled costs a read, and most rows end early. 8 to 64 are within 3 percent there."""

GROWING_PUSH_SHARE = 4
"""The same of rows of 64 bits while the frontier grows: a pull that finds little reads nearly all arcs. At
Kronecker 22 on an H100, one with 6 percent of the arcs ahead took 1.5 ms. 3 to 8 are within 5 percent."""


class BitParallel:
    """A prepared graph: rows of bits and results on the device. Bytes of encoded rows stand for arcs.

    `link_bytes` were copied for the last run of rows that are read in parts.
    """

    independent = False

    def __init__(self, rows: EncodedRows, parts: RowParts, batches: Batches) -> None:
        import cupy

        self._parts = parts
        columns = rows.layout == "csr"
        self._offsets = offsets_of(rows)
        self._count = rows.vertex_count
        self._arcs = rows.arc_count if columns else int(self._offsets[-1])
        self._symmetric, self._max_depth = batches.symmetric, batches.max_depth
        of_vertices = self._count if batches.vertices else None
        self._length = numpy.uint64(PIECE if columns else PIECE_BYTES)
        self._pieces = Pieces(self._offsets, int(self._length), numpy.dtype(rows.dtype))
        self._bounds = cupy.asarray(parts.bounds, cupy.uint64)
        self._ahead = cupy.zeros(max(1, len(parts.bounds) - 1), cupy.uint32)
        self._every = range(len(parts.bounds) - 1)
        self._pieces_of = self._slices(parts.bounds)

        def bytes_for(words: int) -> int:
            outputs = Outputs.bytes(32 * words, batches.levels, of_vertices)
            return exact(rows_of_bits(self._count, words)) + self._pieces.bytes + outputs + parts.bytes

        wide = next((each for each in WORDS if 32 * each >= batches.most), WORDS[-1])
        narrower = [each for each in WORDS if each <= wide and bytes_for(each) <= batches.memory]
        refuse_width(bytes_for(WORDS[0]), batches.memory, 32 * WORDS[0])
        self.words = narrower[-1]
        self.batch = 32 * self.words
        narrow = self.words == WORDS[0]
        # A warp reads a piece of a long row, or of columns as many lanes as its row of bits has words.
        self._lanes = WARP if narrow or not columns else min(WARP, self.words)
        self._most_blocks = FEW_BLOCKS if narrow else MAX_BLOCKS
        self._growing_share = GROWING_PUSH_SHARE if narrow else PUSH_SHARE
        self.bytes = bytes_for(self.words)
        self.milliseconds, self.link_bytes = 0.0, 0
        self.levels: list[tuple[str, int, int]] = []
        module = load(SOURCE, **parts.macros, WORDS=self.words)
        names = (
            "start",
            "fold",
            "pull",
            "pull_pieces",
            "commit_hubs",
            "push",
            "push_pieces",
            "clear",
            "parts_ahead",
        )
        self._kernels = {name: module.get_function(name) for name in names}
        made = list(make(rows_of_bits(self._count, self.words), cupy).values())
        self._seen, self._fronts, self._marks = made[0], made[1:3], made[3:5]
        self._complete, self._live, self._counts, self._totals, self._reported = made[5:]
        self._fronts_are_marked = False
        self._outputs = Outputs(self.batch, batches.levels, of_vertices)

    def run(self, sources: Any, into: Aggregates, *, max_depth: int | None = None) -> None:
        """Search from up to `batch` sources; `milliseconds` and `levels` are those of the last run.

        Of each level there is the direction, and the vertices and arcs of its frontier.
        """
        depth = self._max_depth if max_depth is None else min(max_depth, self._max_depth)
        self._outputs.begin(sources)
        self.levels, self.link_bytes = [], 0
        self.milliseconds = event_milliseconds(lambda: self._search(len(sources), depth))
        self._outputs.end(into)

    def forget_vertices(self) -> None:
        """Leave what was searched until now out of the sums of vertices."""
        self._outputs.forget_vertices()

    def vertices(self) -> VertexAggregates | None:
        """Return the sums of each vertex over all runs."""
        return self._outputs.vertices()

    def _search(self, count: int, max_depth: int) -> None:
        self._forget()
        n, longest, offsets = numpy.uint64(self._count), self._length, self._offsets
        (now, following), (marks, next_marks) = self._fronts, self._marks
        of_vertices = self._outputs.of_vertices
        first = (of_vertices[0], of_vertices[2])
        totals = (self._counts, self._totals)
        sources = (self._outputs.sources, numpy.uint64(count))
        state = (self._seen, now, marks, self._complete)
        self._launch("start", self._count, offsets, n, longest, *sources, *state, *totals, *first)
        level = before = 0
        while True:
            at = numpy.uint64(level), numpy.uint64(count)
            launch_arguments = (*totals, self._reported, *at, self._live, *self._outputs.of_sources)
            self._kernels["fold"]((1,), (BLOCK,), launch_arguments)
            vertices, arcs = map(int, self._reported.get())
            if vertices == 0 or level >= max_depth:
                self._fronts_are_marked = True
                return
            level += 1
            share = self._growing_share if arcs > before else PUSH_SHARE
            pulls, before = self._symmetric and arcs * share >= self._arcs, arcs
            self.levels.append(("pull" if pulls else "push", vertices, arcs))
            results = (next_marks, *totals, *of_vertices, numpy.uint64(level))
            if pulls:
                self._pull(now, following, marks, next_marks, results)
            else:
                self._push(now, following, marks, next_marks, results)
            (now, following), (marks, next_marks) = (following, now), (next_marks, marks)

    def _forget(self) -> None:
        """Make all memory of a batch zero: of frontiers only what is marked, where the last batch ended."""
        for each in (self._seen, self._counts, self._totals):
            each.fill(0)
        if self._fronts_are_marked:
            self._fronts_are_marked = False
            for front, marks in zip(self._fronts, self._marks, strict=True):
                self._launch("clear", self._count, numpy.uint64(self._count), front, marks)
        else:
            for each in (*self._fronts, *self._marks):
                each.fill(0)

    def _pull(self, now: Any, following: Any, marks: Any, next_marks: Any, results: tuple[Any, ...]) -> None:
        fronts = (self._seen, now, following, marks)
        for rows, whole, pieces in self._each(self._every):
            arguments = (*rows, *whole, self._live, *fronts, next_marks, self._complete, *results[1:])
            self._launch("pull", int(whole[1] - whole[0]), *arguments)
            if int(pieces[2]):
                threads = int(pieces[2]) * self._lanes
                self._launch("pull_pieces", threads, *rows, *pieces, self._length, self._live, *fronts)
        if self._pieces.count:
            hubs = (self._pieces.long_rows, numpy.uint64(self._pieces.rows))
            arguments = (self._offsets, *hubs, self._seen, following, *results)
            self._launch("commit_hubs", self._pieces.rows * self._lanes, *arguments)

    def _push(self, now: Any, following: Any, marks: Any, next_marks: Any, results: tuple[Any, ...]) -> None:
        fronts = (self._seen, now, following, marks)
        self._launch("clear", self._count, numpy.uint64(self._count), following, next_marks)
        for rows, whole, pieces in self._each(self._parts_ahead(marks)):
            self._launch("push", int(whole[1] - whole[0]), *rows, *whole, self._length, *fronts, *results)
            if int(pieces[2]):
                threads = int(pieces[2]) * self._lanes
                self._launch("push_pieces", threads, *rows, *pieces, self._length, *fronts, *results)

    def _each(self, numbers: Sequence[int]) -> Iterator[tuple[tuple[Any, ...], ...]]:
        """Yield of parts the arguments of rows, the first and last vertex, and the pieces of long rows."""
        bounds = self._parts.bounds
        for part in self._parts.each(numbers):
            whole = numpy.uint64(bounds[part.number]), numpy.uint64(bounds[part.number + 1])
            self.link_bytes += part.copied
            yield part.arguments, whole, self._pieces_of[part.number]

    def _slices(self, bounds: Sequence[int]) -> list[tuple[Any, ...]]:
        """Cut the pieces of long rows where parts begin."""
        import cupy

        vertex, begin = self._pieces.vertex, self._pieces.begin
        ends = cupy.searchsorted(vertex, cupy.asarray(bounds, vertex.dtype)).tolist()
        return [
            (vertex[first:last], begin[first:last], numpy.uint64(last - first))
            for first, last in pairwise(ends)
        ]

    def _parts_ahead(self, marks: Any) -> Sequence[int]:
        """Number the parts that have a vertex on the frontier."""
        if len(self._every) == 1:
            return self._every
        self._ahead.fill(0)
        parts = numpy.uint64(len(self._every))
        self._launch("parts_ahead", len(self._every) * BLOCK, self._bounds, parts, marks, self._ahead)
        found: list[int] = numpy.flatnonzero(self._ahead.get()[: len(self._every)]).tolist()
        return found

    def _launch(self, name: str, threads: int, *arguments: Any) -> None:
        blocks = blocks_for(max(1, threads), BLOCK, most=self._most_blocks)
        self._kernels[name]((blocks,), (BLOCK,), arguments)
