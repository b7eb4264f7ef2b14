"""Levels of Cuthill-McKee's order on the GPU: many in one launch where they are narrow, else one at a time.

The kernels are `rcm.cu` and `rcm_wide.cu`; `gravel.kernels.order.rcm_cuda` says where searches and numberings
begin.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy

from gravel.kernels.arrays import index_bits
from gravel.kernels.buffers import make
from gravel.kernels.cuda import load, multiprocessors, resident_blocks, vertex_macro
from gravel.kernels.cuda.launch import Kernels
from gravel.kernels.order.buffers import keys, searches

NARROW = "kernels/order/rcm.cu"
WIDE = "kernels/order/rcm_wide.cu"
MAX_BLOCKS = 1 << 13
CHUNK, SIDES, TALLY_WORDS, STATE_WORDS = 2048, 3, 4, 6  # as in those files

SOLO = 512
"""Vertices of a level that one block takes alone (docs/tuning.md)."""

MAX_ARCS = 1 << 22
"""Arcs of a level beyond which a sweep of all rows costs less than walking the level's rows in the order of
its vertices."""

MAX_ARCS_ON_HOST = 1 << 16
"""The same for columns in the host's memory, whose lines come faster in order (docs/tuning.md)."""

MAX_ROW = 1 << 14
"""Arcs of a row beyond which one warp would keep the grid waiting."""


class Frontier(NamedTuple):
    """Vertices queue[begin:end], their arcs, the longest of their rows, and how many levels came before.

    `unsorted` says that their children are claimed, but not yet in the queue.
    """

    begin: int
    end: int
    arcs: int
    longest: int
    levels: int = 0
    unsorted: int = 0

    def next(self, tally: Any) -> Frontier:
        """Return the level behind it, whose vertices, arcs and longest row are in the words of a tally."""
        found, arcs, longest, _ = (int(word) for word in tally.get())
        return Frontier(self.end, self.end + found, arcs, longest, self.levels + 1)


NOWHERE = Frontier(0, 0, 0, 0, -1)
"""Before the first level."""


