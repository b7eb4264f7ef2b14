"""Messages between GPUs of one host that read each other's memory."""

from __future__ import annotations

import numpy

from gravel.kernels.buffers import Buffer
from gravel.kernels.cuda import load, resident_blocks
from gravel.kernels.exchange import RankGroup
from gravel.kernels.papers.pan2018.links.wire import masks, payload
from gravel.kernels.partition.cuda.launching import DeviceBarrier
from gravel.kernels.partition.cuda.mapping import Mapping, why_no_peers
from gravel.kernels.partition.cuda.table import Slab, Table
from gravel.kernels.partition.options import BARRIER_SECONDS, given_up

__all__ = ["PeerLink", "why_no_peers"]

BLOCK = 512
NUMBERS = {"meet": 0, "pair": 1, "exchange": 2, "reduce": 3}


class _Buffer(Table):
    """A rank's messages, one after the other by the rank that they are for."""

    fields = ("buffer", "rank")

    def __init__(self, rank: int, words: int) -> None:
        self.slab = Slab([Buffer("buffer", "u8", words)])
        self.arrays = dict(self.slab.arrays)
        self.numbers = {"rank": rank}


class PeerLink:
    """One rank's GPU, the current device.

    Parameters
    ----------
    largest : bytes of the largest message; the GPU has a message for each rank, and one that it takes.
    time_limit : seconds that a device waits for the others at one barrier.

    """

    name = "peer"
    patterns: tuple[str, ...] = ("meet", "pair", "exchange", "reduce")

    def __init__(self, group: RankGroup, *, largest: int, time_limit: float = BARRIER_SECONDS) -> None:
        import cupy

        self._group = group
        buffer = _Buffer(group.rank, group.size * (largest // 8))
        self._point = DeviceBarrier()
        self._mapping = Mapping(group, buffer, self._point)
        self._buffer = buffer.arrays["buffer"]
        self._taken = cupy.zeros(largest // 8, numpy.uint64)
        self._clock = cupy.zeros(2, numpy.uint64)
        self._filled = ("", 0)
        self._turns = 0
        self._kernel = load("kernels/papers/pan2018/links/links.cu").get_function("links")
        self._blocks = resident_blocks(self._kernel, BLOCK)
        self._time_limit = time_limit
        self._arguments = (
            self._point.described(self._mapping.points, group.rank, time_limit),
            cupy.asarray(numpy.concatenate(self._mapping.rows)),
            self._taken,
            self._clock,
            numpy.uint64(group.size),
            numpy.uint64(group.rank),
        )

    def _fill(self, pattern: str, size: int) -> None:
        """Write the messages, unless they are there: of each rank for all others alike, or its mask."""
        wanted = "masks" if pattern == "reduce" else "messages", size
        if self._filled == wanted or pattern == "meet":
            return
        rank, words = self._group.rank, size // 8
        made = (masks if pattern == "reduce" else payload)(rank, size)
        for place in range(self._group.size):
            self._buffer[place * words : (place + 1) * words].set(made)
        self._filled = wanted

    def run(self, pattern: str, size: int, turns: int) -> float:
        """See `gravel.kernels.papers.pan2018.links.Link`."""
        import cupy

        self._fill(pattern, size)
        self._taken.fill(0)
        self._turns = turns
        # A pair reads by turns, each of which is one way.
        numbers = (size // 8, NUMBERS[pattern], turns)
        self._group.barrier()
        end = cupy.cuda.Event()
        self._kernel((self._blocks,), (BLOCK,), (*self._arguments, *map(numpy.uint64, numbers)))
        end.record()
        end.synchronize()
        if any(self._group.all_gather(self._point.aborted)):
            self._point.reset()
            self._group.all_gather(None)
            raise RuntimeError(given_up(self._time_limit))
        began, ended = self._clock.get().tolist()
        return float(ended - began) / 1e9

    def arrived(self, pattern: str, size: int) -> bool:
        """See `gravel.kernels.papers.pan2018.links.Link`."""
        rank, ranks, words = self._group.rank, self._group.size, size // 8
        got = self._taken.get()[:words]
        if pattern == "reduce":
            together = numpy.bitwise_or.reduce([masks(each, size) for each in range(ranks)])
            return bool(numpy.array_equal(got, together))
        if pattern == "exchange":
            others = [payload(each, size) for each in range(ranks) if each != rank]
            together = numpy.add.reduce(others) if others else numpy.zeros_like(got)
            return bool(numpy.array_equal(got, together))
        if pattern == "pair" and rank < min(2, self._turns):
            return bool(numpy.array_equal(got, payload(1 - rank, size)))
        return True

    def close(self) -> None:
        """See `gravel.kernels.papers.pan2018.links.Link`."""
        self._mapping.close(self._group)
