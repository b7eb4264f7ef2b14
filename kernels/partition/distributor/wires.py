"""Wires for arrays on GPUs: through the memory of peers where these can map it, else by way of the host.

Both carry whatever a rank group carries, and arrays of a device inside tuples and lists. Among peers a rank
puts an array into its mailbox once for all that it goes to, and tells where it lies; the others copy it from
there (CUDA IPC). A mailbox has two halves, for even and for odd numbers of posts: who has everybody's post of
one number knows that all have taken theirs of the number before. So programs have to wait for a parcel from
every rank before they post again, as with `gravel.kernels.exchange.gather` and `swap`.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.arrays import backend_of
from gravel.kernels.buffers import Buffer
from gravel.kernels.exchange import RankGroup, Wire
from gravel.kernels.partition.cuda.mapping import process_id
from gravel.kernels.partition.cuda.table import ALIGNMENT, Slab
from gravel.kernels.placement.device_sharing import ANY_TO_ANY

HALF = 256 << 20
"""Bytes of a mailbox for what ranks tell of labels: pieces of 2^22 values, and delegates' predecessors."""


@dataclass(frozen=True)
class OnHost:
    """An array of a device on its way through the host."""

    array: NDArray[Any]


@dataclass(frozen=True)
class InMailbox:
    """Where an array lies in its sender's mailbox."""

    offset: int
    count: int
    dtype: str


def _within(value: Any, change: Callable[[Any], Any]) -> Any:
    """Change the values of tuples and lists, or one value."""
    if type(value) in (tuple, list):
        return type(value)(_within(each, change) for each in value)
    return change(value)


class HostWire:
    """Copies arrays of a device to the host, sends them, and copies them to the receiver's device."""

    def __init__(self, group: RankGroup) -> None:
        self.rank, self.size = group.rank, group.size
        self._group = group

    def send(self, to: int, number: int, value: Any) -> None:
        """Send a value, its arrays by way of the host."""
        self._group.send(to, number, _within(value, self._packed))

    def receive(self, sender: int, number: int) -> Any:
        """Wait for a value; its arrays are on this device."""
        return _within(self._group.receive(sender, number), lambda each: self._unpacked(sender, each))

    def _packed(self, value: Any) -> Any:
        return OnHost(value.get()) if backend_of(value) == "cuda" else value

    def _unpacked(self, sender: int, value: Any) -> Any:
        import cupy

        return cupy.asarray(value.array) if isinstance(value, OnHost) else value


class PeerWire(HostWire):
    """Lets the receiver copy arrays from the sender's mailbox; what does not fit goes by way of the host.

    All ranks make theirs at once. Raises RuntimeError where a rank cannot map another's memory.
    """

    def __init__(self, group: RankGroup, half: int = HALF) -> None:
        super().__init__(group)
        self._half = -(-half // ALIGNMENT) * ALIGNMENT
        self._slab = Slab([Buffer("mail", "u1", 2 * self._half)])
        self._mapped: list[int] = []
        self._pointers: list[int] = []
        self._number, self._filled = -1, 0
        self._posted: dict[int, tuple[Any, InMailbox]] = {}
        addresses = group.all_gather(self._address())
        problem = self._map_all(addresses)
        problems = [each for each in group.all_gather(problem) if each]
        if problems:
            self.close()
            raise RuntimeError(problems[0])

    def _address(self) -> tuple[str, int, int, bytes]:
        import cupy

        handle = bytes(cupy.cuda.runtime.ipcGetMemHandle(self._slab.pointer))
        return socket.gethostname(), process_id(), self._slab.pointer, handle

    def _map_all(self, addresses: list[tuple[str, int, int, bytes]]) -> str:
        """Map the others' mailboxes; returns what stands against it, or nothing."""
        import cupy

        flags = cupy.cuda.runtime.cudaIpcMemLazyEnablePeerAccess
        for rank, (host, process, pointer, handle) in enumerate(addresses):
            if host != socket.gethostname():
                return f"rank {rank} is on {host}, and rank {self.rank} on {socket.gethostname()}"
            if process == process_id():
                self._pointers.append(pointer)
                continue
            try:
                mapped = int(cupy.cuda.runtime.ipcOpenMemHandle(handle, flags))
            except cupy.cuda.runtime.CUDARuntimeError as error:
                return f"rank {self.rank} cannot map the memory of rank {rank}: {error}"
            self._mapped.append(mapped)
            self._pointers.append(mapped)
        return ""

    def send(self, to: int, number: int, value: Any) -> None:
        """Send a value; its arrays are in the mailbox when it goes."""
        if number != self._number:
            self._number, self._filled = number, 0
            self._posted.clear()
        super().send(to, number, value)

    def _packed(self, value: Any) -> Any:
        import cupy

        if backend_of(value) != "cuda":
            return value
        if id(value) in self._posted:
            return self._posted[id(value)][1]
        size = value.nbytes
        if self._filled + size > self._half:
            return super()._packed(value)
        offset = self._number % 2 * self._half + self._filled
        _copy(self._slab.pointer + offset, cupy.ascontiguousarray(value), size)
        self._filled += -(-size // ALIGNMENT) * ALIGNMENT
        place = InMailbox(offset, len(value), value.dtype.str)
        # The array is kept, so that no other takes its name.
        self._posted[id(value)] = value, place
        return place

    def _unpacked(self, sender: int, value: Any) -> Any:
        import cupy

        if not isinstance(value, InMailbox):
            return super()._unpacked(sender, value)
        array = cupy.empty(value.count, numpy.dtype(value.dtype))
        if value.count:
            cupy.cuda.runtime.memcpy(
                int(array.data.ptr), self._pointers[sender] + value.offset, array.nbytes, ANY_TO_ANY
            )
            cupy.cuda.Device().synchronize()
        return array

    def close(self) -> None:
        """Let go of the others' mailboxes; all ranks have to, before any frees its own."""
        import cupy

        self._group.all_gather(None)
        for pointer in self._mapped:
            cupy.cuda.runtime.ipcCloseMemHandle(pointer)
        self._mapped.clear()
        self._group.all_gather(None)


def _copy(to: int, array: Any, size: int) -> None:
    import cupy

    if size:
        cupy.cuda.runtime.memcpy(to, int(array.data.ptr), size, ANY_TO_ANY)
        # Copies within a device return before they are made, and others read from there next.
        cupy.cuda.Device().synchronize()


@contextmanager
def cuda_wire(group: RankGroup, half: int = HALF) -> Iterator[Wire]:
    """Give the wire between the GPUs of a rank group, through peers' memory where all can map it."""
    if group.size == 1:
        yield HostWire(group)
        return
    try:
        wire = PeerWire(group, half)
    except RuntimeError:
        # All ranks raise, or none: they have told each other.
        yield HostWire(group)
        return
    yield wire
    wire.close()
