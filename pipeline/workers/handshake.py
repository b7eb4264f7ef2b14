"""How ranks join their group: each shows that it has the group's key, and so does the rendezvous.

Nothing of a connection is unpickled before. Each has a thread of its own and a time limit, so that one that
says nothing holds up nobody.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from typing import Any

HANDSHAKE_LIMIT = 10.0
"""Seconds that a connection has to show the key and say its rank; it takes milliseconds."""

CONNECT_LIMIT = 30.0
"""The same for a rank that waits for the rendezvous, whose machine may be busy."""

MAX_WAITING = 64
"""Connections that have not shown the key yet; of more the oldest is cut."""

_RANK, _HOST = b"rank", b"rendezvous"
"""Added to the key, by side: with a rank's answer nobody can pass for the rendezvous."""

_PAUSE = 0.2


class Admission:
    """Listens for the ranks of a group until it is closed.

    `admit(rank, connection)` is called, on any thread, for each connection that has the key. What it returns
    is sent there before the connection is closed; None means that it stays.
    """

    def __init__(
        self,
        host: str,
        key: bytes,
        admit: Callable[[Any, Connection[Any, Any]], object | None],
        *,
        limit: float = HANDSHAKE_LIMIT,
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
                    self._closed.wait(_PAUSE)
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
