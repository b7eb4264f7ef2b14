"""Writing artifacts: arrays first, then metadata, and the record last, when the disk has all the rest."""

from __future__ import annotations

import math
import os
import shutil
import socket
import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.store.elsewhere import RangesSink, SinksElsewhere, WrittenElsewhere
from gravel.pipeline.store.failures import storage_errors
from gravel.pipeline.store.files import sync_folder
from gravel.pipeline.store.folder import CacheFolder, Prepared, publish
from gravel.pipeline.store.identity import artifact_id, content_of, extent_of
from gravel.pipeline.store.layout import GROUP, METADATA, fields_of, group_metadata, split
from gravel.pipeline.store.leases import Lease
from gravel.pipeline.store.reader import find_fault, open_array
from gravel.pipeline.store.records import ArtifactRecord, StoredFile
from gravel.pipeline.store.sink import ArraySink, WriteThreads, run_now, write_file
from gravel.pipeline.store.stored_array import StoredArray

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from gravel.stages.artifact import Array, Artifact

SinkKind = TypeVar("SinkKind", bound=ArraySink)

THREADS_FROM = 1 << 20
"""Bytes from which handing an array to threads, 0.1 ms, is less than writing it."""


class ArtifactWriter:
    """A place to write arrays of unknown length, and to publish artifacts that hold them.

    Use it as a context manager: what is neither published nor prepared when it ends is removed. Everything
    lies in folders whose lock files this process holds, so that a killed writer's leavings are known as such.

    Parameters
    ----------
    run : the run whose lease keeps what is prepared until its record is made; None if it is published here.
    durable : whether what is prepared is on the disk when `flush` returns. Else that is so of large files
        only, and whoever publishes it has to wait for the others.
    passing : whether what is prepared is read by this run only, and so need not be on the disk.
    before_each : called before each piece of an array in memory is written; what it raises ends the writing.
    threads : those that write, which other writers may use, too; by default this writer has its own.

    """

    def __init__(
        self,
        cache: CacheFolder,
        run: str | None = None,
        *,
        durable: bool = True,
        passing: bool = False,
        before_each: Callable[[], None] = lambda: None,
        threads: WriteThreads | None = None,
    ) -> None:
        self._cache = cache
        self._under = None if run is None else f"leases/{run}.lock"
        self._durable = durable and not passing
        self._passing = passing
        self._before_each = before_each
        self._sinks: list[ArraySink] = []
        self._unflushed: list[tuple[Path, list[ArraySink]]] = []
        self._writing: list[Future[StoredArray]] = []
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
        try:
            if error is None:
                self.flush()
        finally:
            for each in self._writing:
                each.cancel() or each.exception()
            for sink in [*self._sinks, *(sink for _, sinks in self._unflushed for sink in sinks)]:
                sink.abandon()
            if self._ends_threads:
                self._threads.close()
            while self._leases:
                folder, lease = self._leases.popitem()
                shutil.rmtree(folder, ignore_errors=True)
                lease.end()

    def sink(
        self, dtype: DTypeLike, row_shape: tuple[int, ...] = (), *, rows: int | None = None
    ) -> ArraySink:
        """Start an array that grows by appending rows of this shape; how many come makes no difference."""
        return self._started(ArraySink, dtype, row_shape)

    def sinks_elsewhere(self) -> SinksElsewhere:
        """Return what makes sinks in other processes, whose arrays `prepare` takes as its own."""
        host = socket.gethostname()
        return SinksElsewhere(self._cache.root, self._staged(), host, self._durable, self._passing)

    def ranges(self, dtype: DTypeLike, row_shape: tuple[int, ...] = ()) -> RangesSink:
        """Start an array of rows of this shape, whose ranges other processes write."""
        return self._started(RangesSink, dtype, row_shape)

    def _started(self, kind: type[SinkKind], dtype: DTypeLike, row_shape: tuple[int, ...]) -> SinkKind:
        sink = kind(
            self._staged() / uuid.uuid4().hex,
            dtype,
            tuple(row_shape),
            self._threads,
            root=self._cache.root,
            durable=self._durable,
            passing=self._passing,
            before_each=self._before_each,
        )
        self._sinks.append(sink)
        return sink

    def _staged(self) -> Path:
        if self._staging is None:
            self._staging = self._folder("arrays of a running stage")
        return self._staging

    def publish(self, artifact: Artifact) -> ArtifactRecord:
        """Store an artifact and return its record; see `prepare`."""
        prepared = self.prepare(artifact)
        self.flush()
        return publish(self._cache, prepared)

    def flush(self) -> None:
        """Return when what was prepared is on the disk, as far as it has to be; it stays from then on."""
        while self._unflushed:
            folder, sinks = self._unflushed.pop(0)
            for sink in sinks:
                sink.wait()
            if self._durable:
                with storage_errors(self._cache.root):
                    folders = [Path(path) for path, _, _ in os.walk(folder)]
                    for _ in self._threads.syncs.map(sync_folder, [*folders, folder.parent]):
                        pass
            self._leases.pop(folder).leave()

    def prepare(self, artifact: Artifact, expected: str | None = None) -> Prepared:
        """Write an artifact out, all but its record; if it is stored and whole already, nothing is written.

        It can be read when this returns, and is on the disk after `flush`, which the writer's end calls, too.
        Arrays that came from this writer's sinks are moved into it, others are copied. `expected` is the id
        that it has in memory, where that is known. Raises TypeError or ValueError for fields that cannot be
        stored, `GravelError` for a full disk and for what is on the disk and has another id.
        """
        kind = type(artifact).__name__
        arrays, attributes = split(artifact)
        sinks: dict[str, ArraySink] = {}
        for name, array in arrays.items():
            for sink in self._sinks:
                if sink.closed is array and sink not in sinks.values():
                    sinks[name] = sink
                    break
            else:
                if isinstance(array, StoredArray) and self._is_elsewhere(array):
                    sinks[name] = WrittenElsewhere(array, self._threads)
                    self._sinks.append(sinks[name])
        if expected is None:
            pool = self._threads.digesters
            contents = {
                name: sinks[name].content if name in sinks else content_of(array, pool)
                for name, array in arrays.items()
            }
            expected = artifact_id(kind, attributes, contents)
        if (stored := self._stored(expected)) is not None:
            for sink in sinks.values():
                sink.abandon()  # what is being synced still has its file open
            self._point_arrays_at(sinks, stored)
            return Prepared(stored, is_new=False)
        self._write({name: array for name, array in arrays.items() if name not in sinks}, sinks)
        sinks = {name: sinks[name] for name in arrays}
        contents = {name: sink.content for name, sink in sinks.items()}
        if artifact_id(kind, attributes, contents) != expected:
            raise GravelError(
                f"an array of this {kind} was changed in memory before all of it was written",
                hint="a stage that reads it writes into its input; have that stage copy what it changes",
            )

        folder = self._folder(f"artifact {expected[:12]}")
        with storage_errors(self._cache.root):
            files = self._assemble(folder, kind, sinks, attributes)
        shapes = {name: (content.dtype, content.shape) for name, content in contents.items()}
        size = sum(sink.array.nbytes for sink in sinks.values())
        record = ArtifactRecord(
            id=expected,
            kind=kind,
            root=self._cache.root,
            path=folder,
            arrays=shapes,
            absent=tuple(name for name in fields_of(kind) if getattr(artifact, name) is None),
            bytes=size,
            extent=extent_of(kind, attributes, shapes, size),
            created=time.time(),
            files=tuple(files),
            used=time.time(),
            roots={name: content.root for name, content in contents.items()},
        )
        self._point_arrays_at(sinks, record)
        self._unflushed.append((folder, list(sinks.values())))
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

    def _is_elsewhere(self, array: StoredArray) -> bool:
        """Say whether another process wrote an array for this writer; one of two fields is copied."""
        here = any(sink.closed is array for sink in self._sinks)
        return array.folder.parent == self._staging and not here

    def _write(self, arrays: dict[str, Array], sinks: dict[str, ArraySink]) -> None:
        """Write arrays side by side, each to a sink of its own."""
        for name, array in arrays.items():
            sink = sinks[name] = self.sink(array.dtype, tuple(array.shape[1:]))
            several = sink.dtype.itemsize * math.prod(array.shape) >= THREADS_FROM
            submit = self._threads.writers.submit if several else run_now
            self._writing.append(submit(sink.write, array))
        for each in self._writing:
            each.result()
        self._writing.clear()

    def _assemble(
        self,
        folder: Path,
        kind: str,
        sinks: dict[str, ArraySink],
        attributes: Mapping[str, Any],
    ) -> list[StoredFile]:
        """Write the groups' metadata, and move what the sinks wrote beside them; returns all files."""
        groups = {name for name, role in fields_of(kind).items() if role == GROUP}
        groups |= {str(above) for name in sinks for above in PurePosixPath(name).parents} - {"."}
        texts = {METADATA: group_metadata({"gravel": {"kind": kind}, **attributes})}
        texts |= {f"{group}/{METADATA}": group_metadata({}) for group in sorted(groups)}
        files = [write_file(folder, name, text, durable=self._durable) for name, text in texts.items()]
        for name, sink in sinks.items():
            sink.folder.rename(folder / name)
            files += [replace(file, path=f"{name}/{file.path}") for file in sink.manifest]
        return files

    def _point_arrays_at(self, sinks: dict[str, ArraySink], record: ArtifactRecord) -> None:
        """Let the arrays that a stage may still hold read from where they lie now."""
        for name, sink in sinks.items():
            sink.array.become(open_array(record, name))
            self._sinks.remove(sink)
