"""Writing artifacts: arrays first, then metadata, and the record last, when the disk has all the rest."""

from __future__ import annotations

import base64
import os
import shutil
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy
from blake3 import blake3

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.store.content import artifact_id
from gravel.pipeline.store.faults import find_fault
from gravel.pipeline.store.fields import split
from gravel.pipeline.store.files import storage_errors, sync_file, sync_folder
from gravel.pipeline.store.layout import CHUNK_BYTES, SHARD_BYTES
from gravel.pipeline.store.leases import Lease
from gravel.pipeline.store.metadata import GROUP, METADATA, extent_of, fields_of, group_metadata
from gravel.pipeline.store.publishing import Prepared, publish
from gravel.pipeline.store.reader import open_array
from gravel.pipeline.store.record_types import StoredFile
from gravel.pipeline.store.records import ArtifactRecord
from gravel.pipeline.store.sink import ArraySink
from gravel.pipeline.store.stored import StoredArray
from gravel.pipeline.store.whole_array import WholeArray
from gravel.pipeline.store.write_threads import WriteThreads

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from gravel.pipeline.store.folder import CacheFolder
    from gravel.stages.artifact import Array, Artifact

COPY_BYTES = 8 << 20
"""Rows that are read at a time from an array that is not in memory."""

WrittenArray: TypeAlias = ArraySink | WholeArray


