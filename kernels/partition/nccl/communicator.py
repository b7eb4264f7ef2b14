"""What ranks send each other over NCCL.

Every operation is enqueued on a stream, and all ranks enqueue the same ones in the same order. Only `wait`
waits: it looks at an event again and again, so that it can end when another rank is gone.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from gravel.kernels.exchange import Gathering
from gravel.kernels.partition.options import BARRIER_SECONDS, given_up

CONNECT_LIMIT = 60.0
"""Seconds within which all ranks must have connected: NCCL looks at network cards and links first."""

LOOK = 0.1
"""Seconds between two looks of the thread that watches over a communicator."""

CALL_LIMIT = 5.0
"""Seconds that the watch lets a call of NCCL finish before it ends the communicator all the same."""

Message = tuple[int, Any]
"""The other rank, and a contiguous array on the device."""


class NcclMissing(ValueError):
    """NCCL cannot be used here, or not by these ranks."""


def why_not() -> str | None:
    """Say why NCCL cannot be used in this process, or None where it can."""
    try:
        with warnings.catch_warnings():
            # CuPy warns, at length, and then says `available = False`.
            warnings.simplefilter("ignore")
            from cupy.cuda import nccl
    except ImportError as error:
        return f"CuPy's NCCL module is not here ({error})"
    if not getattr(nccl, "available", False):
        return "libnccl.so.2 is not here: pip install nvidia-nccl-cu13 (or -cu12, for CUDA 12)"
    return None


class Watch:
    """Ends a communicator when nothing was done for too long, or NCCL tells of an error."""

    def __init__(self, limit: float, failed: Any, end: Any) -> None:
        self._limit, self._failed, self._end = limit, failed, end
        self._since: float | None = None
        self._over = threading.Event()
        self.problem: str | None = None
        self.calls = threading.RLock()
        threading.Thread(target=self._look, daemon=True, name="gravel-nccl-watch").start()

    def touch(self) -> None:
        """Begin to count anew."""
        self._since = time.monotonic()

    def rest(self) -> None:
        """Stop counting."""
        self._since = None

    def stop(self) -> None:
        """End the thread."""
        self._over.set()

    def _look(self) -> None:
        while not self._over.wait(LOOK):
            since = self._since
            if since is None:
                continue
            problem = self._failed()
            if problem is None and time.monotonic() - since > self._limit:
                problem = given_up(self._limit)
            if problem is not None:
                self.problem = problem
                # A call that another thread is in must not lose its communicator, unless it hangs itself.
                acquired = self.calls.acquire(timeout=CALL_LIMIT)
                try:
                    self._end()
                finally:
                    if acquired:
                        self.calls.release()
                return


class NcclCommunicator:
    """Carries arrays between the ranks' GPUs, of which this is one.

    Arrays of one operation have the same dtype. A thread of its own aborts what hangs, so that no kernel goes
    on spinning.
    """

    def __init__(self, raw: Any, rank: int, size: int, *, time_limit: float = BARRIER_SECONDS) -> None:
        from cupy.cuda import nccl

        self.rank, self.size = rank, size
        self._nccl, self._raw = nccl, raw
        self._types = {
            "int32": nccl.NCCL_INT32,
            "uint32": nccl.NCCL_UINT32,
            "int64": nccl.NCCL_INT64,
            "uint64": nccl.NCCL_UINT64,
        }
        self._ending, self._ended = threading.Lock(), False
        self._watch = Watch(time_limit, self._failure, self._end)

    def _end(self) -> None:
        # Its memory is gone then: nobody may end it a second time, or ask it for errors meanwhile.
        with self._ending:
            if not self._ended:
                self._ended = True
                self._raw.abort()

    def _failure(self) -> str | None:
        with self._ending:
            if self._ended:
                return None
            try:
                self._raw.check_async_error()
            except Exception as error:  # CuPy has no name for some, and then raises KeyError
                return f"NCCL lost another rank ({error})"
        return None

    def _type(self, array: Any) -> int:
        kind: int = self._types[str(array.dtype)]
        return kind

    @contextmanager
    def _calling(self) -> Iterator[None]:
        """Make a call that the watch does not end meanwhile, and tell its faults as the watch would."""
        with self._watch.calls:
            if self._watch.problem is not None:
                raise RuntimeError(self._watch.problem)
            self._watch.touch()
            try:
                yield
            except self._nccl.NcclError as error:
                raise RuntimeError(self._watch.problem or f"NCCL lost another rank ({error})") from None

    def all_gather(self, own: Any, everyones: Any, stream: Any) -> None:
        """Put each rank's array behind each other, in rank order; `own` may be a part of `everyones`."""
        with self._calling():
            kind = self._type(own)
            self._raw.allGather(own.data.ptr, everyones.data.ptr, own.size, kind, stream.ptr)

    def exchange(self, sends: Iterable[Message], receives: Iterable[Message], stream: Any) -> None:
        """Send and receive all of these at once; between two ranks they match in order."""
        with self._calling():
            self._nccl.groupStart()
            try:
                for to, array in sends:
                    self._raw.send(array.data.ptr, array.size, self._type(array), to, stream.ptr)
                for sender, array in receives:
                    self._raw.recv(array.data.ptr, array.size, self._type(array), sender, stream.ptr)
            finally:
                self._nccl.groupEnd()

    def smallest(self, rows: Any, own: Any, stream: Any) -> None:
        """Give every rank the least of all ranks' for its row of `rows`, uint64."""
        with self._calling():
            kind, least = self._type(own), self._nccl.NCCL_MIN
            self._raw.reduceScatter(rows.data.ptr, own.data.ptr, own.size, kind, least, stream.ptr)

    def wait(self, event: Any) -> None:
        """Wait for an event; raises RuntimeError when another rank failed or the time limit is over."""
        with self._calling():
            pass
        while not event.done:
            if self._watch.problem is not None:
                break
            # Other threads may need to go on: the watch, or ranks of this process.
            os.sched_yield()
        if self._watch.problem is not None:
            # What ends the communicator must be done before anything that it uses is freed.
            self._end()
            raise RuntimeError(self._watch.problem)
        self._watch.touch()

    def rest(self) -> None:
        """Say that nothing is waited for until the next operation."""
        self._watch.rest()

    def close(self) -> None:
        """End at once, whatever is still under way."""
        self._watch.stop()
        # Unlike `destroy`, this waits for nobody.
        with suppress(Exception):
            self._end()


