"""Ranks in different processes that talk to each other: a rendezvous in the stage's process, one socket per
rank.

The rendezvous notices a rank that dies by its closed socket, at once, and one that hangs by the time limit;
all the others then get `RankGroupBroken` instead of waiting for ever. Values travel pickled between processes
that share a random key (`admission`), and from rank to rank by way of the rendezvous, which never waits for a
receiver: a rank that only sends cannot hold up another. Bulk data of GPUs go over NCCL or CUDA IPC, not
through here.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue
from typing import Any

from gravel.pipeline.workers.handshake import HANDSHAKE_LIMIT, Admission, join
from gravel.stages.rank_group import RankGroupBroken

TIME_LIMIT = 600.0
"""Seconds that ranks wait for each other."""

JOIN_LIMIT = 120.0
"""Seconds within which every rank must have started; a worker that is reserved is idle, so this is ample."""

_POLL = 0.2
_VALUE, _MAIL, _LEAVE, _FAILED, _BROKEN = "value", "mail", "leave", "failed", "broken"


@dataclass(frozen=True)
class Invitation:
    """What a rank needs to find its rank group."""

    address: tuple[str, int]
    key: bytes
    rank: int
    size: int
    time_limit: float


class _Postman:
    """Sends to one member what is put in, in order, on a thread of its own; `end` lets it finish."""

    def __init__(self, connection: Connection[Any, Any]) -> None:
        self._connection = connection
        self._bag: SimpleQueue[Any] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, daemon=True, name="gravel-rendezvous-sender")
        self._thread.start()

    def put(self, message: tuple[str, Any]) -> None:
        self._bag.put(message)

    def end(self) -> None:
        self._bag.put(None)
        self._thread.join(5)

    def _work(self) -> None:
        while (message := self._bag.get()) is not None:
            # The rendezvous reads from this member too, and learns by that if it is gone.
            with suppress(OSError):
                self._connection.send(message)


class Rendezvous:
    """Joins the ranks of one group; listens until all are there. `close` ends its thread and its sockets."""

    def __init__(
        self,
        host: str,
        size: int,
        *,
        time_limit: float = TIME_LIMIT,
        join_limit: float = JOIN_LIMIT,
        handshake_limit: float = HANDSHAKE_LIMIT,
    ) -> None:
        self.size = size
        self._time_limit = time_limit
        self._join_limit = join_limit
        self._key = secrets.token_bytes(32)
        self._members: dict[int, Connection[Any, Any]] = {}
        self._postmen: dict[int, _Postman] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self.problem: str | None = None
        self._admission = Admission(host, self._key, self._admit, limit=handshake_limit)
        self._thread = threading.Thread(target=self._serve, daemon=True, name="gravel-rendezvous")
        self._thread.start()

    def invitation(self, rank: int) -> Invitation:
        """Return what rank `rank` is given."""
        return Invitation(self._admission.address, self._key, rank, self.size, self._time_limit)

    def close(self) -> None:
        """Let go of everybody; ranks that still wait get `RankGroupBroken`."""
        self._closed.set()
        self._thread.join(5)
        self._admission.close()

    def _admit(self, rank: Any, connection: Connection[Any, Any]) -> tuple[str, str] | None:
        """Take a rank in, or return what it is refused with."""
        if type(rank) is not int or not 0 <= rank < self.size:
            return _BROKEN, f"there is no rank {rank!r:.80} among {self.size}"
        with self._lock:
            if rank in self._members:
                return _BROKEN, f"rank {rank} has joined already"
            self._postmen[rank] = _Postman(connection)
            self._members[rank] = connection
        return None

    def _serve(self) -> None:
        try:
            self.problem = self._gather_members()
        except Exception as error:
            self.problem = f"the rank group's rendezvous failed: {error}"
        with self._lock:
            members = list(self._members)
        for rank in members:
            self._postmen[rank].put((_BROKEN, self.problem or "the rank group was dissolved"))
        for rank in members:
            self._postmen[rank].end()
            self._members[rank].close()

    def _gather_members(self) -> str | None:
        start = time.monotonic()
        while len(self._members) < self.size:
            if self._closed.is_set():
                return None
            if time.monotonic() - start > self._join_limit:
                missing = sorted(set(range(self.size)) - set(self._members))
                return f"ranks {missing} did not start within {self._join_limit:g} s"
            time.sleep(0.005)
        self._admission.close()
        values: dict[int, Any] = {}
        gone: set[int] = set()
        since = time.monotonic()
        while len(gone) < self.size:
            if self._closed.is_set():
                return None
            present = {connection: rank for rank, connection in self._members.items() if rank not in gone}
            for ready in wait(list(present), _POLL):
                rank = present[ready]  # type: ignore[index]
                try:
                    kind, value = self._members[rank].recv()
                except (EOFError, OSError):
                    return f"rank {rank} died"
                if kind == _FAILED:
                    return f"rank {rank} failed: {value}"
                if kind == _MAIL:
                    to, number, parcel = value
                    if to in gone:
                        return f"rank {to} ended while rank {rank} sent to it"
                    self._postmen[to].put((_MAIL, (rank, number, parcel)))
                elif kind == _LEAVE:
                    gone.add(rank)
                    for other in set(range(self.size)) - gone:
                        self._postmen[other].put((_LEAVE, rank))
                else:
                    since = since if values else time.monotonic()
                    values[rank] = value
            if values and gone:
                return f"ranks {sorted(gone)} ended while ranks {sorted(values)} waited for them"
            if len(values) == self.size:
                gathered = [values[rank] for rank in range(self.size)]
                for rank in range(self.size):
                    self._postmen[rank].put((_VALUE, gathered))
                values = {}
            if values and time.monotonic() - since > self._time_limit:
                missing = sorted(set(range(self.size)) - set(values))
                return f"ranks {missing} kept the others waiting for more than {self._time_limit:g} s"
        return None


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
        self._tell(_VALUE, value)
        # The rendezvous has the same limit and knows who is late; this is for a rendezvous that died.
        until = time.monotonic() + self._time_limit + 5 * _POLL + 1
        while True:
            kind, answer = self._next(until, "the others")
            if kind == _VALUE:
                gathered: list[Any] = answer
                return gathered

    def send(self, to: int, number: int, value: Any) -> None:
        """Send a value to a rank under a number; the rendezvous takes it at once."""
        self._tell(_MAIL, (to, number, value))

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
        if kind == _BROKEN:
            raise RankGroupBroken(f"rank {self.rank} waited in vain: {value}")
        if kind == _MAIL:
            sender, number, parcel = value
            self._mail[sender, number] = parcel
        elif kind == _LEAVE:
            self._gone.add(value)
        return kind, value

    def _lost(self) -> RankGroupBroken:
        # The last message of the rendezvous may still be unread.
        with suppress(EOFError, OSError):
            while self._connection.poll(0):
                kind, value = self._connection.recv()
                if kind == _BROKEN:
                    return RankGroupBroken(f"rank {self.rank} waited in vain: {value}")
        return RankGroupBroken(f"rank {self.rank} lost the others: the stage that called them ended")

    def barrier(self) -> None:
        """Wait until every rank is here."""
        self.all_gather(None)

    def leave(self, failure: str | None) -> None:
        """Say goodbye; with a failure the others stop waiting."""
        with suppress(OSError):
            self._connection.send((_LEAVE, None) if failure is None else (_FAILED, failure))
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
