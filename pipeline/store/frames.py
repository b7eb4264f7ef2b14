"""Arrays as an object store holds them: pieces of at most 64 MiB, each an object that is one zstd frame.

The artifact's record in the store has an entry for each object of an array, in order: how many bytes of the
array it holds, how many bytes are stored, and their BLAKE3, by which the object is named. Nothing else of an
array lies there: its digests, its metadata and the end of its file follow from its bytes, dtype and shape.

The bytes of an array are read, checked and compressed a MiB at a time, and decoded, digested and written so:
only a frame that is sent is whole in memory. None is decoded beyond the bytes that the record states.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from blake3 import blake3

from gravel.pipeline.store.descriptors import create, make_folder
from gravel.pipeline.store.files import sync_file
from gravel.pipeline.store.identity import root_of
from gravel.pipeline.store.layout import LEAF_BYTES, LEAVES, METADATA, Layout, group_metadata
from gravel.pipeline.store.objects import FaultySource, RemoteError
from gravel.pipeline.store.records import OBJECT_BYTES, StoredFile, StoredObject

if TYPE_CHECKING:
    from gravel.pipeline.store.objects import Source
    from gravel.pipeline.store.records import ArtifactRecord
    from gravel.pipeline.store.stored_array import StoredArray

T = TypeVar("T")
R = TypeVar("R")
ByteCounter = Callable[[int], None]

LEVEL = 1
"""Of zstd: 0.4 GB/s a thread, and columns of a graph become 19 % smaller; level 3: 0.12 GB/s and 28 %."""

MAX_WINDOW = 8 << 20
"""Bytes that a decoder keeps to copy from; frames of this level ask for 512 KiB."""

MOVE_THREADS = 4
"""Objects under way at once in this process: four fill a line of 10 Gbit/s.

Each has at most 64 MiB in memory when it is sent, and some MiB when it comes.
"""

SLOTS = threading.BoundedSemaphore(MOVE_THREADS)


class BadFrame(ValueError):
    """An object that is not the frame that its record states; the text says why, after "it"."""


def for_each(action: Callable[[T], R], items: list[T] | tuple[T, ...]) -> list[R]:
    """Do something for each item on a few threads; the first error ends it."""
    if len(items) < 2:
        return [action(item) for item in items]
    with ThreadPoolExecutor(MOVE_THREADS) as pool:
        try:
            return list(pool.map(action, items))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def new_file(folder: Path, path: str) -> BinaryIO:
    """Make a file in the folder of an artifact, and the folders above it."""
    root, target = folder.parents[1], f"data/{folder.name}/{path}"
    make_folder(root, target.rpartition("/")[0])
    return os.fdopen(create(root, target), "wb")


def send_arrays(
    record: ArtifactRecord, put: Callable[[str, bytearray], None]
) -> dict[str, tuple[StoredObject, ...]]:
    """Have the objects of an artifact's arrays put under their names, and return what a record says of them.

    Raises `DamagedArtifact`.
    """
    from gravel.pipeline.store.reader import open_array

    def send(piece: tuple[StoredArray, int]) -> StoredObject:
        with SLOTS:
            stored, frame = _encode(*piece)
            put(stored.blake3, frame)
        return stored

    arrays = {name: open_array(record, name) for name in record.arrays}
    pieces = [(name, at) for name, array in arrays.items() for at in range(0, array.nbytes, OBJECT_BYTES)]
    sent: dict[str, list[StoredObject]] = {name: [] for name, _ in pieces}
    stored = for_each(send, [(arrays[name], start) for name, start in pieces])
    for (name, _), each in zip(pieces, stored, strict=True):
        sent[name].append(each)
    return {name: tuple(objects) for name, objects in sent.items()}


class Arrival:
    """Makes the files of an artifact from its objects in a store.

    `incoming` is its record there, `record` the one that it gets here.
    """

    def __init__(
        self,
        incoming: ArtifactRecord,
        record: ArtifactRecord,
        source: Source,
        progress: ByteCounter | None,
    ) -> None:
        self._objects = incoming.objects
        self._place = f"data/{incoming.path.name}"
        self._record = record
        self._source = source
        self._progress = progress
        self._layouts = {name: Layout(*shape) for name, shape in record.arrays.items()}

    def fetch(self) -> None:
        """Fetch them, and write the files."""
        for file in self._record.files:
            if file.path == METADATA:
                self._write(METADATA, self._fetch(METADATA, file.size, partial(_whole, file)))
            elif file.blake3 is not None and file.path.removesuffix(f"/{METADATA}") not in self._layouts:
                self._write(file.path, group_metadata({}))
        for_each(self._array, list(self._layouts))

    def _array(self, name: str) -> None:
        from gravel.pipeline.store.sink import write_at

        layout = self._layouts[name]
        self._write(f"{name}/{METADATA}", layout.metadata())
        if not layout.nbytes:
            return
        if name not in self._objects:
            raise FaultySource(f"its record at {self._source.where} names no objects of {name}")
        starts = accumulate((each.raw for each in self._objects[name]), initial=0)
        with new_file(self._record.path, f"{name}/{layout.path}") as file:
            handle = file.fileno()

            def take(start: int, stated: StoredObject, received: Iterator[bytes]) -> bytes:
                leaves = b""
                for piece in _decode(stated, received):
                    leaves += blake3(piece).digest()
                    write_at(handle, piece, start)
                    start += len(piece)
                return leaves

            def fetch(each: tuple[int, StoredObject]) -> bytes:
                with SLOTS:
                    leaves = self._fetch(each[1].blake3, each[1].size, partial(take, *each))
                if self._progress is not None:
                    self._progress(each[1].raw)
                return leaves

            leaves = b"".join(for_each(fetch, list(zip(starts, self._objects[name], strict=False))))
            write_at(handle, memoryview(layout.tail()), layout.nbytes)
            sync_file(file)
        if root_of(leaves) != self._record.roots[name]:
            raise FaultySource(
                f"the objects of {name} of artifact {self._record.id[:12]} at {self._source.where} hold "
                "something else than its id says"
            )
        if layout.leaf_count > 1:
            self._write(f"{name}/{LEAVES}", leaves)

    def _fetch(self, name: str, size: int, take: Callable[[Iterator[bytes]], T]) -> T:
        """Return what is made of an object's bytes; asks for it again if the line was cut within, or lied."""
        name = f"{self._place}/{name}"
        for is_last in (False, True):
            received = self._source.read(name, size)
            if received is None:
                raise FaultySource(f"{self._source.where} does not hold {name}")
            try:
                return take(received)
            except RemoteError:
                if is_last:
                    raise
            except BadFrame as error:
                if is_last:
                    raise FaultySource(f"{name} at {self._source.where} is damaged: it {error}") from error
        raise AssertionError

    def _write(self, path: str, text: bytes) -> None:
        with new_file(self._record.path, path) as file:
            file.write(text)
            sync_file(file)


