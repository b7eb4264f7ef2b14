"""Writing an array that is in memory: its shards at the same time, each by one thread.

What is written is the same as `ArraySink` writes. There, rows come one after the other; here all are there,
so that no chunk is copied and nothing waits for the chunk before it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import ExitStack
from io import FileIO
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy
from blake3 import blake3

from gravel.pipeline.store.codecs import MISSING, Buffer, choose_codec, encode, encode_index
from gravel.pipeline.store.content import LEAF_BYTES
from gravel.pipeline.store.disk import write_rate
from gravel.pipeline.store.files import storage_errors, sync_file
from gravel.pipeline.store.identifying import content_of
from gravel.pipeline.store.layout import CHUNK_BYTES, SHARD_BYTES, array_metadata, cut, final_layout, pieces
from gravel.pipeline.store.metadata import METADATA
from gravel.pipeline.store.record_types import StoredFile
from gravel.pipeline.store.sink import SYNCED_EARLY
from gravel.pipeline.store.stored import StoredArray

if TYPE_CHECKING:
    from numpy.typing import NDArray

TOGETHER = 16
"""Chunks that one call of the system writes."""

Chunk = tuple[str, int, int, int]
"""The file of its shard, its place there, its first byte in the array and its bytes."""


class WholeArray:
    """An array that is written at once; attributes as of `ArraySink` after `close`.

    Parameters
    ----------
    folder : where the array is written; it must not exist.
    array : bool, integers or floats; it must not change until this returns.
    pool : threads that write shards, and `threads` how many they are.
    syncs : threads that wait for the disk.
    root : the cache, for messages.
    durable : whether small files, too, are on the disk when `wait` returns.
    before_each : called before some chunks are written; what it raises ends the writing.
    chunk_bytes, shard_bytes : sizes to stay below; they do not change the content's digest.

    Raises TypeError for another dtype, `GravelError` for a full disk.

    """

    def __init__(
        self,
        folder: Path,
        array: NDArray[Any],
        pool: Executor,
        syncs: Executor,
        *,
        root: Path,
        durable: bool = True,
        threads: int = 1,
        before_each: Callable[[], None] | None = None,
        chunk_bytes: int = CHUNK_BYTES,
        shard_bytes: int = SHARD_BYTES,
    ) -> None:
        self.folder = folder
        self._root = root
        self._durable = durable
        self._before_each = before_each
        dtype = numpy.dtype(array.dtype).newbyteorder("<")
        whole = numpy.ascontiguousarray(array, dtype=dtype).reshape(array.shape)
        self._view = whole.reshape(-1).view(numpy.uint8).data
        size = cut(dtype.itemsize, whole.shape[1:], chunk_bytes, shard_bytes)
        self._layout = final_layout(
            dtype.name, whole.shape, size, self._codec(dtype.name, chunk_bytes, threads)
        )
        written: list[tuple[StoredFile, bytes]] = []
        self._syncs = syncs
        self._synced: list[Future[None]] = []
        with storage_errors(root, whole.nbytes):
            folder.mkdir(parents=True)
            shards = [
                list(group) for _, group in groupby(self._chunks(size, whole.shape), lambda each: each[0])
            ]
            for path in dict.fromkeys((folder / shard[0][0]).parent for shard in shards):
                path.mkdir(parents=True, exist_ok=True)
            if threads > 1 and len(shards) > 1:
                waiting = [pool.submit(self._write_shard, shard) for shard in shards]
                try:
                    written = [each.result() for each in waiting]
                finally:
                    for each in waiting:
                        each.cancel()
                    for each in waiting:
                        each.cancelled() or each.exception()
            else:
                written = [self._write_shard(shard) for shard in shards]
            text = array_metadata(self._layout)
            with (folder / METADATA).open("wb") as file:
                file.write(text)
                if durable:
                    sync_file(file)
        self.checksums = b"".join(checksums for _, checksums in written)
        self.manifest = [file for file, _ in written]
        self.manifest.append(StoredFile(METADATA, len(text), blake3(text).hexdigest()))
        # After the writing: a change in between shows.
        self.content = content_of(whole, pool, threads)
        self.closed = StoredArray(folder, self._layout, None, self.checksums)

    def _codec(self, dtype: str, chunk_bytes: int, threads: int) -> str:
        first = self._view[:chunk_bytes]
        rate = write_rate(self._root) if len(first) >= LEAF_BYTES else None
        return choose_codec(dtype, first, rate, threads)

    def _chunks(self, size: Any, shape: tuple[int, ...]) -> Iterator[Chunk]:
        start = 0
        for coordinates, length in pieces(size, shape[1:]):
            if start >= len(self._view):
                return
            path, index = self._layout.place(coordinates)
            yield path, index, start, min(length, len(self._view) - start)
            start += length

    def _write_shard(self, chunks: list[Chunk]) -> tuple[StoredFile, bytes]:
        """Write one shard, and return its file and the checksums of its chunks."""
        path = chunks[0][0]
        places: dict[int, tuple[int, int]] = {}
        checksums, size, digest = bytearray(), 0, blake3()
        file = (self.folder / path).open("wb", buffering=0)
        with ExitStack() as opened:
            opened.enter_context(file)
            for first in range(0, len(chunks), TOGETHER):
                if self._before_each is not None:
                    self._before_each()
                parts: list[Buffer] = []
                for _, index, start, length in chunks[first : first + TOGETHER]:
                    payload, checksum = encode(self._layout.codec, self._padded(start, length))
                    places[index] = (size, len(payload) + len(checksum))
                    parts += [payload, checksum]
                    checksums += checksum
                    size += len(payload) + len(checksum)
                _write_all(file.fileno(), parts)
                for part in parts:
                    digest.update(part)
            index_ = encode_index(
                [places.get(i, (MISSING, MISSING)) for i in range(math.prod(self._layout.per_shard))]
            )
            file.write(index_)
            digest.update(index_)
            size += len(index_)
            if self._durable or size >= SYNCED_EARLY:
                opened.pop_all()
                self._synced.append(self._syncs.submit(_sync, file))
        return StoredFile(path, size, digest.hexdigest()), bytes(checksums)

    def _padded(self, start: int, length: int) -> Buffer:
        piece = self._view[start : start + length]
        size = self._layout.chunk_bytes
        return piece if length == size else bytes(piece).ljust(size, b"\0")

    def wait(self) -> None:
        """Return when every byte is on the disk, but for small files of an array that is not durable."""
        with storage_errors(self._root):
            for synced in self._synced:
                synced.result()
        self._synced.clear()

    def abandon(self) -> None:
        """Wait for what threads still do. The folder stays."""
        for synced in self._synced:
            synced.exception()


def _sync(file: FileIO) -> None:
    with file:
        os.fsync(file.fileno())


def _write_all(handle: int, parts: list[Buffer]) -> None:
    written, size = os.writev(handle, parts), sum(map(len, parts))
    if written == size:
        return
    rest = memoryview(b"".join(parts))  # the disk takes a part only, and says why it takes no more
    while written < size:
        written += os.write(handle, rest[written:])
