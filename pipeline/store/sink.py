"""Writing one array as a stream: chunks are encoded on threads, digested and laid into shards in order.

Zarr's own writer is not used: it holds whole shards in memory, pads the last one, neither digests nor syncs
what it writes, and loses data when two writes meet in a shard. What is written here is plain Zarr v3.
"""

from __future__ import annotations

import math
import os
import threading
from collections import deque
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import numpy
from blake3 import blake3

from gravel.pipeline.store.codecs import MISSING, Buffer, choose_codec, encode, encode_index
from gravel.pipeline.store.content import LEAF_BYTES, ArrayContent, LeafDigest
from gravel.pipeline.store.disk import write_rate
from gravel.pipeline.store.files import storage_errors, sync_file
from gravel.pipeline.store.layout import (
    CHUNK_BYTES,
    DTYPES,
    SHARD_BYTES,
    Layout,
    array_metadata,
    cut,
    final_layout,
    pieces,
)
from gravel.pipeline.store.metadata import METADATA
from gravel.pipeline.store.record_types import StoredFile
from gravel.pipeline.store.stored import StoredArray

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

IN_FLIGHT = 8
"""Chunks that may wait to be written, and that may wait to be digested after that."""

Encoded: TypeAlias = tuple[Buffer, bytes, bytes | None]
"""A chunk's payload, its checksum, and its digest if the chunk is one leaf."""


SYNCED_EARLY = 1 << 20
"""Bytes of a file from which it is sent to the disk at once, while the stage goes on; smaller ones are sent
there together, since a disk takes about as long for many as for one."""


class ArraySink:
    """An array that grows by appending rows; `close` ends it and hands it out, readable at once.

    Parameters
    ----------
    folder : where the array is written; it must not exist.
    dtype, row_shape : of the rows; bool, integers and floats.
    pool : threads that encode, and `threads` how many they are.
    root : the cache, for messages; the folder if it is in none.
    durable : whether `wait` waits for small files, too, to be on the disk.
    chunk_bytes, shard_bytes : sizes to stay below; they do not change the content's digest.

    Raises TypeError for another dtype, ValueError for rows that do not fit, `GravelError` for a full disk.

    """

    def __init__(
        self,
        folder: Path,
        dtype: DTypeLike,
        row_shape: tuple[int, ...],
        pool: Executor,
        *,
        root: Path | None = None,
        durable: bool = True,
        threads: int = 1,
        chunk_bytes: int = CHUNK_BYTES,
        shard_bytes: int = SHARD_BYTES,
    ) -> None:
        self._root = root or folder
        self._durable = durable
        self.dtype = numpy.dtype(dtype).newbyteorder("<")
        if self.dtype.name not in DTYPES:
            raise TypeError(f"an array of {self.dtype} cannot be stored; bool, integers and floats can")
        self.row_shape = tuple(int(length) for length in row_shape)
        self.folder = folder
        self.closed: StoredArray | None = None
        self.content: ArrayContent | None = None
        self.manifest: list[StoredFile] = []
        self.checksums = bytearray()
        self._pool = pool
        self._threads = threads
        self._cut = cut(self.dtype.itemsize, self.row_shape, chunk_bytes, shard_bytes)
        self._layout = Layout(self.dtype.name, (0, *self.row_shape), self._cut.chunk, self._cut.shard, "")
        self._leaves = LeafDigest()
        self._rows = 0
        self._chunk = bytearray()
        self._pieces = pieces(self._cut, self.row_shape)
        self._coordinates, self._room = next(self._pieces)
        self._waiting: deque[tuple[tuple[int, ...], Buffer, Future[Encoded]]] = deque()
        self._shard: _Shard | None = None
        self._synced: list[Future[None]] = []
        with storage_errors(self._root):
            folder.mkdir(parents=True)

    def append(self, rows: NDArray[Any], *, given: bool = False) -> None:
        """Add rows at the end; they are copied before this returns.

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
        self._rows += len(array)
        if array.size:
            view = array.reshape(-1).view(numpy.uint8).data
            with storage_errors(self._root, len(view)):
                self._take(view)

    def _take(self, view: memoryview) -> None:
        start = 0
        while start < len(view):
            piece = view[start : start + self._room - len(self._chunk)]
            start += len(piece)
            if len(piece) == self._room:
                self._submit(bytes(piece))
                continue
            self._chunk += piece
            if len(self._chunk) == self._room:
                self._submit(bytes(self._chunk))
                self._chunk.clear()

    def _submit(self, chunk: Buffer) -> None:
        """Have a chunk encoded on a thread; `chunk` must stay as it is until it is written."""
        if not self._layout.codec:
            self._layout = replace(self._layout, codec=self._choose(chunk))
        encoded = self._pool.submit(_encode, self._layout.codec, chunk, self._layout.chunk_bytes)
        self._waiting.append((self._coordinates, chunk, encoded))
        self._coordinates, self._room = next(self._pieces)
        while len(self._waiting) > IN_FLIGHT:
            self._write_next()

    def _choose(self, chunk: Buffer) -> str:
        rate = write_rate(self._root) if len(chunk) >= LEAF_BYTES else None
        return choose_codec(self._layout.dtype, chunk, rate, self._threads)

    def _write_next(self) -> None:
        coordinates, chunk, encoded = self._waiting.popleft()
        path, index = self._layout.place(coordinates)
        if self._shard is None or self._shard.path != path:
            self._end_shard()
            self._shard = _Shard(self.folder, path, self._pool)
        payload, checksum, leaf = encoded.result()
        self._shard.add(index, payload, checksum)
        # Chunks come in C order, which is the order of their checksums in the record, and of the leaves.
        self.checksums += checksum
        if leaf is not None and self._leaves.is_at_leaf:
            self._leaves.add_leaf(leaf)
        else:
            self._leaves.update(memoryview(chunk))

    def _end_shard(self) -> None:
        if self._shard is None:
            return
        written = self._shard.end(math.prod(self._layout.per_shard))
        self.manifest.append(written)
        if self._durable or written.size >= SYNCED_EARLY:
            self._synced.append(self._pool.submit(self._shard.sync))
        else:
            self._shard.file.close()
        self._shard = None

    def close(self) -> StoredArray:
        """End the array."""
        if self.closed is not None:
            return self.closed
        with storage_errors(self._root):
            self._layout = self._final_layout()
            if self._chunk:
                self._submit(bytes(self._chunk))
                self._chunk.clear()
            while self._waiting:
                self._write_next()
            self._end_shard()
            text = array_metadata(self._layout)
            with (self.folder / METADATA).open("wb") as file:
                file.write(text)
                if self._durable:
                    sync_file(file)
        self.manifest.append(StoredFile(METADATA, len(text), blake3(text).hexdigest()))
        self.content = ArrayContent(self._layout.dtype, self._layout.shape, self._leaves.finish())
        inside = self.folder.relative_to(self._root).as_posix()
        self.closed = StoredArray(self._root, inside, self._layout, None, bytes(self.checksums))
        return self.closed

    def _final_layout(self) -> Layout:
        codec = self._layout.codec or self._choose(bytes(self._chunk))
        return final_layout(self._layout.dtype, (self._rows, *self.row_shape), self._cut, codec)

    def wait(self) -> None:
        """Return when every byte is on the disk, but for small files of a sink that is not durable."""
        with storage_errors(self._root):
            for synced in self._synced:
                synced.result()
        self._synced.clear()

    def abandon(self) -> None:
        """Stop writing: close the open file, wait for what threads still do. The folder stays."""
        for *_, encoded in self._waiting:
            encoded.cancel()
        self._waiting.clear()
        if self._shard is not None:
            with suppress(OSError):  # what is buffered does not fit on a full disk, and is not wanted
                self._shard.file.close()
        for synced in self._synced:
            synced.exception()


def _encode(codec: str, chunk: Buffer, size: int) -> Encoded:
    """Encode a chunk, and digest it if it is a leaf of the content's digest."""
    leaf = blake3(chunk).digest() if len(chunk) == LEAF_BYTES else None
    padded = chunk if len(chunk) == size else bytes(chunk).ljust(size, b"\0")
    return (*encode(codec, padded), leaf)


