"""One array of the cache: its file, mapped, each piece of which is checked before it is used."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy
from blake3 import blake3

from gravel.pipeline.core.errors import DamagedArtifact
from gravel.pipeline.store.identity import root_of
from gravel.pipeline.store.layout import DIGEST_BYTES, LEAF_BYTES, LEAVES, Layout
from gravel.pipeline.store.mapping import leaf_buffer, locked, map_file, read_at
from gravel.pipeline.store.opening import open_file, read_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import DTypeLike, NDArray

READ_THREADS = 8
"""At most; one reads and digests 2 to 4 GB/s, so more than these wait for memory or a disk."""

THREADS_FROM = 8 << 20
"""Bytes from which threads pay for being started."""

TOGETHER = 16
"""Pieces that a thread checks at a time."""

_BASIC = (int, numpy.integer, slice, type(Ellipsis))

Version: TypeAlias = tuple[int, ...]
"""What changes when a file is exchanged or written to."""

_checked: dict[tuple[Version, str], bytearray] = {}
"""Of each file that was mapped, and the root that it is to have: which pieces were found to be right."""


class StoredArray:
    """A stored array: `shape`, `dtype`, slicing and `numpy.asarray` as of an array in memory.

    It is pickled as where it lies, and may be read from many threads. What is read is the file, mapped: a
    slice is a view of it, and neither copied nor to be written to. Each piece of a MiB is checked against its
    digest once a process, before anything of it is handed out; raises `DamagedArtifact` where the file is
    missing, has another size, cannot be read or fails that.

    Parameters
    ----------
    root, inside : the cache, and the array's folder in it.
    layout : dtype and shape.
    digest : the root of its leaves, from the artifact's record.
    artifact_id : the artifact, for messages; None while it is written.
    is_locked : whether NumPy is to refuse to write to what is read.

    """

    def __init__(
        self,
        root: Path,
        inside: str,
        layout: Layout,
        digest: str,
        artifact_id: str | None = None,
        *,
        is_locked: bool = False,
    ) -> None:
        self.root, self.inside = root, inside
        self.layout = layout
        self.digest = digest
        self.artifact_id = artifact_id
        self.is_locked = is_locked
        self._forget()

    def _forget(self) -> None:
        self._whole: NDArray[Any] | None = None
        self._seen = bytearray()
        self._version: Version = ()
        self._leaves = b""
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._forget()

    def become(self, other: StoredArray) -> None:
        """Read from where the other lies from now on; both hold the same values."""
        self.__setstate__(other.__getstate__())

    def locked(self) -> StoredArray:
        """Return the same array as NumPy does not write to it."""
        return StoredArray(self.root, self.inside, self.layout, self.digest, self.artifact_id, is_locked=True)

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
        return self.nbytes // self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of the array."""
        return self.layout.nbytes

    def __len__(self) -> int:
        return self.layout.shape[0]

    def __iter__(self) -> Iterator[Any]:
        yield from numpy.asarray(self)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        whole = self._mapped()
        self._check(0, self.nbytes)
        if copy:
            return numpy.array(whole, dtype)
        return whole if dtype is None else whole.astype(dtype, copy=False)

    def __getitem__(self, key: Any, /) -> Any:
        whole = self._mapped()
        self._check(*_span(whole, key if isinstance(key, tuple) else (key,)))
        return whole[key]

    def read_into(self, out: NDArray[Any], first: int = 0) -> None:
        """Copy the elements from `first` on into `out`, which lies in memory that somebody else has.

        Raises ValueError unless `out` has this array's dtype and as many elements as are asked for exist.
        """
        if self.ndim != 1 or out.ndim != 1 or out.dtype != self.dtype:
            raise ValueError(f"{self!r} cannot be read into an array of {out.dtype} {out.shape}")
        if not 0 <= first <= len(self) - len(out):
            raise ValueError(f"{len(out)} elements from {first} on were asked for; there are {len(self)}")
        if len(out):
            self._mapped()
            start = first * out.itemsize
            self._each(_pieces(start, start + out.nbytes), partial(self._copy_piece, out, start))

    def verify(self) -> None:
        """Read all of the file, whatever was checked before; raises `DamagedArtifact`."""
        if not self.nbytes:
            return
        self._forget()
        self._mapped()
        self._each(range(self.layout.leaf_count), self._check_piece)
        with self._file() as handle:
            self._check_tail(handle)

    def checked_pieces(self, first: int, stop: int) -> Iterator[memoryview]:
        """Yield some pieces, each checked whatever was checked before, in memory that the next one takes.

        What follows the last one in the file is checked, too; raises `DamagedArtifact`.
        """
        self._mapped()
        with self._file() as handle:
            for number in range(first, stop):
                yield self._check_piece(handle, number)
            if stop == self.layout.leaf_count:
                self._check_tail(handle)

    def _check_tail(self, handle: int) -> None:
        if os.pread(handle, self.layout.tail_bytes, self.nbytes) != self.layout.tail():
            raise ValueError("what follows the array is not what was written")

    def _mapped(self) -> NDArray[Any]:
        """Return the file as an array, of which nothing need have been checked."""
        with self._lock:
            if self._whole is None:
                if self.nbytes:
                    with self._file() as handle:
                        self._load_leaves()
                        whole = map_file(handle, self.layout.dtype, self.shape)
                else:
                    whole = numpy.empty(self.shape, self.dtype)
                self._whole = locked(whole) if self.is_locked else whole
            return self._whole

    def _load_leaves(self) -> None:
        count = self.layout.leaf_count
        if count > 1:
            self._leaves = read_file(self.root, f"{self.inside}/{LEAVES}", count * DIGEST_BYTES)
            if root_of(self._leaves) != self.digest:
                raise ValueError(f"{LEAVES} has not the digests that its record has")

    @contextmanager
    def _file(self) -> Iterator[int]:
        """Give a descriptor of the file; what is wrong with it is a `DamagedArtifact`."""
        try:
            with open_file(self.root, f"{self.inside}/{self.layout.path}") as file:
                self._note_version(os.fstat(file.fileno()))
                yield file.fileno()
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            name = f"{self.folder.name}/{self.layout.path}"
            raise DamagedArtifact(self.artifact_id or "being written", f"{name}: {reason}") from error

    def _note_version(self, found: os.stat_result) -> None:
        size = self.nbytes + self.layout.tail_bytes
        if found.st_size != size:
            raise ValueError(f"it has {found.st_size:,} bytes and should have {size:,}")
        version = version_of(found)
        if self._version[:2] not in ((), version[:2]):
            raise ValueError("it was exchanged while it was read")
        if version != self._version:
            self._version = version
            self._seen = _checked.setdefault((version, self.digest), bytearray(self.layout.leaf_count))

    def _check(self, start: int, stop: int) -> None:
        """Check the pieces that hold these bytes, as far as they were not yet in this process."""
        pieces = _pieces(start, stop)
        if self._seen.find(0, pieces.start, pieces.stop) >= 0:
            unchecked = [number for number in pieces if not self._seen[number]]
            self._each(unchecked, self._check_piece)

    def _each(self, pieces: range | list[int], action: Callable[[int, int], object]) -> None:
        """Do something with each piece of the open file, on threads where there are many."""
        with self._file() as handle:

            def some(first: int) -> None:
                for number in pieces[first : first + TOGETHER]:
                    action(handle, number)

            work = range(0, len(pieces), TOGETHER)
            threads = min(READ_THREADS, len(os.sched_getaffinity(0)), len(work))
            if threads > 1 and len(pieces) * LEAF_BYTES >= THREADS_FROM:
                with ThreadPoolExecutor(threads, "gravel-read") as pool:
                    for _ in pool.map(some, work):
                        pass
            else:
                for first in work:
                    some(first)

    def _copy_piece(self, out: NDArray[Any], start: int, handle: int, number: int) -> None:
        """Copy what `out`, whose first byte is `start` of the array, has of a piece, and check the piece."""
        target = out.view(numpy.uint8).data
        begin, end = number * LEAF_BYTES, min((number + 1) * LEAF_BYTES, self.nbytes)
        low, high = max(begin, start), min(end, start + out.nbytes)
        wanted = target[low - start : high - start]
        if self._seen[number] or high - low == end - begin:
            read_at(handle, wanted, low)
            if not self._seen[number]:
                self._compare(number, wanted)
            return
        wanted[:] = self._check_piece(handle, number)[low - begin : high - begin]

    def _check_piece(self, handle: int, number: int) -> memoryview:
        """Read a piece into this thread's buffer, and check it."""
        start = number * LEAF_BYTES
        view = leaf_buffer()[: min(LEAF_BYTES, self.nbytes - start)]
        read_at(handle, view, start)
        self._compare(number, view)
        return view

    def _compare(self, number: int, view: memoryview) -> None:
        found = blake3(view).digest()
        if self.layout.leaf_count == 1:
            is_right = root_of(found) == self.digest
        else:
            is_right = found == self._leaves[number * DIGEST_BYTES : (number + 1) * DIGEST_BYTES]
        if not is_right:
            start = number * LEAF_BYTES
            raise ValueError(f"bytes {start:,} to {start + len(view):,} are not what was written")
        self._seen[number] = 1