def _whole(file: StoredFile, received: Iterator[bytes]) -> bytes:
    text = b"".join(received)
    if blake3(text).hexdigest() != file.blake3:
        raise BadFrame("has another digest than its record says")
    return text


def _encode(array: StoredArray, start: int) -> tuple[StoredObject, bytearray]:
    """Return what a record says of the object that begins at a byte of an array, and the object.

    All that is read is checked; raises `DamagedArtifact`.
    """
    import zstandard

    size = min(OBJECT_BYTES, array.nbytes - start)
    frame = bytearray()
    encoder = zstandard.ZstdCompressor(level=LEVEL).compressobj(size=size)
    for piece in array.checked_pieces(start // LEAF_BYTES, -(-(start + size) // LEAF_BYTES)):
        frame += encoder.compress(piece)
    frame += encoder.flush()
    return StoredObject(size, len(frame), blake3(frame).hexdigest()), frame


def _decode(stated: StoredObject, received: Iterator[bytes]) -> Iterator[memoryview]:
    """Yield what an object holds, never more than stated: a MiB at a time, in memory that the next one takes.

    Raises `BadFrame`, after the last bytes if only their digest is wrong.
    """
    import zstandard

    stored: Any = _Stored(received)
    decoder = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW).stream_reader(stored)
    buffer = memoryview(bytearray(min(LEAF_BYTES, stated.raw)))
    try:
        for start in range(0, stated.raw, LEAF_BYTES):
            piece = buffer[: min(LEAF_BYTES, stated.raw - start)]
            if (found := decoder.readinto(piece)) != len(piece):
                raise BadFrame(f"decodes to {start + found:,} bytes, and its record says {stated.raw:,}")
            yield piece
        if decoder.read(1):
            raise BadFrame(f"decodes to more than the {stated.raw:,} bytes that its record says")
    except zstandard.ZstdError as error:
        raise BadFrame(f"is no zstd frame of this kind: {error}") from error
    if stored.size != stated.size or stored.digest.hexdigest() != stated.blake3:
        raise BadFrame("has another digest than its record says")


class _Stored:
    """The bytes of an object as a file that the decoder reads from, counted and digested."""

    def __init__(self, received: Iterator[bytes]) -> None:
        self._received = received
        self.size = 0
        self.digest = blake3()

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes as they came, whatever is asked for, or none at the end."""
        piece = next(self._received, b"")
        self.size += len(piece)
        self.digest.update(piece)
        return piece