class ArtifactWriter:
    """A place to write arrays of unknown length, and to publish artifacts that hold them.

    Use it as a context manager: what is neither published nor prepared when it ends is removed. Everything
    lies in folders whose lock files this process holds, so that a killed writer's leavings are known as such.

    Parameters
    ----------
    run : the run whose lease keeps what is prepared until its record is made; None if it is published here.
    durable : whether what is prepared is on the disk already. Else whoever publishes it has to wait for that.
    before_each : called before each piece of an array in memory is written; what it raises ends the writing.
    threads : those that write, which other writers may use, too; by default this writer has its own.
    chunk_bytes, shard_bytes : as of `ArraySink`.

    """

    def __init__(
        self,
        cache: CacheFolder,
        run: str | None = None,
        *,
        durable: bool = True,
        before_each: Callable[[], None] | None = None,
        threads: WriteThreads | None = None,
        chunk_bytes: int = CHUNK_BYTES,
        shard_bytes: int = SHARD_BYTES,
    ) -> None:
        self._cache = cache
        self._under = None if run is None else f"leases/{run}.lock"
        self._durable = durable
        self._before_each = before_each
        self._sizes = {"chunk_bytes": chunk_bytes, "shard_bytes": shard_bytes}
        self._sinks: dict[int, WrittenArray] = {}
        self._leases: dict[Path, Lease] = {}
        self._threads = threads or WriteThreads()
        self._ends_threads = threads is None
        self._staging: Path | None = None

    def _folder(self, purpose: str) -> Path:
        folder = self._cache.root / "data" / uuid.uuid4().hex
        with storage_errors(self._cache.root):
            # The lock comes first and goes last: a folder without one is a published artifact.
            self._leases[folder] = Lease(folder.with_suffix(".lock"), purpose, self._under)
            folder.mkdir()
        return folder

    def __enter__(self) -> ArtifactWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for sink in self._sinks.values():
            sink.abandon()
        if self._ends_threads:
            self._threads.close()
        for folder in list(self._leases):
            self._drop(folder)

    def _drop(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        self._leases.pop(folder).end()

    def sink(
        self, dtype: DTypeLike, row_shape: tuple[int, ...] = (), *, rows: int | None = None
    ) -> ArraySink:
        """Start an array that grows by appending rows of this shape; how many come makes no difference."""
        sink = ArraySink(
            self._staged(),
            dtype,
            tuple(row_shape),
            self._threads.pool,
            root=self._cache.root,
            durable=self._durable,
            threads=self._threads.count,
            **self._sizes,
        )
        self._sinks[id(sink)] = sink
        return sink

    def _staged(self) -> Path:
        if self._staging is None:
            self._staging = self._folder("arrays of a running stage")
        return self._staging / uuid.uuid4().hex

    def publish(self, artifact: Artifact) -> ArtifactRecord:
        """Store an artifact and return its record; see `prepare`."""
        return publish(self._cache, self.prepare(artifact))

    def prepare(self, artifact: Artifact, expected: str | None = None) -> Prepared:
        """Write an artifact out, all but its record; if it is stored and whole already, nothing is written.

        Arrays that came from this writer's sinks are moved into it, others are copied. Raises TypeError or
        ValueError for fields that cannot be stored, `GravelError` for a full disk and for content that has
        not the `expected` id.
        """
        if expected is not None and (stored := self._stored(expected)) is not None:
            return Prepared(stored, is_new=False)
        kind = type(artifact).__name__
        arrays, attributes = split(artifact)
        sinks: dict[str, WrittenArray] = {}
        for name, array in arrays.items():
            sinks[name] = self._sink_of(array, taken=list(sinks.values()))
        for sink in sinks.values():
            sink.close()
        contents = {name: sink.content for name, sink in sinks.items() if sink.content is not None}
        identity = artifact_id(kind, attributes, contents)
        if expected not in (None, identity):
            raise GravelError(
                f"an array of this {kind} was changed in memory before all of it was written",
                hint="a stage that reads it writes into its input; have that stage copy what it changes",
            )
        stored = None if expected is not None else self._stored(identity)
        if stored is not None:
            for sink in sinks.values():
                sink.abandon()  # what is being synced still has its file open
            self._hand_over(sinks, stored)
            return Prepared(stored, is_new=False)

        folder = self._folder(f"artifact {identity[:12]}")
        with storage_errors(self._cache.root):
            files = self._assemble(folder, artifact, sinks, {"gravel": {"kind": kind}, **attributes})
        shapes = {name: (content.dtype, content.shape) for name, content in contents.items()}
        size = sum(array.nbytes for array in (sink.closed for sink in sinks.values()) if array is not None)
        record = ArtifactRecord(
            id=identity,
            kind=kind,
            root=self._cache.root,
            path=folder,
            arrays=shapes,
            absent=tuple(name for name in fields_of(kind) if getattr(artifact, name) is None),
            bytes=size,
            bytes_on_disk=sum(file.size for file in files),
            extent=extent_of(kind, attributes, shapes, size),
            created=time.time(),
            files=tuple(files),
            used=time.time(),
            checksums={name: base64.b64encode(sink.checksums).decode() for name, sink in sinks.items()},
            roots={name: content.root for name, content in contents.items()},
        )
        self._hand_over(sinks, record)
        self._leases.pop(folder).leave()
        return Prepared(record)

    def _stored(self, identity: str) -> ArtifactRecord | None:
        """Return the record of an artifact that is stored already, if all of it is what was written."""
        if not self._cache.is_here(identity) or self._cache.check(identity) is not None:
            return None
        stored = self._cache.describe(identity)
        # Whoever computes again may do so because of damage: good data must not give way to it.
        fault = find_fault(stored)
        if fault is None:
            return stored
        self._cache.quarantine(identity, fault)
        return None

    def _sink_of(self, array: Array, taken: list[WrittenArray]) -> WrittenArray:
        """Return the sink that holds an array, or one that threads write the array to from now on."""
        if isinstance(array, StoredArray):
            for sink in self._sinks.values():
                if sink.closed is array and sink not in taken:
                    return sink
        if isinstance(array, numpy.ndarray) and array.ndim:
            return self._whole(array)
        sink = self.sink(array.dtype, tuple(array.shape[1:]))
        row_bytes = max(1, sink.dtype.itemsize)
        for length in sink.row_shape:
            row_bytes *= max(1, length)
        step = max(1, COPY_BYTES // row_bytes)
        for start in range(0, len(array), step):
            if self._before_each is not None:
                self._before_each()
            rows: Any = array[start : start + step]
            sink.append(rows.get() if hasattr(rows, "get") else rows)
        sink.close()
        return sink

    def _whole(self, array: NDArray[Any]) -> WholeArray:
        whole = WholeArray(
            self._staged(),
            array,
            self._threads,
            root=self._cache.root,
            durable=self._durable,
            before_each=self._before_each,
            **self._sizes,
        )
        self._sinks[id(whole)] = whole
        whole.start()
        if whole.is_copy:
            whole.close()  # one copy at a time
        return whole

    def _assemble(
        self,
        folder: Path,
        artifact: Artifact,
        sinks: dict[str, WrittenArray],
        attributes: dict[str, Any],
    ) -> list[StoredFile]:
        durable = self._durable
        files = [_write(folder, METADATA, group_metadata(attributes), durable=durable)]
        groups = {name for name, role in fields_of(type(artifact).__name__).items() if role == GROUP}
        for name in sinks:
            parts = name.split("/")[:-1]
            groups |= {"/".join(parts[: count + 1]) for count in range(len(parts))}
        files += [
            _write(folder, f"{group}/{METADATA}", group_metadata({}), durable=durable)
            for group in sorted(groups)
        ]
        for name, sink in sinks.items():
            sink.wait()
            sink.folder.rename(folder / name)
            files += [replace(file, path=f"{name}/{file.path}") for file in sink.manifest]
        if self._durable:
            folders = [Path(path) for path, _, _ in os.walk(folder)]
            for _ in self._threads.pool.map(sync_folder, [*folders, folder.parent]):
                pass
        return files

    def _hand_over(self, sinks: dict[str, WrittenArray], record: ArtifactRecord) -> None:
        """Let the arrays that a stage may still hold read from where they lie now."""
        for name, sink in sinks.items():
            if sink.closed is not None:
                sink.closed.become(open_array(record, name))
            self._sinks.pop(id(sink), None)


def _write(folder: Path, name: str, text: bytes, *, durable: bool) -> StoredFile:
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as file:
        file.write(text)
        if durable:
            sync_file(file)
    return StoredFile(name, len(text), blake3(text).hexdigest())
