"""Reading one array: slices decode only the chunks that they touch, and every chunk is checked."""

from __future__ import annotations

import itertools
import math
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy

from gravel.pipeline.core.errors import DamagedArtifact
from gravel.pipeline.store.codecs import (
    CHECKSUM_BYTES,
    INDEX_ENTRY,
    MISSING,
    Buffer,
    check,
    decode,
    decode_index,
)
from gravel.pipeline.store.layout import PLAIN, Layout
from gravel.pipeline.store.opening import open_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import DTypeLike, NDArray

READ_THREADS = 8
"""At most; a chunk decodes at about 1 GB/s, so this is beyond what a disk gives."""

THREADS_FROM = 8 << 20
"""Bytes from which threads pay for being started."""

Box = tuple[tuple[int, int], ...]


class StoredArray:
    """A stored array: `shape`, `dtype`, slicing and `numpy.asarray` as of an array in memory.

    An index may hold integers, slices, an ellipsis and integer or boolean arrays; what is read is the
    smallest box of whole chunks around it. Raises `DamagedArtifact` where a chunk is missing or fails its
    checks. May be pickled, and read from many threads. It lies in the folder `inside` of a cache's `root`.
    `checksums` are those of the chunks, joined in C
    order: the artifact's record has them.
    """

    def __init__(
        self, root: Path, inside: str, layout: Layout, artifact_id: str | None, checksums: bytes
    ) -> None:
        self.root, self.inside = root, inside
        self.layout = layout
        self.checksums = checksums
        self.artifact_id = artifact_id
        self._indices: dict[str, list[tuple[int, int]]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_indices": {}}

    def become(self, other: StoredArray) -> None:
        """Read from where the other lies from now on; both hold the same values."""
        self.__dict__.update(other.__dict__)

    def __repr__(self) -> str:
        return f"<StoredArray {self.layout.dtype} {self.shape} at {self.folder}>"

    @property
    def folder(self) -> Path:
        """Where it lies."""
        return self.root / self.inside

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        return self.layout.shape

    @property
    def dtype(self) -> numpy.dtype[Any]:
        """The type of the elements."""
        return numpy.dtype(self.layout.dtype)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.layout.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.layout.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the array in memory."""
        return self.size * self.layout.itemsize

    def __len__(self) -> int:
        return self.layout.shape[0]

    def __iter__(self) -> Iterator[Any]:
        step = self.layout.chunk[0]
        for start in range(0, len(self), step):
            yield from self[start : start + step]

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("a stored array cannot be had without copying it into memory")
        whole = self._read(tuple((0, length) for length in self.shape))
        return whole if dtype is None else whole.astype(dtype, copy=False)

    def __getitem__(self, key: Any, /) -> Any:
        box: list[tuple[int, int]] = []
        within: list[Any] = []
        for part, length in zip(_expand(key, self.ndim), self.shape, strict=True):
            low, high, inside = _span(part, length)
            box.append((low, high))
            within.append(inside)
        return self._read(tuple(box))[tuple(within)]

    def read_into(self, out: NDArray[Any], first: int = 0) -> None:
        """Decode the elements from `first` on into `out`, which lies in memory that somebody else has.

        Raises ValueError unless `out` has this array's dtype and as many elements as are asked for exist.
        """
        if self.ndim != 1 or out.ndim != 1 or out.dtype != self.dtype:
            raise ValueError(f"{self!r} cannot be read into an array of {out.dtype} {out.shape}")
        if not 0 <= first <= len(self) - len(out):
            raise ValueError(f"{len(out)} elements from {first} on were asked for; there are {len(self)}")
        self._read_box(out, ((first, first + len(out)),))

    def _read(self, box: Box) -> NDArray[Any]:
        """Read the elements from low to below high along each axis."""
        out = numpy.empty([high - low for low, high in box], self.dtype)
        self._read_box(out, box)
        return out

    def _read_box(self, out: NDArray[Any], box: Box) -> None:
        if out.size == 0:
            return
        ranges = [
            range(low // size, -(-high // size))
            for (low, high), size in zip(box, self.layout.chunk, strict=True)
        ]
        shards: dict[str, list[tuple[int, tuple[int, ...]]]] = {}
        for coordinates in itertools.product(*ranges):
            path, index = self.layout.place(coordinates)
            shards.setdefault(path, []).append((index, coordinates))
        work = [
            (path, places[start : start + READ_THREADS])
            for path, places in shards.items()
            for start in range(0, len(places), READ_THREADS)
        ]
        threads = min(READ_THREADS, len(os.sched_getaffinity(0)), len(work))
        if threads > 1 and out.nbytes >= THREADS_FROM:
            with ThreadPoolExecutor(threads) as pool:
                for _ in pool.map(lambda item: self._fill(out, box, *item), work):
                    pass
        else:
            for path, places in work:
                self._fill(out, box, path, places)

    def _fill(
        self, out: NDArray[Any], box: Box, path: str, places: list[tuple[int, tuple[int, ...]]]
    ) -> None:
        try:
            with open_file(self.root, f"{self.inside}/{path}") as file:
                handle = file.fileno()
                entries = self._index(path, handle)
                for index, coordinates in places:
                    offset, length = entries[index]
                    if offset == MISSING:
                        raise ValueError("a chunk is missing")
                    start = CHECKSUM_BYTES * self.layout.number(coordinates)
                    expected = self.checksums[start : start + CHECKSUM_BYTES]
                    target = self._in_place(out, box, coordinates, length)
                    if target is not None:
                        _read_plain(handle, offset, target, expected)
                        continue
                    stored = os.pread(handle, length, offset)
                    if len(stored) != length:
                        raise ValueError("the file ends too early")
                    chunk = decode(self.layout.codec, stored, self.layout.chunk_bytes, expected)
                    self._copy(out, box, coordinates, chunk)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            name = f"{self.folder.name}/{path}"
            raise DamagedArtifact(self.artifact_id or "being written", f"{name}: {reason}") from error

    def _index(self, path: str, handle: int) -> list[tuple[int, int]]:
        known = self._indices.get(path)
        if known is None:
            count = math.prod(self.layout.per_shard)
            size = count * INDEX_ENTRY.size + CHECKSUM_BYTES
            length = os.fstat(handle).st_size
            if length < size:
                raise ValueError("the file ends too early")
            index = os.pread(handle, size, length - size)
            known = self._indices[path] = decode_index(index, count, length - size)
        return known

    def _in_place(
        self, out: NDArray[Any], box: Box, coordinates: tuple[int, ...], length: int
    ) -> memoryview | None:
        """Return where in `out` the bytes of a chunk lie as they are stored, if they do."""
        if self.layout.codec != PLAIN or len(box) != 1 or length != self.layout.chunk_bytes + CHECKSUM_BYTES:
            return None
        (low, high), size = box[0], self.layout.chunk[0]
        first = coordinates[0] * size
        if first < low or first + size > high or sys.byteorder != "little" or not out.flags.c_contiguous:
            return None
        return out[first - low : first - low + size].view(numpy.uint8).data

    def _copy(self, out: NDArray[Any], box: Box, coordinates: tuple[int, ...], chunk: Buffer) -> None:
        values = numpy.frombuffer(chunk, self.dtype.newbyteorder("<")).reshape(self.layout.chunk)
        source, target = [], []
        for coordinate, size, (low, high) in zip(coordinates, self.layout.chunk, box, strict=True):
            first = max(low, coordinate * size)
            last = min(high, (coordinate + 1) * size)
            source.append(slice(first - coordinate * size, last - coordinate * size))
            target.append(slice(first - low, last - low))
        out[tuple(target)] = values[tuple(source)]


def _read_plain(handle: int, offset: int, target: memoryview, expected: bytes) -> None:
    """Read a plain chunk to where it belongs, and check it there; raises ValueError if it is another."""
    stored = bytearray(CHECKSUM_BYTES)
    if os.preadv(handle, [target, stored], offset) != len(target) + CHECKSUM_BYTES:
        raise ValueError("the file ends too early")
    check(target, bytes(stored), expected)


def _expand(key: Any, axes: int) -> list[Any]:
    """Return one index per axis, with the ellipsis and what is left out written in full."""
    parts = list(key) if isinstance(key, tuple) else [key]
    dots = [position for position, part in enumerate(parts) if part is Ellipsis]
    if any(part is None for part in parts) or len(dots) > 1 or len(parts) - len(dots) > axes:
        raise IndexError(f"{key!r} is no index of an array of {axes} axes")
    missing = [slice(None)] * (axes - len(parts) + len(dots))
    if dots:
        return parts[: dots[0]] + missing + parts[dots[0] + 1 :]
    return parts + missing


def _span(part: Any, length: int) -> tuple[int, int, Any]:
    """Return the range of an axis to read and the index into that range."""
    if isinstance(part, slice):
        start, stop, step = part.indices(length)
        picked = range(start, stop, step)
        if len(picked) == 0:
            return 0, 0, slice(None)
        low, high = min(picked[0], picked[-1]), max(picked[0], picked[-1]) + 1
        return low, high, slice(None, None, step)
    array = numpy.asarray(part)
    if array.dtype == bool:
        if array.shape != (length,):
            raise IndexError(f"a mask of shape {array.shape} on an axis of {length}")
        array = numpy.flatnonzero(array)
    if array.size == 0:
        return 0, 0, array.astype(numpy.intp)
    if array.dtype.kind not in "iu":
        raise IndexError(f"{part!r} is no index")
    array = array.astype(numpy.int64)
    if array.min() < -length or array.max() >= length:
        raise IndexError(f"index {part!r:.80} is out of range for an axis of {length}")
    array = numpy.where(array < 0, array + length, array)
    low = int(array.min())
    inside = array - low
    return low, int(array.max()) + 1, inside if inside.ndim else int(inside)
