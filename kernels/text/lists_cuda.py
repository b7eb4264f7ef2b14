"""Lines of text into arcs on the GPU, one vertex a line; the kernels are `lists.cu`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy

from gravel.kernels.cuda import blocks_for, load, vertex_macro
from gravel.kernels.cuda.launch import BLOCK, Kernels
from gravel.kernels.text.kinds import byte_kinds
from gravel.kernels.text.pairs_cuda import MAX_BLOCKS, NONE, SCAN_BLOCK, TILE

SOURCE = "kernels/text/lists.cu"


class ParsedRows(NamedTuple):
    """Arcs of a piece on the device, and its lines."""

    source: Any
    target: Any
    weight: Any | None
    lines: int


class ListParser:
    """Parses pieces of whole lines that lie in device memory, on the current stream.

    Parameters
    ----------
    rows, low, high, skip, weighted : as of `lists.parse_lists`.
    comments : as of `kinds.byte_kinds`; a piece with a comment is left to the parser of the CPU.
    dtype : of the ids, uint32 or uint64.
    piece_bytes : the most that a piece takes.

    """

    def __init__(
        self,
        *,
        rows: int,
        low: int,
        high: int,
        skip: int,
        weighted: bool,
        comments: str,
        dtype: Any,
        piece_bytes: int,
    ) -> None:
        import cupy

        self._rows, self._low, self._high, self._skip, self._weighted = rows, low, high, skip, weighted
        self._dtype = numpy.dtype(dtype)
        self._kinds = cupy.asarray(byte_kinds("", comments))
        tiles = -(-piece_bytes // TILE)
        self._tables = cupy.empty(tiles, numpy.uint32), cupy.empty(tiles, numpy.uint32)
        self._results = cupy.empty(3, numpy.uint64)
        self._fresh = cupy.asarray(numpy.array([0, 0, NONE], numpy.uint64))

    def parse(self, text: Any, first: int, end: int, row: int) -> ParsedRows | None:
        """Parse text[first:end], whose first line belongs to row `row`; None if the CPU must judge it.

        `text` is uint8 on the device, its length a multiple of 16 that is at least `end`.
        """
        import cupy

        tiles = -(-end // TILE)
        piece = text, numpy.uint64(first), numpy.uint64(end), self._kinds, numpy.uint64(tiles)
        module = load(SOURCE, ID=vertex_macro(self._dtype))
        grid = (min(tiles, MAX_BLOCKS),), (BLOCK,)
        self._results[:] = self._fresh
        module.get_function("count_tokens")(*grid, (*piece, *self._tables, self._results))
        scanned = *self._tables, numpy.uint64(tiles), self._results
        module.get_function("scan_tiles")((1,), (SCAN_BLOCK,), scanned)
        lines, faultless = int((found := self._results.get())[1]), int(found[2]) == NONE
        if not faultless:
            return None
        row_tokens, arcs = cupy.zeros(lines + 1, numpy.uint32), cupy.empty(lines, numpy.uint32)
        module.get_function("mark_rows")(*grid, (*piece, *self._tables, row_tokens))
        shape = numpy.int32(self._skip), numpy.int32(self._weighted)
        counted = row_tokens, numpy.uint64(lines), numpy.uint64(max(0, self._rows - row)), *shape
        over_lines = (blocks_for(lines, BLOCK, most=MAX_BLOCKS),), (BLOCK,)
        module.get_function("count_arcs")(*over_lines, (*counted, arcs, self._results))
        row_arcs = cupy.zeros(lines + 1, numpy.uint32)
        cupy.cumsum(arcs, dtype=numpy.uint32, out=row_arcs[1:])
        count = int(row_arcs[-1:].get()[0])
        source, target = cupy.empty(count, self._dtype), cupy.empty(count, self._dtype)
        weight = cupy.empty(count if self._weighted else 0, numpy.float64)
        bounds = (numpy.uint64(each) for each in (self._low + row, self._low, self._high))
        tables = *self._tables, row_tokens, row_arcs
        parsed = *piece, *tables, *shape, *bounds, source, target, weight, self._results
        module.get_function("parse_tokens")(*grid, parsed)
        if int(self._results.get()[2]) != NONE:
            return None
        return ParsedRows(source, target, weight if self._weighted else None, lines)


def add_imbalance(source: Any, target: Any, weight: Any | None, first: int, imbalance: Any) -> None:
    """Add arcs' fingerprints as `lists.add_imbalance` does; `weight` may be None."""
    kernels = Kernels(SOURCE, most=MAX_BLOCKS, ID=vertex_macro(source.dtype))
    given = source, target, weight, len(source), first, len(imbalance), imbalance
    kernels.run("add_imbalance", len(source), *given)
