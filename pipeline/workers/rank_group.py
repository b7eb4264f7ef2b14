"""One rank of a group whose ranks are processes: its end of the rendezvous.

A rank that waits for one that died or hangs gets `RankGroupBroken`. Bulk data of GPUs go over NCCL or CUDA
IPC, not through here.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from gravel.pipeline.workers.rendezvous import (
    BROKEN,
    FAILED,
    LEAVE,
    MAIL,
    POLL,
    PROGRESS,
    VALUE,
    Invitation,
    join,
)
from gravel.stages.rank_group import RankGroupBroken


class SocketRank:
    """One rank's end of the rendezvous (`gravel.stages.rank_group.RankContext`)."""

    def __init__(self, invitation: Invitation) -> None:
        self.rank = invitation.rank
        self.size = invitation.size
        self._time_limit = invitation.time_limit
        self._mail: dict[tuple[int, int], Any] = {}
        self._gone: set[int] = set()
        self._connection = join(invitation.address, invitation.key, invitation.rank)

    def all_gather(self, value: Any) -> list[Any]:
        """Give every rank the values of all ranks, in rank order; raises `RankGroupBroken` if one is gone."""
        self._tell(VALUE, value)
        # The rendezvous has the same limit and knows who is late; this is for a rendezvous that died.
        until = time.monotonic() + self._time_limit + 5 * POLL + 1
        kind, gathered = "", list[Any]()
        while kind != VALUE:
            kind, gathered = self._next(until, "the others")
        return gathered

    def send(self, to: int, number: int, value: Any) -> None:
        """Send a value to a rank under a number; the rendezvous takes it at once."""
        self._tell(MAIL, (to, number, value))

    def progress(self, done: int, total: int | None, unit: str) -> None:
        """Report how far the group is, where this is rank 0."""
        if self.rank == 0:
            self._tell(PROGRESS, (done, total, unit))

    def receive(self, sender: int, number: int) -> Any:
        """Wait for the value that a rank sent under this number; raises `RankGroupBroken` if it is lost."""
        until = time.monotonic() + self._time_limit
        while (sender, number) not in self._mail:
            if sender in self._gone:
                raise RankGroupBroken(f"rank {self.rank} waited in vain: rank {sender} ended")
            self._next(until, f"rank {sender}")
        return self._mail.pop((sender, number))

    def _tell(self, kind: str, value: Any) -> None:
        try:
            self._connection.send((kind, value))
        except (EOFError, OSError) as error:
            raise self._lost() from error

    def _next(self, until: float, whom: str) -> tuple[str, Any]:
        """Take in the next message, mail into its box; raises `RankGroupBroken` when none can come."""
        try:
            if not self._connection.poll(max(0.0, until - time.monotonic())):
                raise RankGroupBroken(
                    f"rank {self.rank} heard nothing from {whom} for {self._time_limit:g} s"
                )
            kind, value = self._connection.recv()
        except (EOFError, OSError) as error:
            raise self._lost() from error
        if kind == BROKEN:
            raise RankGroupBroken(f"rank {self.rank} waited in vain: {value}")
        if kind == MAIL:
            sender, number, parcel = value
            self._mail[sender, number] = parcel
        elif kind == LEAVE:
            self._gone.add(value)
        return kind, value

    def _lost(self) -> RankGroupBroken:
        # The last message of the rendezvous may still be unread.
        with suppress(EOFError, OSError):
            while self._connection.poll(0):
                kind, value = self._connection.recv()
                if kind == BROKEN:
                    return RankGroupBroken(f"rank {self.rank} waited in vain: {value}")
        return RankGroupBroken(f"rank {self.rank} lost the others: the stage that called them ended")

    def barrier(self) -> None:
        """Wait until every rank is here."""
        self.all_gather(None)

    def leave(self, failure: str | None) -> None:
        """Say goodbye; with a failure the others stop waiting."""
        with suppress(OSError):
            self._connection.send((LEAVE, None) if failure is None else (FAILED, failure))
        self._connection.close()


def run_rank(function: Callable[..., Any], invitation: Invitation, item: Any) -> tuple[bool, Any]:
    """Run one rank; returns (True, result) or (False, exception), so that Dask sees no failure."""
    try:
        context = SocketRank(invitation)
    except (OSError, EOFError) as error:
        return False, RankGroupBroken(f"rank {invitation.rank} could not reach its rank group: {error}")
    try:
        result = function(context, item)
    except Exception as error:
        context.leave(f"{type(error).__name__}: {error}")
        return False, error
    context.leave(None)
    return True, result
