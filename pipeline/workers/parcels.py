"""Values that go from one worker process to another: their arrays in a file, the rest pickled.

Items and results of `context.map` and `context.rank_group` may hold large arrays. These are written to a
file of the stage's scratch folder, and mapped where they arrive, so that Dask never copies them. Stored
arrays are pickled as where they lie, and need no file.
"""

from __future__ import annotations

import mmap
import os
import pickle
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gravel.pipeline.store.failures import storage_errors
from gravel.pipeline.store.sink import write_at

LEAST_BYTES = 64 << 10
"""Arrays below this are pickled with the rest: mapping one takes as long as copying it."""

ALIGNMENT = 4096
"""Bytes of a page, at which an array begins."""


@dataclass(frozen=True)
class Parcel:
    """A pickled value, and the file with its large arrays: at which byte each begins, and how long it is."""

    pickled: bytes
    file: Path | None
    ranges: tuple[tuple[int, int], ...]

    def unpack(self, *, last: bool = True) -> Any:
        """Return the value, with arrays of this process's own; the `last` time the file goes."""
        if self.file is None:
            return pickle.loads(self.pickled)
        with self.file.open("rb") as file:
            access = mmap.PROT_READ | mmap.PROT_WRITE  # a page that is written to becomes this process's own
            memory = memoryview(mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, access))
        if last:
            self.file.unlink()
        return pickle.loads(self.pickled, buffers=[memory[at : at + size] for at, size in self.ranges])


def pack(value: Any, scratch: Path) -> Parcel:
    """Put a value into a parcel, for a process that sees the stage's scratch folder, too.

    Raises `GravelError` for a full disk, and what pickling raises.
    """
    buffers: list[memoryview] = []

    def is_small(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes >= LEAST_BYTES:
            buffers.append(raw)
        return raw.nbytes < LEAST_BYTES

    pickled = pickle.dumps(value, protocol=5, buffer_callback=is_small)
    if not buffers:
        return Parcel(pickled, None, ())
    ranges, end = [], 0
    for buffer in buffers:
        ranges.append((end, buffer.nbytes))
        end += -(-buffer.nbytes // ALIGNMENT) * ALIGNMENT
    path = scratch / f"{uuid.uuid4().hex}.parcel"
    with storage_errors(scratch, end):
        scratch.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            for (at, _), buffer in zip(ranges, buffers, strict=True):
                write_at(handle, buffer, at)
        finally:
            os.close(handle)
    return Parcel(pickled, path, tuple(ranges))
