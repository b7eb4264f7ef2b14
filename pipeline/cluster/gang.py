"""Ranks in different processes that talk to each other: a hub in the stage's process, one socket per rank.

The hub notices a rank that dies by its closed socket, at once, and one that hangs by the time limit; all
the others then get `GangBroken` instead of waiting for ever. Values travel pickled between processes that
share a random key; bulk data go over NCCL or CUDA IPC, not through here.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Client, Connection, Listener, wait
from typing import Any

from stages.gang import GangBroken

TIME_LIMIT = 600.0
"""Seconds that ranks wait for each other."""

JOIN_LIMIT = 120.0
"""Seconds within which every rank must have started; a worker that is reserved is idle, so this is ample."""

_POLL = 0.2
_VALUE, _LEAVE, _FAILED, _BROKEN = "value", "leave", "failed", "broken"


@dataclass(frozen=True)
class Invitation:
    """What a rank needs to find its gang."""

    address: tuple[str, int]
    key: bytes
    rank: int
    size: int
    time_limit: float


class Hub:
    """Meets the ranks of one gang; `close` ends its thread and its sockets."""

    def __init__(
        self, host: str, size: int, *, time_limit: float = TIME_LIMIT, join_limit: float = JOIN_LIMIT
    ) -> None:
        self.size = size
        self._time_limit = time_limit
        self._join_limit = join_limit
        self._key = secrets.token_bytes(32)
        self._listener = Listener((host, 0), backlog=max(1, size), authkey=self._key)
        self._members: dict[int, Connection[Any, Any]] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self.problem: str | None = None
        threading.Thread(target=self._accept, daemon=True, name="gravel-gang-door").start()
        self._thread = threading.Thread(target=self._serve, daemon=True, name="gravel-gang-hub")
        self._thread.start()

    def invitation(self, rank: int) -> Invitation:
        """Return what rank `rank` is given."""
        address: Any = self._listener.address
        return Invitation(tuple(address), self._key, rank, self.size, self._time_limit)

    def close(self) -> None:
        """Let go of everybody; ranks that still wait get `GangBroken`."""
        self._closed.set()
        self._thread.join(5)
        self._listener.close()

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                connection = self._listener.accept()
                rank = connection.recv()
            except Exception:  # a stranger without the key, a rank that died at the door, or the end
                if self._closed.is_set():
                    return
                continue
            with self._lock:
                self._members[rank] = connection

    def _serve(self) -> None:
        try:
            self.problem = self._meet()
        except Exception as error:
            self.problem = f"the gang's hub failed: {error}"
        with self._lock:
            members = list(self._members.values())
        for connection in members:
            with suppress(OSError):
                connection.send((_BROKEN, self.problem or "the gang was dissolved"))
            connection.close()

    def _meet(self) -> str | None:
        start = time.monotonic()
        while len(self._members) < self.size:
            if self._closed.is_set():
                return None
            if time.monotonic() - start > self._join_limit:
                missing = sorted(set(range(self.size)) - set(self._members))
                return f"ranks {missing} did not start within {self._join_limit:g} s"
            time.sleep(0.005)
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
                if kind == _LEAVE:
                    gone.add(rank)
                else:
                    since = since if values else time.monotonic()
                    values[rank] = value
            if values and gone:
                return f"ranks {sorted(gone)} ended while ranks {sorted(values)} waited for them"
            if len(values) == self.size:
                gathered = [values[rank] for rank in range(self.size)]
                for rank in range(self.size):
                    self._members[rank].send((_VALUE, gathered))
                values = {}
            if values and time.monotonic() - since > self._time_limit:
                missing = sorted(set(range(self.size)) - set(values))
                return f"ranks {missing} kept the others waiting for more than {self._time_limit:g} s"
        return None


class SocketRank:
    """One rank's end of the hub (`stages.gang.RankContext`)."""

    def __init__(self, invitation: Invitation) -> None:
        self.rank = invitation.rank
        self.size = invitation.size
        self._time_limit = invitation.time_limit
        self._connection = Client(invitation.address, authkey=invitation.key)
        self._connection.send(self.rank)

    def all_gather(self, value: Any) -> list[Any]:
        """Give every rank the values of all ranks, in rank order; raises `GangBroken` if one is gone."""
        try:
            self._connection.send((_VALUE, value))
            # The hub has the same limit and knows who is late; this is for a hub that died.
            if not self._connection.poll(self._time_limit + 5 * _POLL + 1):
                raise GangBroken(f"rank {self.rank} heard nothing for {self._time_limit:g} s")
            kind, answer = self._connection.recv()
        except (EOFError, OSError) as error:
            raise GangBroken(f"rank {self.rank} lost the others: the stage that called them ended") from error
        if kind == _BROKEN:
            raise GangBroken(f"rank {self.rank} waited in vain: {answer}")
        gathered: list[Any] = answer
        return gathered

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
        return False, GangBroken(f"rank {invitation.rank} could not reach its gang: {error}")
    try:
        result = function(context, item)
    except Exception as error:
        context.leave(f"{type(error).__name__}: {error}")
        return False, error
    context.leave(None)
    return True, result
