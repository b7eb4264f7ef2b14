"""Writing an array that is in memory: its shards at the same time, each by one thread.

What is written is the same as `ArraySink` writes. There, rows come one after the other; here all are there,
so that no chunk is copied and nothing waits for the chunk before it, nor for another array.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import replace
from io import FileIO
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy
from blake3 import blake3

from gravel.pipeline.store.codecs import MISSING, Buffer, choose_codec, encode, encode_index
from gravel.pipeline.store.content import LEAF_BYTES, ArrayContent
from gravel.pipeline.store.disk import write_rate
from gravel.pipeline.store.files import storage_errors, sync_file
from gravel.pipeline.store.layout import (
    CHUNK_BYTES,
    DTYPES,
    SHARD_BYTES,
    array_metadata,
    cut,
    final_layout,
    pieces,
)
from gravel.pipeline.store.leaves import Root, ShardLeaves
from gravel.pipeline.store.metadata import METADATA
from gravel.pipeline.store.record_types import StoredFile
from gravel.pipeline.store.sink import SYNCED_EARLY
from gravel.pipeline.store.stored import StoredArray
from gravel.pipeline.store.write_threads import WriteThreads, run_now

if TYPE_CHECKING:
    from numpy.typing import NDArray

THREADS_FROM = 1 << 20
"""Bytes from which handing an array to threads, 0.1 ms, is less than writing it."""

TOGETHER = 16
"""Chunks that one call of the system writes."""

Chunk = tuple[str, int, int, int]
"""The file of its shard, its place there, its first byte in the array and its bytes."""

WrittenShard = tuple[StoredFile, bytes]
"""The file of a shard, and the checksums of its chunks."""


class WholeArray:
    """An array that is written by `start` and `close`; attributes as of `ArraySink` after that.

    Parameters
    ----------
    folder : where the array is written; it must not exist.
    array : bool, integers or floats; it must not change until it is closed.
    threads : those that write shards and wait for the disk.
    root : the cache, for messages.
    durable : whether small files, too, are on the disk when `wait` returns.
    before_each : called before some chunks are written; what it raises ends the writing.
    chunk_bytes, shard_bytes : sizes to stay below; they do not change the content's digest.

    Raises TypeError for another dtype.

    """

    def __init__(
        self,
        folder: Path,
        array: NDArray[Any],
        threads: WriteThreads,
        *,
        root: Path,
        durable: bool = True,
        before_each: Callable[[], None] | None = None,
        chunk_bytes: int = CHUNK_BYTES,
        shard_bytes: int = SHARD_BYTES,
    ) -> None:
        dtype = numpy.dtype(array.dtype).newbyteorder("<")
        if dtype.name not in DTYPES:
            raise TypeError(f"an array of {dtype} cannot be stored; bool, integers and floats can")
        self.folder = folder
        self.closed: StoredArray | None = None
        self.content: ArrayContent | None = None
        self.manifest: list[StoredFile] = []
        self.checksums = b""
        self._root = root
        self._durable = durable
        self._before_each = before_each
        self._threads = threads
        self._submit = threads.submit if array.nbytes >= THREADS_FROM else run_now
        whole = numpy.ascontiguousarray(array, dtype=dtype).reshape(array.shape)
        self.is_copy = not numpy.may_share_memory(whole, array)
        self._view = whole.reshape(-1).view(numpy.uint8).data
        self._sample = self._view[:chunk_bytes]
        self._cut = cut(dtype.itemsize, whole.shape[1:], chunk_bytes, shard_bytes)
        self._layout = final_layout(dtype.name, whole.shape, self._cut, codec="")
        self._digest = Root(self._layout)
        self._started: Future[list[Future[WrittenShard]]] | None = None
        self._written: list[Future[WrittenShard]] = []
        self._synced: list[Future[None]] = []

    def start(self) -> None:
        """Have threads write the array; the first tries how well it shrinks. A small one is written here."""
        # Measured, if need be, before the threads are busy.
        rate = write_rate(self._root) if len(self._sample) >= LEAF_BYTES else None
        self._started = self._submit(self._start, rate)

    def _start(self, rate: float | None) -> list[Future[WrittenShard]]:
        codec = choose_codec(self._layout.dtype, self._sample, rate, self._threads.count)
        self._layout = replace(self._layout, codec=codec)
        with storage_errors(self._root, len(self._view)):
            self.folder.mkdir(parents=True)
            shards = [list(group) for _, group in groupby(self._chunks(), lambda each: each[0])]
            for path in dict.fromkeys((self.folder / shard[0][0]).parent for shard in shards):
                path.mkdir(parents=True, exist_ok=True)
        self._written = [self._submit(self._write_shard, shard) for shard in shards]
        return self._written

    def close(self) -> StoredArray:
        """Return when all of it is written; raises `GravelError` for a full disk."""
        if self.closed is not None:
            return self.closed
        assert self._started is not None
        with storage_errors(self._root, len(self._view)):
            shards = [each.result() for each in self._started.result()]
            text = array_metadata(self._layout)
            with (self.folder / METADATA).open("wb") as file:
                file.write(text)
                if self._durable:
                    sync_file(file)
        self.checksums = b"".join(checksums for _, checksums in shards)
        self.manifest = [file for file, _ in shards]
        self.manifest.append(StoredFile(METADATA, len(text), blake3(text).hexdigest()))
        self.content = ArrayContent(self._layout.dtype, self._layout.shape, self._digest.finish())
        inside = self.folder.relative_to(self._root).as_posix()
        self.closed = StoredArray(self._root, inside, self._layout, None, self.checksums)
        return self.closed

    def _chunks(self) -> Iterator[Chunk]:
        start = 0
        for coordinates, length in pieces(self._cut, self._layout.shape[1:]):
            if start >= len(self._view):
                return
            path, index = self._layout.place(coordinates)
            yield path, index, start, min(length, len(self._view) - start)
            start += length

    def _write_shard(self, chunks: list[Chunk]) -> WrittenShard:
        path = chunks[0][0]
        places: dict[int, tuple[int, int]] = {}
        checksums, size, digest = bytearray(), 0, blake3()
        leaves = _Leaves(self._view, chunks[0][2])
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
                leaves.digest_to(start + length)  # after the writing: a change in between shows
            index_ = encode_index(
                [places.get(i, (MISSING, MISSING)) for i in range(math.prod(self._layout.per_shard))]
            )
            file.write(index_)
            digest.update(index_)
            size += len(index_)
            if self._durable or size >= SYNCED_EARLY:
                opened.pop_all()
                self._synced.append(self._threads.submit_sync(_sync, file))
        self._digest.add(leaves.finish())
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
        """Give up what is not begun, and wait for what threads still do. The folder stays."""
        if self._started is not None:
            self._started.cancel() or self._started.exception()
        for each in self._written:
            each.cancel()
        for each in self._written:
            each.cancelled() or each.exception()
        for synced in self._synced:
            synced.exception()


class _Leaves:
    """What the bytes of an array from `begin` on give to its digest, as far as they are written."""

    def __init__(self, view: memoryview, begin: int) -> None:
        self._view = view
        self._begin = self._end = begin
        self._first = self._next = begin + -begin % LEAF_BYTES
        self._digests: list[bytes] = []

    def digest_to(self, end: int) -> None:
        """Digest the leaves that end no later than there."""
        self._end = end
        while self._next + LEAF_BYTES <= end:
            self._digests.append(blake3(self._view[self._next : self._next + LEAF_BYTES]).digest())
            self._next += LEAF_BYTES

    def finish(self) -> ShardLeaves:
        head = bytes(self._view[self._begin : min(self._first, self._end)])
        tail = bytes(self._view[self._next : self._end])
        return ShardLeaves(self._begin, self._end - self._begin, head, b"".join(self._digests), tail)


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
