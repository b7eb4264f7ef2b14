"""The measured peak of a stage: what its process holds above what it held when the stage began."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
import time
from contextlib import suppress
from typing import Any

INTERVAL = 0.02
"""Seconds between two looks; a stage that allocates and frees faster than this may hide its peak."""

SLOW_COLLECTION = 0.01
"""Seconds; looking through Numba's, Zarr's and Matplotlib's objects takes five times as long."""

LEFTOVERS = 4 << 20
"""Bytes above what was held after the last tidying from which tidying again pays: it takes a millisecond."""

_tidied = 0


def resident_bytes() -> int:
    """Return the bytes of this process that are not backed by a file (anonymous and shared memory)."""
    with open("/proc/self/status", "rb") as file:  # noqa: PTH123 (called 50 times a second)
        lines = [line for line in file if line.startswith((b"RssAnon:", b"RssShmem:"))]
    return sum(int(line.split()[1]) * 1024 for line in lines)


def give_back_free_memory() -> None:
    """Return freed memory to the system, so that one stage's leftovers do not hide in the next one's base."""
    began = time.perf_counter()
    gc.collect()
    if time.perf_counter() - began > SLOW_COLLECTION:
        # What survives is modules and their caches; with them every small stage would pay for this again.
        gc.freeze()
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def release_device() -> None:
    """Free arrays that the GPU keeps for later stages, and memory that CuPy keeps for later arrays."""
    from gravel.kernels.placement.device_copies import COPIES

    COPIES.make_room(0)
    pool = _device_pool()
    if pool is not None:
        pool.free_all_blocks()
        sys.modules["cupy"].get_default_pinned_memory_pool().free_all_blocks()


def _tidy() -> int:
    """Free what is left behind, and return what is held then."""
    global _tidied
    if (now := resident_bytes()) > _tidied + LEFTOVERS:
        give_back_free_memory()
        now = _tidied = resident_bytes()
    return now


def _device_pool() -> Any | None:
    """Return CuPy's pool, if it is loaded and there is a GPU (zarr loads CuPy wherever it is installed)."""
    if sys.modules.get("cupy") is None:
        return None
    import cupy  # another thread may be in the middle of it

    return cupy.get_default_memory_pool() if cupy.cuda.is_available() else None


def free_on_device() -> int | None:
    """Return the bytes that stages may still take of the GPU of this process; None where none is used."""
    if _device_pool() is None:
        return None
    from gravel.kernels.cuda.room import MODULE_BYTES, free_bytes, usable_bytes

    return usable_bytes(free_bytes(), MODULE_BYTES)


class Peak:
    """Samples while a `with` block runs; `host_bytes` and `device_bytes` are the peaks above the start.

    `tidy` first frees what earlier work left behind, if that is much. `device` looks at the
    memory pool of the current GPU too.
    """

    def __init__(self, interval: float = INTERVAL, *, tidy: bool = True, device: bool = False) -> None:
        self.host_bytes = 0
        self.device_bytes = 0
        self._interval = interval
        self._tidy = tidy
        self._pool = _device_pool() if device else None
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True, name="gravel-peak")

    def __enter__(self) -> Peak:
        self._host_base = _tidy() if self._tidy else resident_bytes()
        if self._tidy and self._pool is not None:
            self._pool.free_all_blocks()
        self._device_base = self._device_bytes_in_use()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()
        self._measure()

    def _measure(self) -> None:
        self.host_bytes = max(self.host_bytes, resident_bytes() - self._host_base)
        self.device_bytes = max(self.device_bytes, self._device_bytes_in_use() - self._device_base)

    def _device_bytes_in_use(self) -> int:
        return 0 if self._pool is None else int(self._pool.total_bytes())

    def _sample(self) -> None:
        while not self._end.wait(self._interval):
            self._measure()
