"""Writing one array as a stream: chunks are encoded on threads, digested and laid into shards in order.

Zarr's own writer is not used: it holds whole shards in memory, pads the last one, neither digests nor syncs
what it writes, and loses data when two writes meet in a shard. What is written here is plain Zarr v3.
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy
from blake3 import blake3

from gravel.pipeline.store.codecs import MISSING, checksum_of, choose_codec, encode, encode_index
from gravel.pipeline.store.content import ArrayContent, LeafDigest
from gravel.pipeline.store.files import storage_errors, sync_file
from gravel.pipeline.store.layout import CHUNK_BYTES, DTYPES, SHARD_BYTES, Layout, array_metadata, cut
from gravel.pipeline.store.metadata import METADATA
from gravel.pipeline.store.record_types import StoredFile
from gravel.pipeline.store.stored import StoredArray

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

IN_FLIGHT = 8
"""Chunks that may wait to be written: enough for four threads to encode while one writes."""


SYNCED_EARLY = 1 << 20
"""Bytes of a file from which it is sent to the disk at once, while the stage goes on; smaller ones are sent
there together, since a disk takes about as long for many as for one."""


class ArraySink:
    """An array that grows by appending rows; `close` ends it and hands it out, readable at once.

    Parameters
    ----------
    folder : where the array is written; it must not exist.
    dtype, row_shape : of the rows; bool, integers and floats.
    pool : threads that encode.
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
        self._cut = cut(self.dtype.itemsize, self.row_shape, chunk_bytes, shard_bytes)
        self._layout = Layout(self.dtype.name, (0, *self.row_shape), self._cut.chunk, self._cut.shard, "")
        self._leaves = LeafDigest()
        self._rows = 0
        self._chunk = bytearray()
        self._pieces = self._lay_out()
        self._coordinates, self._room = next(self._pieces)
        self._waiting: deque[tuple[tuple[int, ...], Future[bytes]]] = deque()
        self._shard: _Shard | None = None
        self._synced: list[Future[None]] = []
        with storage_errors(self._root):
            folder.mkdir(parents=True)

    def _lay_out(self) -> Iterator[tuple[tuple[int, ...], int]]:
        """Yield each chunk's coordinates and the bytes of the stream that belong to it."""
        cut_ = self._cut
        count = cut_.chunk[cut_.axis]
        rest = (0,) * (len(self.row_shape) - cut_.axis)
        if cut_.line is None:
            for index in itertools.count():
                yield (index, *rest), count * cut_.unit_bytes
        line = cut_.line or 0
        inner = [range(max(1, length)) for length in self.row_shape[: cut_.axis - 1]]
        for row in itertools.count():
            for outer in itertools.product(*inner):
                for index, start in enumerate(range(0, line, count)):
                    yield (row, *outer, index, *rest), min(count, line - start) * cut_.unit_bytes

    def append(self, rows: NDArray[Any]) -> None:
        """Add rows at the end; they are copied before this returns.

        Values are converted to the sink's dtype; raises ValueError if an integer does not survive that.
        """
        if self.closed is not None:
            raise ValueError("the array is closed")
        given = numpy.asarray(rows)
        if given.ndim != 1 + len(self.row_shape) or given.shape[1:] != self.row_shape:
            given = given.reshape(-1, *self.row_shape)
        array = numpy.ascontiguousarray(given, dtype=self.dtype)
        if not numpy.can_cast(given.dtype, self.dtype, "same_kind") and not numpy.array_equal(array, given):
            raise ValueError(f"rows of {given.dtype} hold values that {self.dtype} cannot")
        self._rows += len(array)
        if array.size:
            view = array.reshape(-1).view(numpy.uint8).data
            with storage_errors(self._root, len(view)):
                self._take(view)

    def _take(self, view: memoryview) -> None:
        self._leaves.update(view)
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

    def _submit(self, chunk: bytes) -> None:
        if not self._layout.codec:
            codec = choose_codec(self._layout.dtype, chunk)
            self._layout = replace(self._layout, codec=codec)
        padded = chunk.ljust(self._layout.chunk_bytes, b"\0")
        self._waiting.append((self._coordinates, self._pool.submit(encode, self._layout.codec, padded)))
        self._coordinates, self._room = next(self._pieces)
        while len(self._waiting) > IN_FLIGHT:
            self._write_next()

    def _write_next(self) -> None:
        coordinates, encoded = self._waiting.popleft()
        path, index = self._layout.place(coordinates)
        if self._shard is None or self._shard.path != path:
            self._end_shard()
            self._shard = _Shard(self.folder, path)
        stored = encoded.result()
        self._shard.add(index, stored)
        # Chunks come in C order, which is the order of their checksums in the record.
        self.checksums += checksum_of(stored)

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
        self.closed = StoredArray(self.folder, self._layout, None, bytes(self.checksums))
        return self.closed

    def _final_layout(self) -> Layout:
        chunk, shard = list(self._cut.chunk), list(self._cut.shard)
        # What fits into one chunk, or one shard, is not padded to the full size of one.
        if self._cut.axis == 0 and self._rows < chunk[0]:
            chunk[0] = max(1, self._rows)
        shard[0] = min(shard[0], max(1, -(-self._rows // chunk[0])) * chunk[0])
        codec = self._layout.codec or choose_codec(self._layout.dtype, bytes(self._chunk))
        return Layout(self._layout.dtype, (self._rows, *self.row_shape), tuple(chunk), tuple(shard), codec)

    def wait(self) -> None:
        """Return when every byte is on the disk, but for small files of a sink that is not durable."""
        with storage_errors(self._root):
            for synced in self._synced:
                synced.result()
        self._synced.clear()

    def abandon(self) -> None:
        """Stop writing: close the open file, wait for what threads still do. The folder stays."""
        for _, encoded in self._waiting:
            encoded.cancel()
        self._waiting.clear()
        if self._shard is not None:
            with suppress(OSError):  # what is buffered does not fit on a full disk, and is not wanted
                self._shard.file.close()
        for synced in self._synced:
            synced.exception()


class _Shard:
    """One shard's file while it grows."""

    def __init__(self, folder: Path, path: str) -> None:
        self.path = path
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        self.file: BinaryIO = target.open("wb")
        self._places: dict[int, tuple[int, int]] = {}
        self._size = 0
        self._digest = blake3()

    def add(self, index: int, encoded: bytes) -> None:
        self._places[index] = (self._size, len(encoded))
        self._write(encoded)

    def _write(self, data: bytes) -> None:
        self.file.write(data)
        self._digest.update(data)
        self._size += len(data)

    def end(self, count: int) -> StoredFile:
        self._write(encode_index([self._places.get(i, (MISSING, MISSING)) for i in range(count)]))
        # The array may be read as soon as it is closed, which is before this file is synced.
        self.file.flush()
        return StoredFile(self.path, self._size, self._digest.hexdigest())

    def sync(self) -> None:
        with self.file:
            sync_file(self.file)
