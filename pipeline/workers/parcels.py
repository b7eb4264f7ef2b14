"""How items of `context.map`, ranks and their results travel between the workers of a stage.

Large arrays are written to a file of the stage's scratch folder, and mapped where they arrive, so that Dask
never copies them. Stored arrays are pickled as where they lie, and need no file. Workers with tiers of their
own have no such folder: what is stored is named by its artifact, of which each worker has a copy, and the
rest goes through Dask.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
import uuid
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import numpy

from gravel.pipeline.store.exchange import Exchange
from gravel.pipeline.store.failures import storage_errors
from gravel.pipeline.store.folder import cache_of_scratch
from gravel.pipeline.store.reader import open_array
from gravel.pipeline.store.sink import write_at
from gravel.pipeline.store.stored_array import StoredArray
from gravel.pipeline.workers.own_tier import tier_of

if TYPE_CHECKING:
    from gravel.pipeline.workers.protocol import StageTask

LEAST_BYTES = 64 << 10
"""Arrays below this are pickled with the rest: mapping one takes as long as copying it."""

ALIGNMENT = 4096
"""Bytes of a page, at which an array begins."""


class StaysHere(Exception):
    """A value that names a file of the stage's scratch folder, which workers with their own tiers lack."""


@dataclass(frozen=True)
class Route:
    """What the workers of a stage share: its scratch folder; or, with a `store`, only that, for a run."""

    scratch: Path
    store: str | None
    run: str

    @classmethod
    def of(cls, task: StageTask) -> Route:
        """Return the route between the workers of a task."""
        return cls(task.scratch, task.store, task.run)

    def pack(self, value: Any) -> Packed:
        """Put a value into a parcel.

        Raises `GravelError` for a full disk, `StaysHere` for a value that cannot leave this machine, and what
        pickling raises.
        """
        return _pack(value, self.scratch) if self.store is None else self._pack_for_tiers(value)

    def _pack_for_tiers(self, value: Any) -> TierParcel:
        assert self.store is not None
        file = io.BytesIO()
        _TierPickler(file, self.scratch).dump(value)
        return TierParcel(file.getvalue(), self.store, self.run)


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


def _pack(value: Any, scratch: Path) -> Parcel:
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
    with storage_errors(cache_of_scratch(scratch), end):
        scratch.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            for (at, _), buffer in zip(ranges, buffers, strict=True):
                write_at(handle, buffer, at)
        finally:
            os.close(handle)
    return Parcel(pickled, path, tuple(ranges))


@dataclass(frozen=True)
class TierParcel:
    """A pickled value in which stored arrays are named, for the tier of whoever unpacks it."""

    pickled: bytes
    store: str
    run: str

    def unpack(self, *, last: bool = True) -> Any:
        """Return the value; raises `DamagedArtifact` for an array that the store does not have."""
        return _TierUnpickler(io.BytesIO(self.pickled), self.store, self.run).load()


Packed = Parcel | TierParcel


class _TierPickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, scratch: Path) -> None:
        super().__init__(file, protocol=5)
        self._scratch = scratch

    def persistent_id(self, value: Any) -> Any:
        if isinstance(value, PurePath) and value.is_relative_to(self._scratch):
            raise StaysHere
        if not isinstance(value, StoredArray) or value.artifact_id is None:
            return None
        _, _, name = value.inside.split("/", 2)
        return value.artifact_id, name, value.is_locked

    def reducer_override(self, value: Any) -> Any:
        if not isinstance(value, StoredArray):
            return NotImplemented
        return numpy.asarray(value).__reduce__()


class _TierUnpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, store: str, run: str) -> None:
        super().__init__(file)
        self._store, self._run = store, run

    def persistent_load(self, name: Any) -> Any:
        identity, array, is_locked = name
        tier = tier_of(self._store, self._run)
        Exchange(tier, self._run).fetch(identity)
        found = open_array(tier.describe(identity), array)
        return found.locked() if is_locked else found
