"""Lines of text into edges on the GPU; the kernels are `pairs.cu`, the same edges as `pairs.py` finds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy

from gravel.kernels.cuda import load, vertex_macro
from gravel.kernels.text.kinds import byte_kinds

SOURCE = "kernels/text/pairs.cu"
TILE = 4096  # bytes, as in pairs.cu
SCAN_BLOCK = 1024
MAX_BLOCKS = 1 << 13
NONE = (1 << 64) - 1


class Counted(NamedTuple):
    """Rows (lines that hold an edge) and line ends of a piece."""

    rows: int
    lines: int


class Parsed(NamedTuple):
    """Edges of a piece on the device, and the smallest and the largest id (of no meaning without rows).

    `fine` is False if the parser of the CPU must judge a row; the arrays have no meaning then.
    """

    source: Any
    target: Any
    weight: Any | None
    least: int
    most: int
    fine: bool


class PairParser:
    """Parses pieces of whole lines that lie in device memory, on the current stream.

    Parameters
    ----------
    columns, source_column, target_column, weight_column, prefix, low, high : as of `pairs.parse_pairs`.
    delimiter, comments : as of `kinds.byte_kinds`.
    piece_bytes : the most that a piece takes.
    block : threads of a block, a multiple of 32.

    """

    def __init__(
        self,
        *,
        columns: int,
        source_column: int,
        target_column: int,
        weight_column: int,
        prefix: int,
        delimiter: str,
        comments: str,
        low: int,
        high: int,
        piece_bytes: int,
        block: int = 256,
    ) -> None:
        import cupy

        self._kinds = cupy.asarray(byte_kinds(delimiter, comments))
        self._weighted = weight_column >= 0
        numbers = prefix, columns, source_column, target_column, weight_column, int(bool(delimiter))
        self._grammar = (*map(numpy.int32, numbers), numpy.uint64(low), numpy.uint64(high))
        tiles = -(-piece_bytes // TILE)
        self._rows, self._lines = cupy.empty(tiles, numpy.uint32), cupy.empty(tiles, numpy.uint32)
        self._results = cupy.empty(5, numpy.uint64)
        self._fresh = cupy.asarray(numpy.array([0, 0, NONE, NONE, 0], numpy.uint64))
        self._block = block
        self._text: tuple[Any, numpy.uint64, numpy.uint64] | None = None
        self._counted = Counted(0, 0)

    def count(self, text: Any, first: int, end: int) -> Counted:
        """Count the rows and lines of text[first:end]; it must stay until `parse` has returned.

        `text` is uint8 on the device, its length a multiple of 16 that is at least `end`. The piece begins
        with a line and ends with a line's end.
        """
        self._text = text, numpy.uint64(first), numpy.uint64(end)
        tiles = -(-end // TILE)
        module = load(SOURCE, ID="u32")
        grid = (min(tiles, MAX_BLOCKS),), (self._block,)
        tables = self._rows, self._lines
        counting = *self._text, self._kinds, numpy.uint64(tiles), *tables
        module.get_function("count_rows")(*grid, counting)
        module.get_function("scan_tiles")((1,), (SCAN_BLOCK,), (*tables, numpy.uint64(tiles), self._results))
        found = self._results.get()
        self._counted = Counted(int(found[0]), int(found[1]))
        return self._counted

    def parse(self, dtype: Any) -> Parsed:
        """Parse what was counted last into ids of uint32 or uint64.

        Ids that do not fit uint32 are cut: `most` tells that it has to be done again with uint64.
        """
        import cupy

        assert self._text is not None
        rows = self._counted.rows
        source, target = cupy.empty(rows, dtype), cupy.empty(rows, dtype)
        weight = cupy.empty(rows if self._weighted else 0, numpy.float64)
        self._results[:] = self._fresh
        tiles = -(-int(self._text[2]) // TILE)
        module = load(SOURCE, ID=vertex_macro(numpy.dtype(dtype)))
        tables = *self._text, self._kinds, numpy.uint64(tiles), self._rows
        grid = (min(tiles, MAX_BLOCKS),), (self._block,)
        arguments = (*tables, *self._grammar, source, target, weight, self._results)
        module.get_function("parse_rows")(*grid, arguments)
        found = self._results.get()
        fault, least, most = (int(found[i]) for i in range(2, 5))
        return Parsed(source, target, weight if self._weighted else None, least, most, fault == NONE)