class Levels:
    """Workspace for searches and numberings of one graph.

    Parameters
    ----------
    row_offsets : int64 (vertices + 1,) on the device.
    column_indices : uint32 or uint64 (arcs,), sorted rows of a symmetric graph; a CuPy array over memory of
        the device, or of the host and mapped.
    rank, by_rank : (vertices,) of the columns' dtype: the place of each vertex by degree and then vertex, and
        the inverse.
    solo, most_arcs, most_row : see `SOLO`, `MAX_ARCS`, `MAX_ROW`.

    """

    def __init__(
        self,
        row_offsets: Any,
        column_indices: Any,
        rank: Any,
        by_rank: Any,
        *,
        solo: int = SOLO,
        most_arcs: int | None = None,
        most_row: int = MAX_ROW,
    ) -> None:
        import cupy

        if most_arcs is None:
            most_arcs = MAX_ARCS_ON_HOST if lies_on_host(column_indices) else MAX_ARCS
        self.vertices, self.arcs = len(row_offsets) - 1, len(column_indices)
        self.dtype = column_indices.dtype
        self.row_offsets, self.columns = row_offsets, column_indices
        self.rank, self.by_rank = rank, by_rank
        self.bits = index_bits(self.vertices)
        self.queue, self.marks = make(searches(self.vertices, self.dtype.str[1:]), cupy).values()
        self.limits = most_arcs, most_row
        self._solo = solo
        self._narrow = load(NARROW, VERTEX=vertex_macro(self.dtype))
        self._wide = Kernels(WIDE, most=MAX_BLOCKS, VERTEX=vertex_macro(self.dtype)).run
        self._tallies = cupy.zeros(SIDES * TALLY_WORDS, cupy.uint64)
        self._state = cupy.zeros(STATE_WORDS, cupy.uint64)
        self._arrivals = {name: cupy.zeros(1, cupy.uint64) for name in ("search", "number")}
        self._chunk_rows: Any = None
        self._places: Any = None
        self._keys: Any = None

    def new_tally(self) -> Any:
        """Return words for found, arcs, longest and kids, all 0."""
        self._tallies.fill(0)
        return self._tallies[:TALLY_WORDS]

    def search(self, base: int, frontier: Frontier) -> int:
        """Label what is reached, from `base` at the frontier on; returns the number of levels.

        `marks` of vertices not yet reached are below `base`.
        """
        while frontier.end > frontier.begin:
            if self._is_narrow(frontier):
                frontier = self._go("search", frontier, self.marks, self.queue, numpy.uint64(base))
            else:
                frontier = self._search_wide(base, frontier)
        return frontier.levels

    def number(self, frontier: Frontier) -> None:
        """Queue what is reached in Cuthill-McKee order.

        `marks` are the claims: all ones but 0 at the frontier, which is queue[0:end].
        """
        import cupy

        least = max(1, min(self.vertices, self.limits[0]))
        spare = cupy.empty(least, self.dtype)
        counts, places = cupy.empty(least, cupy.uint32), cupy.empty(least, cupy.uint32)
        totals = cupy.empty(self._blocks("number")[0], cupy.uint64)
        workspace = self.rank, self.by_rank, self.marks, self.queue, spare, counts, places, totals
        while frontier.end > frontier.begin:
            if self._is_narrow(frontier):
                frontier = self._go("number", frontier, *workspace)
                if not frontier.unsorted:
                    continue
            else:
                self._claim_wide(frontier)
            frontier = self._sort_level(frontier)

    def _is_narrow(self, frontier: Frontier) -> bool:
        return frontier.arcs <= self.limits[0] and frontier.longest <= self.limits[1]

    def _blocks(self, name: str) -> tuple[int, int]:
        """Blocks and threads of a cooperative kernel: a block for each multiprocessor, as large as may be."""
        kernel = self._narrow.get_function(name)
        threads = int(kernel.max_threads_per_block)
        return min(multiprocessors(), resident_blocks(kernel, threads)), threads

    def _go(self, name: str, frontier: Frontier, *workspace: Any) -> Frontier:
        """Go through narrow levels until none is left or the next is wide."""
        blocks, threads = self._blocks(name)
        self._tallies.fill(0)
        numbers = *frontier[:5], *self.limits, self._solo, frontier.levels + self.vertices + 1
        given = self.row_offsets, self.columns, *workspace, *map(numpy.uint64, numbers)
        shared = self._tallies, self._state, self._arrivals[name]
        self._narrow.get_function(name)((blocks,), (threads,), (*given, *shared))
        return Frontier(*(int(word) for word in self._state.get()))

    def _sweep(self, kernel: str, *arguments: Any) -> None:
        import cupy

        if self._chunk_rows is None:
            self._chunk_rows = cupy.empty(self.arcs // CHUNK + 1, self.dtype)
            self._wide("chunk_starts", self.vertices, self.row_offsets, self.vertices, self._chunk_rows)
        whole = self.row_offsets, self.columns, self.vertices, numpy.int64(self.arcs), self._chunk_rows
        # As many warps as run at once: together they read a window that moves through the rows.
        self._wide(kernel, multiprocessors() * 2048, *whole, *arguments)

    def _search_wide(self, base: int, frontier: Frontier) -> Frontier:
        now = base + frontier.levels
        self._sweep("sweep_labels", self.marks, base, now)
        tally = self.new_tally()
        labels = self.row_offsets, self.marks, self.vertices, now + 1
        self._wide("gather_labels", self.vertices, *labels, self.queue, frontier.end, tally)
        return frontier.next(tally)

    def _claim_wide(self, frontier: Frontier) -> None:
        import cupy

        if self._places is None:
            self._places = cupy.full(self.vertices, numpy.iinfo(self.dtype).max, self.dtype)
        span = frontier.begin, frontier.end
        self._wide("place_frontier", frontier.end - frontier.begin, self.queue, *span, self._places)
        self._sweep("sweep_claims", self._places, self.marks, *span)

    def _sort_level(self, frontier: Frontier) -> Frontier:
        """Queue the vertices that the frontier has claimed."""
        import cupy

        if (frontier.end - frontier.begin).bit_length() + self.bits > 64:
            raise ValueError(f"a level of {frontier.end - frontier.begin} vertices is too large to be sorted")
        if self._keys is None:
            self._keys = keys(self.vertices).make(cupy)
        bits = numpy.uint32(self.bits)
        tally = self.new_tally()
        claims = self.marks, self.rank, self.vertices, frontier.begin
        self._wide("gather_claims", self.vertices, *claims, bits, self._keys, tally)
        found = int(tally[0])
        claimed = self._keys[:found]
        if found:
            claimed.sort()
        level = self.row_offsets, claimed, found, bits, self.by_rank, self.queue, frontier.end
        self._wide("write_level", found, *level, tally)
        return frontier.next(tally)


def lies_on_host(array: Any) -> bool:
    """Whether a CuPy array is a view of the host's memory."""
    import cupy

    attributes = cupy.cuda.runtime.pointerGetAttributes(array.data.ptr)
    return int(attributes.type) == int(cupy.cuda.runtime.memoryTypeHost)