def connect(
    group: Gathering, *, time_limit: float = BARRIER_SECONDS, connect_limit: float = CONNECT_LIMIT
) -> NcclCommunicator:
    """Connect the rank group's ranks, each on the current device of its process or thread.

    Rank 0 makes the unique id, which the group passes along. Raises NcclMissing, in every rank, where one has
    no NCCL or two are on the same GPU, and RuntimeError when not all have connected within `connect_limit`
    seconds.
    """
    import cupy

    # No multicast over NVLink.
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
    here = (
        None if (problem := why_not()) is not None else (socket.gethostname(), cupy.cuda.Device().pci_bus_id)
    )
    gathered = group.all_gather((problem, here))
    for rank, (missing, _) in enumerate(gathered):
        if missing is not None:
            raise NcclMissing(f"transport nccl needs NCCL on every rank, and rank {rank} has none: {missing}")
    places = [place for _, place in gathered]
    for rank, place in enumerate(places):
        if place in places[:rank]:
            raise NcclMissing(
                f"ranks {places.index(place)} and {rank} are on the same GPU ({place[1]} of {place[0]}), and "
                "NCCL takes one rank of each; use as many GPUs as ranks, or transport: peer"
            )
    from cupy.cuda import nccl

    unique = group.all_gather(nccl.get_unique_id() if group.rank == 0 else None)[0]
    made: list[Any] = []
    device = cupy.cuda.Device().id

    def make() -> None:
        with cupy.cuda.Device(device):
            try:
                raw = nccl.NcclCommunicator(group.size, unique, group.rank)
                _say_hello(raw, group.rank, group.size)
                made.append(raw)
            except Exception as error:
                made.append(error)

    # It cannot be interrupted; left behind, it ends with the process.
    thread = threading.Thread(target=make, daemon=True, name="gravel-nccl-connect")
    thread.start()
    thread.join(connect_limit)
    if not made:
        raise RuntimeError(f"rank {group.rank}: not all ranks connected over NCCL within {connect_limit:g} s")
    if isinstance(made[0], Exception):
        raise RuntimeError(f"rank {group.rank} cannot connect over NCCL: {made[0]}")
    return NcclCommunicator(made[0], group.rank, group.size, time_limit=time_limit)


def _say_hello(raw: Any, rank: int, size: int) -> None:
    """Connect with every other rank: a first message waits on the host, where nothing could end it later."""
    import cupy
    from cupy.cuda import nccl

    stream = cupy.cuda.Stream(non_blocking=True)
    own, all_of_them = cupy.zeros(size, cupy.uint32), cupy.zeros(size * size, cupy.uint32)
    cupy.cuda.Device().synchronize()
    kind, one = nccl.NCCL_UINT32, own.data.ptr
    raw.allGather(one, all_of_them.data.ptr, size, kind, stream.ptr)
    raw.reduceScatter(all_of_them.data.ptr, one, size, kind, nccl.NCCL_MIN, stream.ptr)
    nccl.groupStart()
    for other in range(size):
        if other != rank:
            raw.send(one, 1, kind, other, stream.ptr)
            raw.recv(all_of_them.data.ptr + 4 * other, 1, kind, other, stream.ptr)
    nccl.groupEnd()
    cupy.cuda.Device().synchronize()
