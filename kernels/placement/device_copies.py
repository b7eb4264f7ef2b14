"""Arrays that a GPU made and that the host has, too: whoever wants them on the GPU again finds them there.

A stage makes an array on the device and hands it on in host memory, where it is digested and written. Beside
it the device keeps what it has, as long as nobody needs the room: `keep` notes the pair and `on_device`
returns the device's array for the host's. Nothing here is a copy of its own: neither array may be changed.
"""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

PIECE_BYTES = 64 << 20
"""Bytes that a thread touches at a time before memory is pinned, and that are read at once to be copied."""


class DeviceCopies:
    """Device arrays by the host array that they equal, the oldest first; `budget` is in bytes."""

    def __init__(self) -> None:
        self.budget = 0
        self._arrays: dict[int, tuple[weakref.ref[Any], Any]] = {}
        self._lock = threading.RLock()

    @property
    def bytes(self) -> int:
        """Bytes of the device that are taken."""
        with self._lock:
            return sum(device.nbytes for _, device in self._arrays.values())

    def keep(self, host: NDArray[Any], device: Any) -> bool:
        """Keep a device array until the host's is gone; says whether there is room for it."""
        key = id(host)
        with self._lock:
            self.make_room(self.budget - device.nbytes)
            if self.bytes + device.nbytes > self.budget:
                return False
            self._arrays[key] = (weakref.ref(host, lambda _: self._arrays.pop(key, None)), device)
        return True

    def find(self, array: Any) -> Any | None:
        """Return the device array that equals an array in host memory, or None."""
        with self._lock:
            known = self._arrays.get(id(array))
            return known[1] if known is not None and known[0]() is array else None

    def make_room(self, limit: int) -> None:
        """Let go of the oldest arrays until the rest takes at most `limit` bytes."""
        with self._lock:
            while self._arrays and self.bytes > limit:
                del self._arrays[next(iter(self._arrays))]


COPIES = DeviceCopies()
"""Of this process and its GPU."""


def on_device(array: Any) -> Any:
    """Return an array on the device: the copy that is there, or a new one."""
    import cupy

    there = COPIES.find(array)
    return cupy.asarray(array) if there is None else there


def where_it_is(array: Any) -> Any:
    """Return the device's array for one in host memory if there is one, else the array."""
    there = COPIES.find(array)
    return array if there is None else there


def part_on_device(array: Any, first: int, last: int) -> Any:
    """Return `array[first:last]` on the device: of the copy that is there, or read and copied in pieces."""
    import cupy
    import numpy

    from gravel.kernels.arrays import backend_of

    found = where_it_is(array)
    if backend_of(found) == "cuda":
        return found[first:last]
    there = cupy.empty(last - first, found.dtype)
    step = PIECE_BYTES // there.dtype.itemsize
    for low in range(first, last, step):
        part = numpy.ascontiguousarray(found[low : min(low + step, last)])
        there[low - first : low - first + len(part)].set(part)
    return there


def to_host(device: Any) -> NDArray[Any]:
    """Bring an array to host memory at the link's rate, and keep it on the device where there is room.

    The memory is pinned meanwhile, if it is large enough and the system allows it.
    """
    from gravel.kernels.placement.pinned import LEAST_IN_PLACE, PinnedRefused, pin, pinnable

    host = pinnable(device.size, device.dtype)
    pinned = None
    if host.nbytes >= LEAST_IN_PLACE:
        _touch(host)
        try:
            pinned = pin(host)
        except PinnedRefused:
            pinned = None
    device.ravel().get(out=host)
    del pinned
    host = host.reshape(device.shape)
    COPIES.keep(host, device)
    return host


def _touch(array: NDArray[Any]) -> None:
    """Have the system take the pages of an array, on all threads: pinning takes them one by one."""
    import os
    from concurrent.futures import ThreadPoolExecutor

    import numpy

    pages = array.view(numpy.uint8)
    starts = range(0, len(pages), PIECE_BYTES)

    def touch(start: int) -> None:
        pages[start : start + PIECE_BYTES : 4096] = 0

    with ThreadPoolExecutor(min(len(starts), len(os.sched_getaffinity(0)))) as pool:
        list(pool.map(touch, starts))