def version_of(found: os.stat_result) -> Version:
    """Return what tells a file from one that is put in its place, or written to, later."""
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def note_as_checked(handle: int, digest: str, leaf_count: int) -> None:
    """Let a file count as checked in this process, which has read it after it wrote it."""
    _checked[version_of(os.fstat(handle)), digest] = bytearray(b"\1" * leaf_count)


def _pieces(start: int, stop: int) -> range:
    """Return the pieces that hold these bytes."""
    return range(start // LEAF_BYTES, -(-stop // LEAF_BYTES)) if stop > start else range(0)


def _span(whole: NDArray[Any], key: tuple[Any, ...]) -> tuple[int, int]:
    """Return the first byte that an index touches, and the one after the last.

    Of indices that pick elements from a list or by a mask: all bytes of the rows from the first to the last.
    """
    if all(isinstance(part, _BASIC) and not isinstance(part, bool) for part in key):
        dots = () if any(part is Ellipsis for part in key) else (Ellipsis,)
        low, high = numpy.lib.array_utils.byte_bounds(whole[(*key, *dots)])
        begin = whole.ctypes.data
        return low - begin, high - begin
    row_bytes = whole.nbytes // max(1, len(whole))
    first = numpy.asarray(key[0])
    if first.dtype == bool and first.shape == whole.shape[:1]:
        first = numpy.flatnonzero(first)
    if first.dtype.kind not in "iu":
        return 0, whole.nbytes
    if not first.size:
        return 0, 0
    rows = numpy.where(first < 0, first + len(whole), first)
    return max(0, int(rows.min())) * row_bytes, min(len(whole), int(rows.max()) + 1) * row_bytes
