"""Arrays of an artifact that other processes write into folders of its writer, whole or in ranges."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy
from blake3 import blake3

from gravel.pipeline.store.failures import storage_errors
from gravel.pipeline.store.identity import BLOCK_BYTES, LeafDigest
from gravel.pipeline.store.layout import ITEMSIZE, LEAF_BYTES, Layout
from gravel.pipeline.store.mapping import read_at
from gravel.pipeline.store.sharing import mask_for
from gravel.pipeline.store.sink import ArraySink, WriteThreads, manifest_of, write_at
from gravel.pipeline.store.stored_array import StoredArray

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray


@dataclass(frozen=True)
class SinksElsewhere:
    """Makes sinks in any process that sees the cache (`gravel.stages.context.SinkMaker`).

    On another host than the writer's, small files are on the disk, too, before an array counts as written.
    """

    root: Path
    folder: Path
    host: str
    durable: bool
    passing: bool

    @contextmanager
    def open(self) -> Iterator[Callable[[DTypeLike], ArraySink]]:
        """Give what starts an array; what was closed is on the disk at the end, as far as it has to be."""
        # Workers of an existing cluster have the mask of whoever started them.
        os.umask(mask_for(self.root))
        threads, sinks = WriteThreads(), list[ArraySink]()

        def sink(dtype: DTypeLike) -> ArraySink:
            sinks.append(
                ArraySink(
                    self.folder / uuid.uuid4().hex,
                    dtype,
                    (),
                    threads,
                    root=self.root,
                    durable=self.durable or self.host != socket.gethostname(),
                    passing=self.passing,
                    before_each=lambda: None,
                )
            )
            return sinks[-1]

        try:
            yield sink
            for each in sinks:
                each.wait()
        finally:
            for each in sinks:
                each.abandon()
            threads.close()


class WrittenElsewhere(ArraySink):
    """The sink of an array that another process has written and closed."""

    def __init__(self, array: StoredArray, threads: WriteThreads) -> None:
        super().__init__(
            array.folder,
            array.dtype,
            array.shape[1:],
            threads,
            root=array.root,
            durable=False,
            passing=True,
            before_each=lambda: None,
        )
        self.closed, self.manifest = array, manifest_of(array.layout)


class Span(NamedTuple):
    """Bytes `start` to `stop` - 1 of an array, all of one piece, and the digest of what was given."""

    start: int
    stop: int
    digest: bytes


_OWN = os.O_CLOEXEC | os.O_NOFOLLOW
"""How the file of ranges is opened: a link that lies in its place leads elsewhere."""


@dataclass(frozen=True)
class RangeWriter:
    """Writes ranges of one array in any process that sees the cache (`gravel.stages.context.RangeWriter`).

    On another host than the writer's, they are on the disk when `write` returns.
    """

    root: Path
    path: Path
    dtype: str
    host: str
    process: int
    passing: bool

    @property
    def piece(self) -> int:
        """Elements of a piece."""
        return LEAF_BYTES // ITEMSIZE[self.dtype]

    def write(self, first: int, values: NDArray[Any]) -> tuple[Span, ...]:
        """Write the elements from `first` on; raises `GravelError` for a full disk."""
        is_near = self.host == socket.gethostname()
        if not is_near or self.process != os.getpid():  # the writer's process has its mask
            os.umask(mask_for(self.root))
        view = numpy.ascontiguousarray(values, self.dtype).view(numpy.uint8).data
        begin = first * ITEMSIZE[self.dtype]
        with storage_errors(self.root, len(view)):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | _OWN, 0o666)
            try:
                write_at(handle, view, begin)
                if not self.passing and not is_near:
                    os.fsync(handle)
            finally:
                os.close(handle)
        spans, start, end = [], begin, begin + len(view)
        while start < end:
            stop = min(end, start - start % LEAF_BYTES + LEAF_BYTES)
            spans.append(Span(start, stop, blake3(view[start - begin : stop - begin]).digest()))
            start = stop
        return tuple(spans)


class RangesSink(ArraySink):
    """An array whose ranges other processes write (`gravel.stages.context.Ranges`)."""

    comes_back = False

    def __init__(self, folder: Path, dtype: DTypeLike, row_shape: tuple[int, ...], *given: Any, **more: Any):
        super().__init__(folder, dtype, row_shape, *given, **more)
        path = folder / Layout(self.dtype.name, (0, *self.row_shape)).path
        host = socket.gethostname()
        self.writer = RangeWriter(more["root"], path, self.dtype.name, host, os.getpid(), more["passing"])
        self._spans: list[Span] = []

    def add(self, receipts: Iterable[tuple[Span, ...]]) -> None:
        """Take in what `RangeWriter.write` returned."""
        for spans in receipts:
            self._spans += spans

    def close(self, rows: int | None = None) -> StoredArray:
        """End the array, which has so many rows.

        Raises ValueError unless they were written, each once, and `GravelError` as `ArraySink` does.
        """
        if self.closed is not None:
            return self.closed
        assert rows is not None
        self._rows = rows
        layout = Layout(self.dtype.name, (rows, *self.row_shape))
        spans = sorted(self._spans)
        if [0, *(each.stop for each in spans)] != [*(each.start for each in spans), layout.nbytes]:
            raise ValueError(f"the ranges that were written are not all of {layout.nbytes:,} bytes")
        if spans:
            with storage_errors(self._root):
                self._handle = os.open(self.writer.path, os.O_RDWR | _OWN)
                self._size = layout.nbytes
                self._given = _GivenSpans(self._handle, spans)
                step = BLOCK_BYTES // LEAF_BYTES
                for upto in range(step, layout.leaf_count, step):
                    self._digest(upto)
        return super().close()


class _GivenSpans(LeafDigest):
    """The leaves of an array of which spans were digested, before they were written."""

    def __init__(self, handle: int, spans: list[Span]) -> None:
        super().__init__()
        pieces: dict[int, list[Span]] = {}
        for each in spans:
            pieces.setdefault(each.start // LEAF_BYTES, []).append(each)
        for several in pieces.values():
            self._leaves += several[0].digest if len(several) == 1 else _together(handle, several)


def _together(handle: int, spans: list[Span]) -> bytes:
    """Digest a piece that several wrote to; what is not as one of them wrote it makes no digest."""
    first = spans[0].start
    view = memoryview(bytearray(spans[-1].stop - first))
    read_at(handle, view, first)
    right = all(blake3(view[at - first : stop - first]).digest() == wanted for at, stop, wanted in spans)
    return blake3(view).digest() if right else bytes(32)
