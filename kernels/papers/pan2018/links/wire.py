"""Messages between workers as searches on the CPU send them, through `gravel.kernels.exchange`."""

from __future__ import annotations

import time
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.exchange import Endpoint, Program, RankGroup, drive, gather, swap
from gravel.kernels.papers.pan2018.links import PATTERNS
from gravel.kernels.partition.masks import Reduction


def payload(rank: int, size: int) -> NDArray[Any]:
    """Make a message that tells whose it is."""
    words = numpy.arange(size // 8, dtype=numpy.uint64)
    words *= numpy.uint64(0x9E3779B97F4A7C15)
    words += numpy.uint64(rank)
    return words


def masks(rank: int, size: int) -> NDArray[Any]:
    """Make a mask of which every rank has other bits."""
    return numpy.full(size // 8, numpy.uint64(1) << numpy.uint64(rank % 64))


class WireLink:
    """One rank's end of the wire that a rank group has."""

    name = "wire"
    patterns: tuple[str, ...] = PATTERNS

    def __init__(self, group: RankGroup, *, total: int) -> None:
        self._group, self._total = group, total
        self._got: Any = None

    def run(self, pattern: str, size: int, turns: int) -> float:
        """See `gravel.kernels.papers.pan2018.links.Link`."""
        made = (masks if pattern == "reduce" else payload)(self._group.rank, size)
        end = Endpoint(self._group)
        program: Program[Any] = getattr(self, f"_{pattern}")(end, made, turns)
        self._group.barrier()
        started = time.perf_counter()
        self._got = drive(program, self._group)
        taken = time.perf_counter() - started
        return taken / 2 if pattern == "pair" else taken

    @staticmethod
    def _meet(end: Endpoint, made: Any, turns: int) -> Program[Any]:
        for _ in range(turns):
            yield from gather(end, None)

    @staticmethod
    def _pair(end: Endpoint, made: Any, turns: int) -> Program[Any]:
        got: Any = None
        for _ in range(turns):
            for sender, receiver in ((0, 1), (1, 0)):
                parcels = {receiver: made} if end.rank == sender else {}
                ticket = end.post(parcels, (sender,) if end.rank == receiver else ())
                if end.rank == receiver:
                    got = yield ticket
        return got

    @staticmethod
    def _exchange(end: Endpoint, made: Any, turns: int) -> Program[Any]:
        got: Any = None
        for _ in range(turns):
            got = yield from swap(end, dict.fromkeys(end.others, made))
        return got

    def _cut(self, end: Endpoint, made: Any, turns: int) -> Program[Any]:
        got: Any = None
        for _ in range(turns):
            count = -(-self._total // made.nbytes)
            tickets = [end.post(dict.fromkeys(end.others, made), end.others) for _ in range(count)]
            for ticket in tickets:
                got = yield ticket
        return got

    @staticmethod
    def _reduce(end: Endpoint, made: Any, turns: int) -> Program[Any]:
        reduction = Reduction(end, changed_only=False)
        got: Any = None
        for _ in range(turns):
            got = yield from reduction.end(made, reduction.begin(made))
        return got

    def arrived(self, pattern: str, size: int) -> bool:
        """See `gravel.kernels.papers.pan2018.links.Link`."""
        ranks = self._group.size
        if pattern == "reduce":
            together = numpy.bitwise_or.reduce([masks(rank, size) for rank in range(ranks)])
            return bool(numpy.array_equal(self._got, together))
        if pattern == "meet" or (pattern == "pair" and self._group.rank > 1):
            return True
        others = ranks - 1 if pattern != "pair" else 1
        right = all(numpy.array_equal(words, payload(rank, size)) for rank, words in self._got.items())
        return len(self._got) == others and right

    def close(self) -> None:
        """Nothing was taken."""
