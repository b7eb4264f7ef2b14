"""Betweenness from up to 64 sources at once on a GPU, a row of numbers a vertex; see `rows.cu`."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.betweenness.buffers import LANES, MAX_WORDS, PIECE, in_rows
from gravel.kernels.betweenness.interface import TooManyPaths, Wanted
from gravel.kernels.buffers import exact, make
from gravel.kernels.cuda import blocks_for, event_milliseconds, load, vertex_macro
from gravel.kernels.cuda.pieces import Pieces
from gravel.kernels.distances.interface import refuse_width

SOURCE = "kernels/betweenness/rows.cu"
KERNELS = (
    *("start", "forward", "forward_pieces", "forward_long", "backward", "backward_pieces", "backward_long"),
    *("count_reached", "add_begins"),
)
BLOCK = 256
MAX_BLOCKS = 1 << 13
NONE = (1 << 16) - 1
"""The level of a vertex that is not reached, which ends the levels that a row has room for."""


class InRows:
    """A prepared graph: rows of bits, levels, path counts and shares, and the sums, on the device."""

    def __init__(self, wanted: Wanted, memory: int) -> None:
        import cupy

        forward, backward, sources, size = wanted.forward, wanted.backward, wanted.sources, wanted.size
        self._count, dtype = wanted.vertices, forward[1].dtype
        symmetric = forward is backward or forward[1] is backward[1]
        self._pieces = [Pieces(forward[0], PIECE, dtype)]
        self._pieces.append(self._pieces[0] if symmetric else Pieces(backward[0], PIECE, dtype))
        pieces = max(each.count for each in self._pieces)
        listed = sum(each.bytes for each in self._pieces[: 1 if symmetric else 2])

        def bytes_for(words: int) -> int:
            return listed + exact(in_rows(self._count, pieces, words, size))

        words = max(1, min(MAX_WORDS, -(-sources // LANES)))
        while words > 1 and bytes_for(words) > memory:
            words -= 1
        refuse_width(bytes_for(words), memory, LANES)
        self.batch, self.bytes = LANES * words, bytes_for(words)
        self.form = f"rows of {self.batch}"
        self.milliseconds = 0.0
        self._forward, self._backward = forward, backward
        self._of_arcs, self._endpoints = wanted.of_arcs, wanted.endpoints
        module = load(SOURCE, VERTEX=vertex_macro(dtype), WORDS=words, ARCS=int(wanted.of_arcs))
        self._kernels = {name: module.get_function(name) for name in KERNELS}
        made = list(make(in_rows(self._count, pieces, words, size), cupy).values())
        self._seen, self._bits, self._live, self.sums = made[0], made[1:3], made[10:12], made[12]
        self._level, self._paths, self._share, self._piece_sums, self._piece_bits = made[3:8]
        self._sources, self._reached = made[8:10]

    def run(self, sources: NDArray[numpy.int64]) -> None:
        """Add the shares of up to `batch` sources to `sums`; `milliseconds` is the time of the last run.

        Raises ValueError where a distance is 65,535 or more.
        """
        self._sources[: len(sources)].set(numpy.ascontiguousarray(sources, numpy.int64))
        self.milliseconds = event_milliseconds(lambda: self._search(sources))

    def _search(self, sources: NDArray[numpy.int64]) -> None:
        count = len(sources)
        words = self.batch // LANES
        self._level.fill(NONE)
        for each in (self._seen, *self._bits):
            each.fill(0)
        live, found = self._live
        alive = numpy.zeros(words + 1, numpy.uint32)
        for source in range(count):
            alive[source // LANES] |= numpy.uint32(1 << source % LANES)
        live.set(alive)
        now, following = self._bits
        begun = (self._sources, numpy.uint32(count), self._seen, now, self._level, self._paths)
        self._kernels["start"]((1,), (BLOCK,), begun)
        depth = 0
        while True:
            depth += 1
            if depth == NONE:
                raise ValueError(
                    f"a vertex is {NONE:,} levels or more away from vertex {sources[0]} or another of its "
                    "batch, and rows have no room for its level; pass deep=True"
                )
            found.fill(0)
            found[words:].fill(NO_SOURCE)
            self._level_forward(live, now, following, found, depth)
            flags = found.get()
            if int(flags[words]) != NO_SOURCE:
                raise TooManyPaths(int(sources[int(flags[words])]))
            (now, following), (live, found) = (following, now), (found, live)
            if not flags[:words].any():
                break
        # Here `now` has no bits: nothing is below the last level.
        for level in range(depth - 1, -1, -1):
            self._level_backward(now, following, level)
            now, following = following, now
        if self._endpoints and not self._of_arcs:
            self._reached.fill(0)
            self._launch(
                "count_reached", 32 * self._count, self._seen, numpy.uint64(self._count), self._reached
            )
            begins = (self._sources, numpy.uint32(count), self._reached, self.sums)
            self._kernels["add_begins"]((1,), (1,), begins)

    def _level_forward(self, live: Any, now: Any, following: Any, found: Any, depth: int) -> None:
        n, longest, level = numpy.uint64(self._count), numpy.uint64(PIECE), numpy.uint32(depth)
        rows, pieces = self._backward, self._pieces[1]
        into = (self._seen, now, following, self._level, self._paths, found, level)
        self._launch("forward", self._count, *rows, n, longest, live, *into)
        if not pieces.count:
            return
        sums = self._piece_sums, self._piece_bits
        fronts = (live, self._seen, now, self._paths)
        threads = 32 * pieces.count
        self._launch("forward_pieces", threads, *rows, *pieces.each, longest, *fronts, *sums)
        results = (self._seen, following, self._level, self._paths, found, level)
        self._launch("forward_long", 32 * pieces.rows, *pieces.of_rows, *sums, *results)

    def _level_backward(self, below: Any, here: Any, depth: int) -> None:
        n, longest = numpy.uint64(self._count), numpy.uint64(PIECE)
        options = numpy.uint32(depth), numpy.uint32(self._endpoints)
        rows, pieces = self._forward, self._pieces[0]
        numbers = (self._paths, self._share, self.sums)
        self._launch("backward", self._count, *rows, n, longest, below, here, self._level, *numbers, *options)
        if not pieces.count:
            return
        sums = self._piece_sums, self._piece_bits
        threads = 32 * pieces.count
        self._launch("backward_pieces", threads, *rows, *pieces.each, longest, below, here, *numbers, *sums)
        self._launch("backward_long", 32 * pieces.rows, *pieces.of_rows, *sums, here, *numbers, *options)

    def _launch(self, name: str, threads: int, *arguments: Any) -> None:
        blocks = blocks_for(max(1, threads), BLOCK, most=MAX_BLOCKS)
        self._kernels[name]((blocks,), (BLOCK,), arguments)


NO_SOURCE = (1 << 32) - 1
