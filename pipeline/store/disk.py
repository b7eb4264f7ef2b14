"""The disk of a cache: waiting until files are on it, many at once, and how fast it is."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import time
import uuid
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from gravel.pipeline.core.files import IN_MEMORY, file_system
from gravel.pipeline.store.opening import read_file

REPORTING_KERNEL = (5, 8)
"""The first Linux whose `syncfs` says that something could not be written."""


SAMPLE_BYTES = 16 << 20
"""Bytes that are written to see how fast the disk is: 10 ms at 1.6 GB/s."""

MEMORY_RATE = 0.9e9
"""Bytes a second that each thread at least writes to a file system in memory: 16 threads wrote 15 GB/s (on 16
cores of a Xeon). One thread alone, for which the system clears pages meanwhile, says nothing of that."""

USUAL_RATE = 1.5e9
"""Bytes a second of a disk that cannot be measured."""


class Disk:
    """The file system of a folder. `sync` waits for everything that was written to it before."""

    def __init__(self, folder: Path) -> None:
        # Errors are reported from the opening of this descriptor on.
        self._handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)

    def sync(self, files: Iterable[Path]) -> None:
        """Return when these files and their names are on the disk; raises OSError if that fails."""
        call = _syncfs()
        if call is None:
            _sync_each(files)
        elif call(self._handle) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self._handle)


def known_rate(root: Path) -> float | None:
    """Return how many bytes in a second the disk of a cache takes, if that was measured."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        return max(1.0, float(json.loads(read_file(root, "disk.json", 4096))["bytes_per_second"]))
    return None


@cache
def write_rate(root: Path) -> float:
    """Return how many bytes in a second the disk of a cache takes; measured once, and kept in `disk.json`."""
    return known_rate(root) or _measure(root)


def _measure(root: Path) -> float:
    """Write a sample to the disk, and keep the rate."""
    sample = root / "data" / f".disk-{uuid.uuid4().hex}"  # a sweep finds it there if this process dies
    try:
        # No file system shrinks what repeats that far away, and random bytes take three times as long as it.
        block = os.urandom(1 << 20) * (SAMPLE_BYTES >> 20)
        began = time.perf_counter()
        with sample.open("wb", buffering=0) as file:
            file.write(block)
            os.fsync(file.fileno())
        written = SAMPLE_BYTES / (time.perf_counter() - began)
        if file_system(sample) in IN_MEMORY:
            written = max(written, MEMORY_RATE * min(16, len(os.sched_getaffinity(0))))
        sample.write_text(json.dumps({"bytes_per_second": round(written), "measured": time.time()}))
        sample.replace(root / "disk.json")
    except OSError:
        sample.unlink(missing_ok=True)
        return USUAL_RATE
    return written


@cache
def _syncfs() -> Any:
    with suppress(ValueError, AttributeError, OSError):
        parts = platform.release().split(".")
        if platform.system() == "Linux" and (int(parts[0]), int(parts[1])) >= REPORTING_KERNEL:
            return ctypes.CDLL(None, use_errno=True).syncfs
    return None


def _sync_each(files: Iterable[Path]) -> None:
    paths = list(files)
    for path in [*paths, *dict.fromkeys(path.parent for path in paths)]:
        try:
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue  # it was given another name
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
