"""Messages between GPUs over NCCL, any number of hosts."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.exchange import RankGroup
from gravel.kernels.papers.pan2018.links import PATTERNS
from gravel.kernels.papers.pan2018.links.wire import masks, payload
from gravel.kernels.partition.nccl.communicator import NcclCommunicator, connect
from gravel.kernels.partition.nccl.communicator import why_not as why_not_here
from gravel.kernels.partition.options import BARRIER_SECONDS


def why_not(group: RankGroup) -> str | None:
    """Say why NCCL cannot be used, or None; alike on all ranks."""
    import socket

    import cupy

    gathered = group.all_gather((why_not_here(), (socket.gethostname(), cupy.cuda.Device().pci_bus_id)))
    missing = [problem for problem, _ in gathered if problem is not None]
    if missing:
        return str(missing[0])
    return "several ranks share a GPU" if len({place for _, place in gathered}) < len(gathered) else None


class NcclLink:
    """One rank's GPU, the current device; turns are enqueued at once and timed on the device.

    Parameters
    ----------
    largest : bytes of the largest message; the GPU has three for each rank.
    total : bytes for each other rank that `cut` cuts into messages.

    """

    name = "nccl"
    patterns: tuple[str, ...] = PATTERNS

    def __init__(
        self, group: RankGroup, *, largest: int, total: int, time_limit: float = BARRIER_SECONDS
    ) -> None:
        import cupy

        self._group, self._total = group, total
        self._others = [rank for rank in range(group.size) if rank != group.rank]
        self._communicator: NcclCommunicator = connect(group, time_limit=time_limit)
        self._stream = cupy.cuda.Stream(non_blocking=True)
        self._own = cupy.zeros(largest // 8, numpy.uint64)
        self._everyones = cupy.zeros(group.size * (largest // 8), numpy.uint64)
        self._together = cupy.zeros(largest // 8, numpy.uint64)

    def _from(self, rank: int, words: int) -> Any:
        return self._everyones[rank * words : (rank + 1) * words]

    def run(self, pattern: str, size: int, turns: int) -> float:
        """See `gravel.kernels.papers.pan2018.links.Link`."""
        import cupy

        words = size // 8
        self._own[:words].set((masks if pattern == "reduce" else payload)(self._group.rank, size))
        self._everyones.fill(0)
        cupy.cuda.Device().synchronize()
        act = getattr(self, f"_{pattern}")
        self._group.barrier()
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record(self._stream)
        for _ in range(turns):
            act(words)
        end.record(self._stream)
        self._communicator.wait(end)
        self._communicator.rest()
        taken = float(cupy.cuda.get_elapsed_time(start, end)) / 1e3
        return taken / 2 if pattern == "pair" else taken

    def _meet(self, words: int) -> None:
        self._communicator.all_gather(self._own[:1], self._everyones[: self._group.size], self._stream)

    def _pair(self, words: int) -> None:
        if self._group.rank > 1:
            return
        other = 1 - self._group.rank
        for sender in (0, 1):
            sends = [(other, self._own[:words])] if sender == self._group.rank else []
            receives = [(other, self._from(other, words))] if sender != self._group.rank else []
            self._communicator.exchange(sends, receives, self._stream)

    def _exchange(self, words: int) -> None:
        sends = [(rank, self._own[:words]) for rank in self._others]
        receives = [(rank, self._from(rank, words)) for rank in self._others]
        self._communicator.exchange(sends, receives, self._stream)

    def _cut(self, words: int) -> None:
        for _ in range(-(-self._total // (8 * words))):
            self._exchange(words)

    def _reduce(self, words: int) -> None:
        import cupy

        whole = self._everyones[: self._group.size * words]
        self._communicator.all_gather(self._own[:words], whole, self._stream)
        with self._stream:
            together = self._together[:words]
            together[...] = self._own[:words]
            for rank in self._others:
                cupy.bitwise_or(together, self._from(rank, words), out=together)

    def arrived(self, pattern: str, size: int) -> bool:
        """See `gravel.kernels.papers.pan2018.links.Link`."""
        rank, words = self._group.rank, size // 8
        if pattern == "reduce":
            whole = numpy.bitwise_or.reduce([masks(each, size) for each in range(self._group.size)])
            return bool(numpy.array_equal(self._together[:words].get(), whole))
        senders = self._others if pattern in ("exchange", "cut") else [1 - rank]
        if pattern == "meet" or (pattern == "pair" and rank > 1):
            return True
        return all(numpy.array_equal(self._from(each, words).get(), payload(each, size)) for each in senders)

    def close(self) -> None:
        """See `gravel.kernels.papers.pan2018.links.Link`."""
        self._communicator.close()
