"""The rendezvous of a rank group: ranks in different processes join it, and talk to each other through it.

Each rank shows that it has the group's key, and so does the rendezvous; nothing of a connection is unpickled
before. Each connection has a thread of its own and a time limit, so that one that says nothing holds up
nobody. The rendezvous notices a rank that dies by its closed socket, at once, and one that hangs by the time
limit. From rank to rank values go by way of the rendezvous, which never waits for a receiver: a rank that
only sends cannot hold up another.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge, wait
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gravel.stages.rank_group import Report

TIME_LIMIT = 600.0
"""Seconds that ranks wait for each other."""

JOIN_LIMIT = 120.0
"""Seconds within which every rank must have started; a worker that is reserved is idle, so this is ample."""

POLL = 0.2
VALUE, MAIL, LEAVE, FAILED, BROKEN = "value", "mail", "leave", "failed", "broken"
PROGRESS = "progress"

HANDSHAKE_LIMIT = 10.0
"""Seconds that a connection has to show the key and say its rank; it takes milliseconds."""

CONNECT_LIMIT = 30.0
"""The same for a rank that waits for the rendezvous, whose machine may be busy."""

MAX_WAITING = 64
"""Connections that have not shown the key yet; of more the oldest is cut."""

_RANK, _HOST = b"rank", b"rendezvous"
"""Added to the key, by side: with a rank's answer nobody can pass for the rendezvous."""


@dataclass(frozen=True)
class Invitation:
    """What a rank needs to find its rank group."""

    address: tuple[str, int]
    key: bytes
    rank: int
    size: int
    time_limit: float


class _Member:
    """The connection of a rank that has joined; what is put in is sent in order, on a thread of its own."""

    def __init__(self, connection: Connection[Any, Any]) -> None:
        self.connection = connection
        self._bag: SimpleQueue[Any] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, daemon=True, name="gravel-rendezvous-sender")
        self._thread.start()

    def put(self, kind: str, value: Any) -> None:
        self._bag.put((kind, value))

    def end(self) -> None:
        """Close the connection, when what was put in is sent."""
        self._bag.put(None)
        self._thread.join(5)
        self.connection.close()

    def _work(self) -> None:
        while (message := self._bag.get()) is not None:
            # The rendezvous reads from this member too, and learns by that if it is gone.
            with suppress(OSError):
                self.connection.send(message)


class Rendezvous:
    """Joins the ranks of one group; listens until all are there. `close` ends its thread and its sockets.

    `report` gets how far rank 0 is.
    """

    def __init__(
        self,
        host: str,
        size: int,
        *,
        time_limit: float = TIME_LIMIT,
        join_limit: float = JOIN_LIMIT,
        handshake_limit: float = HANDSHAKE_LIMIT,
        report: Report | None = None,
    ) -> None:
        self.size = size
        self._report = report
        self.problem: str | None = None
        self._time_limit = time_limit
        self._join_limit = join_limit
        self._key = secrets.token_bytes(32)
        self._members: dict[int, _Member] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._admission = Admission(host, self._key, self._admit, handshake_limit)
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
            return BROKEN, f"there is no rank {rank!r:.80} among {self.size}"
        with self._lock:
            if rank in self._members:
                return BROKEN, f"rank {rank} has joined already"
            self._members[rank] = _Member(connection)
        return None

    def _serve(self) -> None:
        try:
            self.problem = self._await_members() or self._exchange()
        except Exception as error:
            self.problem = f"the rank group's rendezvous failed: {error}"
        with self._lock:
            members = list(self._members.values())
        for member in members:
            member.put(BROKEN, self.problem or "the rank group was dissolved")
        for member in members:
            member.end()

    def _await_members(self) -> str | None:
        start = time.monotonic()
        while len(self._members) < self.size and not self._closed.is_set():
            if time.monotonic() - start > self._join_limit:
                missing = sorted(set(range(self.size)) - set(self._members))
                return f"ranks {missing} did not start within {self._join_limit:g} s"
            time.sleep(0.005)
        return None

    def _exchange(self) -> str | None:
        """Pass on what ranks send until all have left or the group is closed; returns why it broke."""
        self._admission.close()
        everybody = set(range(self.size))
        values: dict[int, Any] = {}
        gone: set[int] = set()
        since = time.monotonic()
        while len(gone) < self.size and not self._closed.is_set():
            present = {self._members[rank].connection: rank for rank in everybody - gone}
            for ready in wait(list(present), POLL):
                rank = present[ready]  # type: ignore[index]
                try:
                    kind, value = self._members[rank].connection.recv()
                except (EOFError, OSError):
                    return f"rank {rank} died"
                if kind == FAILED:
                    return f"rank {rank} failed: {value}"
                if kind == MAIL:
                    to, number, parcel = value
                    if to in gone:
                        return f"rank {to} ended while rank {rank} sent to it"
                    self._members[to].put(MAIL, (rank, number, parcel))
                elif kind == PROGRESS:
                    if self._report is not None and rank == 0:
                        self._report(*value)
                elif kind == LEAVE:
                    gone.add(rank)
                    for other in everybody - gone:
                        self._members[other].put(LEAVE, rank)
                else:
                    since = since if values else time.monotonic()
                    values[rank] = value
            if values and gone:
                return f"ranks {sorted(gone)} ended while ranks {sorted(values)} waited for them"
            if len(values) == self.size:
                gathered = [values[rank] for rank in range(self.size)]
                for member in self._members.values():
                    member.put(VALUE, gathered)
                values = {}
            if values and time.monotonic() - since > self._time_limit:
                missing = sorted(everybody - set(values))
                return f"ranks {missing} kept the others waiting for more than {self._time_limit:g} s"
        return None


