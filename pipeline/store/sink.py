"""Writing one array: one thread appends its bytes to one file, others read them back and digest them.

The array's digests are those of what is read back. They have to be those of what was given, too: of rows
that are appended, which are digested before; of an array in memory by the id that its artifact has there.
Files are written by `pwrite`, since a full disk would end a process that writes to mapped pages. Zarr's own
writer is not used: it holds whole shards in memory, and neither digests nor syncs what it writes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy
from blake3 import blake3

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.store.failures import storage_errors
from gravel.pipeline.store.files import sync_file
from gravel.pipeline.store.identity import (
    BLOCK_BYTES,
    ArrayContent,
    LeafDigest,
    byte_blocks,
    root_of,
    stored_dtype,
)
from gravel.pipeline.store.layout import LEAF_BYTES, LEAVES, METADATA, Layout
from gravel.pipeline.store.mapping import leaf_buffer, read_at
from gravel.pipeline.store.records import StoredFile
from gravel.pipeline.store.stored_array import StoredArray, note_as_checked

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from gravel.stages.artifact import Array

MAX_DIGESTERS = 16
"""Threads that digest, at most: each reads back and digests 2 to 4 GB/s."""

WRITERS = 4
"""Arrays that are written at the same time: one thread fills the page cache at 3 to 4 GB/s, two at 6 to 8."""

SYNCS = 4
"""Files that the disk is waited for at the same time; these threads need no core."""

SYNCED_EARLY = 1 << 20
"""Bytes of a file from which it is sent to the disk at once, while the stage goes on; smaller ones are sent
there together, since a disk takes about as long for many as for one."""

SYNC_BYTES = 64 << 20
"""Bytes after which what a file has so far is sent to the disk, while more is written."""


Result = TypeVar("Result")


def run_now(function: Callable[..., Result], *arguments: Any) -> Future[Result]:
    """Do what a thread would do, at once."""
    done: Future[Result] = Future()
    try:
        done.set_result(function(*arguments))
    except Exception as error:
        done.set_exception(error)
    return done


class WriteThreads:
    """Threads that write, those that digest what was written, and those that wait for the disk.

    A task may wait for one of a later kind. One set serves any number of writers.
    """

    def __init__(self) -> None:
        digesters = min(MAX_DIGESTERS, len(os.sched_getaffinity(0)))
        self.writers = ThreadPoolExecutor(WRITERS, "gravel-write")
        self.digesters = ThreadPoolExecutor(digesters, "gravel-digest")
        self.syncs = ThreadPoolExecutor(SYNCS, "gravel-sync")

    def close(self) -> None:
        """End the threads when they have done what they were given."""
        self.writers.shutdown()
        self.digesters.shutdown()
        self.syncs.shutdown()


class ArraySink:
    """An array that is written to a file of its own; `close` ends it and hands it out, readable at once.

    It grows by rows that are appended, or is written from an array as a whole.

    Parameters
    ----------
    folder : where the array is written, or was by another process.
    dtype, row_shape : of the rows; bool, integers and floats.
    threads : those that digest, and wait for the disk.
    root : the cache.
    durable : whether `wait` waits for small files, too, to be on the disk.
    passing : whether nothing of it has to be on the disk at all, since nobody reads it after the run.
    before_each : called before some MiB are written; what it raises ends the writing.

    Raises TypeError for another dtype, ValueError for rows that do not fit, `GravelError` for a full disk and
    for one that gives back something else than was written.

    """

    def __init__(
        self,
        folder: Path,
        dtype: DTypeLike,
        row_shape: tuple[int, ...],
        threads: WriteThreads,
        *,
        root: Path,
        durable: bool,
        passing: bool,
        before_each: Callable[[], None],
    ) -> None:
        self._root = root
        self._durable = durable
        self._passing = passing
        self._before_each = before_each
        self._threads = threads
        self.dtype = stored_dtype(dtype)
        self.row_shape = tuple(int(length) for length in row_shape)
        self.folder = folder
        self.closed: StoredArray | None = None
        self.manifest: list[StoredFile] = []
        self._rows = 0
        self._given: LeafDigest | None = None
        self._handle: int | None = None
        self._size = 0
        self._digested = 0  # leaves whose digests are made
        self._leaves: list[Future[bytes]] = []
        self._synced: list[Future[None]] = []
        with storage_errors(self._root):
            folder.mkdir(parents=True, exist_ok=True)

    def append(self, rows: NDArray[Any], *, given: bool = False) -> None:
        """Add rows at the end; nothing of them is needed after this returns.

        Values are converted to the sink's dtype; raises ValueError if an integer does not survive that.
        """
        if self.closed is not None:
            raise ValueError("the array is closed")
        own = numpy.asarray(rows)
        if own.ndim != 1 + len(self.row_shape) or own.shape[1:] != self.row_shape:
            own = own.reshape(-1, *self.row_shape)
        array = numpy.ascontiguousarray(own, dtype=self.dtype)
        if not numpy.can_cast(own.dtype, self.dtype, "same_kind") and not numpy.array_equal(array, own):
            raise ValueError(f"rows of {own.dtype} hold values that {self.dtype} cannot")
        self._given = self._given or LeafDigest()
        self._rows += len(array)
        for block in byte_blocks(array):
            digested = self._digester(len(block))(self._given.update, block)
            with storage_errors(self._root, len(block)):
                self._write(block)
            digested.result()

    def write(self, array: Array) -> StoredArray:
        """Write a whole array, which must not change meanwhile, and end."""
        self._rows = len(array)
        for block in byte_blocks(array):
            self._before_each()
            with storage_errors(self._root, array.dtype.itemsize * self._rows):
                self._write(block)
        return self.close()

    def _write(self, block: memoryview) -> None:
        if self._handle is None:
            path = self.folder / Layout(self.dtype.name, (0, *self.row_shape)).path
            path.parent.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        write_at(self._handle, block, self._size)
        before, self._size = self._size, self._size + len(block)
        crossed = self._size // SYNC_BYTES > before // SYNC_BYTES and not self._passing
        if crossed and all(each.done() for each in self._synced):
            self._synced.append(self._threads.syncs.submit(os.fdatasync, self._handle))
        whole = self._size // LEAF_BYTES
        if (whole - self._digested) * LEAF_BYTES >= BLOCK_BYTES:
            self._digest(whole)

    def _digest(self, upto: int) -> None:
        """Have the leaves that are written by now, up to one, read back and digested."""
        assert self._handle is not None
        size = self._size - self._digested * LEAF_BYTES
        numbers = range(self._digested, upto)
        self._leaves.append(self._digester(size)(_written_leaves, self._handle, numbers, self._size))
        self._digested = upto

    def _digester(self, size: int) -> Callable[..., Future[Any]]:
        """Return what has so many bytes digested: a thread where they are worth that."""
        return self._threads.digesters.submit if size > LEAF_BYTES else run_now

    def close(self) -> StoredArray:
        """End the array."""
        if self.closed is not None:
            return self.closed
        layout = Layout(self.dtype.name, (self._rows, *self.row_shape))
        with storage_errors(self._root):
            if self._handle is not None:
                self._digest(layout.leaf_count)
                write_at(self._handle, memoryview(layout.tail()), self._size)
            leaves = b"".join(each.result() for each in self._leaves)
            if self._given is not None and self._given.finish() != leaves:
                raise GravelError(
                    f"the disk of the cache {self._root} gave back something else than was written",
                    hint="see what the system reports about the disk (dmesg), or choose another with --cache",
                )
            self._end_file(layout, leaves)
        inside = self.folder.relative_to(self._root).as_posix()
        self.closed = StoredArray(self._root, inside, layout, root_of(leaves))
        return self.closed

    def _end_file(self, layout: Layout, leaves: bytes) -> None:
        write_file(self.folder, METADATA, layout.metadata(), durable=self._durable)
        self.manifest = manifest_of(layout)
        if layout.leaf_count > 1:
            write_file(self.folder, LEAVES, leaves, durable=self._durable)
        if self._handle is None:
            return
        handle, self._handle = self._handle, None
        note_as_checked(handle, root_of(leaves), layout.leaf_count)
        if not self._passing and (self._durable or self._size >= SYNCED_EARLY):
            self._synced.append(self._threads.syncs.submit(_end, handle, self._synced[:]))
        else:
            os.close(handle)

    @property
    def array(self) -> StoredArray:
        """The array, once it is closed."""
        assert self.closed is not None
        return self.closed

    @property
    def content(self) -> ArrayContent:
        """What of the array goes into an id, once it is closed."""
        return ArrayContent(self.array.layout.dtype, self.array.shape, self.array.digest)

    def wait(self) -> None:
        """Return when every byte is on the disk, but for small files of a sink that is not durable."""
        with storage_errors(self._root):
            for synced in self._synced:
                synced.result()
        self._synced.clear()

    def abandon(self) -> None:
        """Stop writing: wait for what threads still do, and close the open file. The folder stays."""
        for leaves in self._leaves:
            leaves.cancel() or leaves.exception()
        for synced in self._synced:
            synced.exception()
        if self._handle is not None:
            with suppress(OSError):
                os.close(self._handle)
            self._handle = None


def manifest_of(layout: Layout) -> list[StoredFile]:
    """Return the files of an array's folder."""
    text = layout.metadata()
    rest = [StoredFile(path, size, None) for path, size in layout.files() if path != METADATA]
    return [StoredFile(METADATA, len(text), blake3(text).hexdigest()), *rest]


def write_file(folder: Path, name: str, text: bytes, *, durable: bool) -> StoredFile:
    """Write a small file whole."""
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as file:
        file.write(text)
        if durable:
            sync_file(file)
    return StoredFile(name, len(text), blake3(text).hexdigest())


def write_at(handle: int, view: memoryview, start: int) -> None:
    """Write all of a view to a place of a file; the disk may take parts, and says why it takes no more."""
    while len(view):
        written = os.pwrite(handle, view, start)
        view, start = view[written:], start + written


def _written_leaves(handle: int, numbers: range, size: int) -> bytes:
    """Read leaves of a file of so many bytes back, and return their digests."""
    leaves = bytearray()
    for number in numbers:
        start = number * LEAF_BYTES
        view = leaf_buffer()[: min(LEAF_BYTES, size - start)]
        read_at(handle, view, start)
        leaves += blake3(view).digest()
    return bytes(leaves)


def _end(handle: int, before: list[Future[None]]) -> None:
    """Wait until a file is on the disk, and close it; `before` are what waits for a part of it."""
    try:
        for each in before:
            each.exception()
        os.fsync(handle)
    finally:
        os.close(handle)
