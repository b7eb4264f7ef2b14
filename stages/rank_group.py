"""The view that a rank has of its group, and the version in which ranks are threads."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

from gravel.kernels.exchange import RankGroup

Result = TypeVar("Result")

Report = Callable[[int, int | None, str], None]
"""Takes how far something is: done, of how much, and in what unit."""


class RankContext(RankGroup, Protocol):
    """One rank's view of its rank group; what waits for a rank that is gone raises `RankGroupBroken`."""

    def progress(self, done: int, total: int | None, unit: str) -> None:
        """Report how far the group is, as `gravel.stages.context.Context.progress` does; rank 0's counts."""
        ...


def worker_name(backend: str) -> str:
    """Name this process, and its GPU, as no other worker is named."""
    where = f"{socket.gethostname()}, process {os.getpid()}"
    if backend != "cuda":
        return where
    import cupy

    return f"{where}, GPU {cupy.cuda.Device().pci_bus_id}"


class RankGroupBroken(RuntimeError):
    """Error of a rank whose peer died or timed out while it waited."""


class _ThreadGroup:
    def __init__(self, size: int, report: Report | None) -> None:
        self.report = report
        self.barrier = threading.Barrier(size)
        self.values: list[Any] = [None] * size
        self.parcels: dict[tuple[int, int, int], Any] = {}
        self.posted = threading.Condition()
        self.gone: set[int] = set()
        self.failures: list[BaseException] = []

    def leave(self, rank: int, failure: BaseException | None = None) -> None:
        """Let those go who wait for a rank that has ended."""
        with self.posted:
            self.gone.add(rank)
            if failure is not None:
                self.failures.append(failure)
            self.posted.notify_all()
        if failure is not None:
            self.barrier.abort()


class ThreadRank:
    """A rank that is a thread of this process."""

    def __init__(self, rank: int, group: _ThreadGroup, time_limit: float) -> None:
        self.rank = rank
        self.size = len(group.values)
        self._group = group
        self._time_limit = time_limit

    def all_gather(self, value: Any) -> list[Any]:
        """Exchange through shared memory; two barriers keep a fast rank from overtaking a slow one."""
        self._group.values[self.rank] = value
        self.barrier()
        values = list(self._group.values)
        self.barrier()
        return values

    def barrier(self) -> None:
        """Wait until every rank is here."""
        try:
            self._group.barrier.wait(self._time_limit)
        except threading.BrokenBarrierError:
            raise RankGroupBroken(
                f"rank {self.rank} waited in vain: another rank failed or is late"
            ) from None

    def progress(self, done: int, total: int | None, unit: str) -> None:
        """Report how far the group is."""
        if self.rank == 0 and self._group.report is not None:
            self._group.report(done, total, unit)

    def send(self, to: int, number: int, value: Any) -> None:
        """Put the value where its receiver looks."""
        with self._group.posted:
            self._group.parcels[self.rank, to, number] = value
            self._group.posted.notify_all()

    def receive(self, sender: int, number: int) -> Any:
        """Wait for a value as long as it can come."""
        group, key = self._group, (sender, self.rank, number)

        def ended() -> bool:
            return key in group.parcels or bool(group.failures) or sender in group.gone

        with group.posted:
            if not group.posted.wait_for(ended, self._time_limit) or key not in group.parcels:
                raise RankGroupBroken(f"rank {self.rank} waited in vain: rank {sender} failed or is late")
            return group.parcels.pop(key)


def run_in_threads(
    function: Callable[..., Result],
    ranks: Sequence[Any],
    *,
    time_limit: float = 600.0,
    report: Report | None = None,
) -> list[Result]:
    """Run `function(rank_context, item)` for every item at once; `report` gets how far they are.

    Of several failures the first is raised, for the others may be those of ranks that waited for it; one that
    is no `RankGroupBroken` comes before.
    """
    group = _ThreadGroup(len(ranks), report)

    def run(rank: int) -> Result:
        try:
            result = function(ThreadRank(rank, group, time_limit), ranks[rank])
        except BaseException as failure:
            group.leave(rank, failure)
            raise
        group.leave(rank)
        return result

    with ThreadPoolExecutor(max_workers=max(1, len(ranks))) as pool:
        futures = [pool.submit(run, rank) for rank in range(len(ranks))]
    if group.failures:
        raise min(group.failures, key=lambda failure: isinstance(failure, RankGroupBroken))
    return [future.result() for future in futures]