class Admission:
    """Listens for the ranks of a group until it is closed.

    `admit(rank, connection)` is called, on any thread, for each connection that has the key. What it returns
    is sent there before the connection is closed; None means that it stays.
    """

    def __init__(
        self, host: str, key: bytes, admit: Callable[[Any, Connection[Any, Any]], object | None], limit: float
    ) -> None:
        self._key = key
        self._admit = admit
        self._limit = limit
        self._waiting: list[socket.socket] = []
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._socket = socket.create_server((host, 0), backlog=MAX_WAITING)
        self.address: tuple[str, int] = self._socket.getsockname()[:2]
        threading.Thread(target=self._listen, daemon=True, name="gravel-admission").start()

    def close(self) -> None:
        """Let nobody in any more."""
        self._closed.set()
        _cut(self._socket)  # wakes the thread that listens, which closes it
        with self._lock:
            for peer in self._waiting:
                _cut(peer)

    def _listen(self) -> None:
        with self._socket:
            while not self._closed.is_set():
                try:
                    peer, _ = self._socket.accept()
                except OSError:  # the end, or too many open files
                    self._closed.wait(POLL)
                    continue
                with self._lock:
                    self._waiting.append(peer)
                    if len(self._waiting) > MAX_WAITING:
                        _cut(self._waiting[0])
                threading.Thread(
                    target=self._hear, args=(peer,), daemon=True, name="gravel-handshake"
                ).start()

    def _hear(self, peer: socket.socket) -> None:
        connection = _connection(peer)
        try:
            with _cut_after(self._limit, peer):
                deliver_challenge(connection, self._key + _RANK)
                answer_challenge(connection, self._key + _HOST)
                rank = connection.recv()
        except Exception:  # a stranger without the key, or a rank that died
            connection.close()
            return
        finally:
            with self._lock:
                self._waiting.remove(peer)
            peer.close()
        refusal = "the group has ended" if self._closed.is_set() else self._admit(rank, connection)
        if refusal is not None:
            with suppress(OSError), connection:
                connection.send(refusal)


def join(address: tuple[str, int], key: bytes, rank: int) -> Connection[Any, Any]:
    """Connect a rank to its rendezvous; raises OSError or EOFError where there is none that has the key."""
    with socket.create_connection(address, timeout=CONNECT_LIMIT) as peer:
        peer.settimeout(None)
        connection = _connection(peer)
        try:
            with _cut_after(CONNECT_LIMIT, peer):
                answer_challenge(connection, key + _RANK)
                deliver_challenge(connection, key + _HOST)
                connection.send(rank)
        except BaseException as error:
            connection.close()
            if isinstance(error, OSError | EOFError) or not isinstance(error, Exception):
                raise
            raise ConnectionError(f"what answers at {address[0]}:{address[1]} has another key") from error
    return connection


def _connection(peer: socket.socket) -> Connection[Any, Any]:
    """Return what sends pickled values over a socket, with a descriptor of its own."""
    # Small messages go without waiting for the answer to the one before, which may take 40 ms.
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return Connection(os.dup(peer.fileno()))


@contextmanager
def _cut_after(seconds: float, peer: socket.socket) -> Iterator[None]:
    timer = threading.Timer(seconds, _cut, [peer])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _cut(peer: socket.socket) -> None:
    with suppress(OSError):  # it is gone already
        peer.shutdown(socket.SHUT_RDWR)