class _Shard:
    """One shard's file while it grows; its digest is made on a thread behind."""

    def __init__(self, folder: Path, path: str, pool: Executor) -> None:
        self.path = path
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        self.file: BinaryIO = target.open("wb", buffering=0)
        self._places: dict[int, tuple[int, int]] = {}
        self._size = 0
        self._digest = blake3()
        self._pool = pool
        self._lock = threading.Lock()
        self._room = threading.Semaphore(IN_FLIGHT)
        self._undigested: deque[tuple[Buffer, ...]] = deque()
        self._digesting: Future[None] | None = None

    def add(self, index: int, payload: Buffer, checksum: bytes) -> None:
        self._places[index] = (self._size, len(payload) + len(checksum))
        self._write(payload, checksum)

    def _write(self, *parts: Buffer) -> None:
        size = sum(map(len, parts))
        written = os.writev(self.file.fileno(), parts)
        if written < size:  # the disk takes a part only, and says why it takes no more at the next write
            self.file.write(b"".join(parts)[written:])
        self._size += size
        self._room.acquire()
        with self._lock:
            self._undigested.append(parts)
            if self._digesting is None:
                self._digesting = self._pool.submit(self._digest_all)

    def _digest_all(self) -> None:
        while True:
            with self._lock:
                if not self._undigested:
                    self._digesting = None
                    return
                parts = self._undigested.popleft()
            for part in parts:
                self._digest.update(part)
            self._room.release()

    def end(self, count: int) -> StoredFile:
        index = encode_index([self._places.get(i, (MISSING, MISSING)) for i in range(count)])
        self._write(index)
        with self._lock:
            digesting = self._digesting
        if digesting is not None:
            digesting.result()
        return StoredFile(self.path, self._size, self._digest.hexdigest())

    def sync(self) -> None:
        with self.file:
            os.fsync(self.file.fileno())
