"""The decompressed bytes of one file, read ahead on a thread and checked against a sha256."""

from __future__ import annotations

import hashlib
import itertools
import os
import stat
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import BinaryIO, NamedTuple
from urllib.parse import urlsplit

from gravel.stages.errors import StageError
from gravel.stages.remote.facts import FetchError
from gravel.stages.streams.compression import compression_of, decompress, split_name
from gravel.stages.streams.frames import BadCompression
from gravel.stages.streams.opening import explain, explain_remote, is_url, local_path, open_raw
from gravel.stages.urls import shown

__all__ = ["graph_of", "is_archive"]

BLOCK = 512
REGULAR = (b"0", b"\0")
MAX_NAMED = 5


def is_archive(first: bytes) -> bool:
    """Return whether a header is that of a tar archive, by its magic."""
    return first[257:262] == b"ustar"


def graph_of(blocks: Iterator[bytes], location: str) -> Iterator[bytes]:
    """Yield the bytes of the graph; raises StageError if there is none or the archive breaks off."""
    reader = _Reader(blocks, location)
    names: list[str] = []
    while True:
        header = reader.take(BLOCK, at_end=True)
        if not header.strip(b"\0"):
            break
        size, name = _size(header, location), header[:100].split(b"\0")[0].decode("utf-8", "replace")
        padding = -size % BLOCK
        if header[156:157] in REGULAR and _is_graph(PurePosixPath(name), location):
            yield from reader.pieces(size)
            for _ in blocks:  # to the end, so that all of it is checked
                pass
            return
        if header[156:157] in REGULAR:
            names.append(name)
        for _ in reader.pieces(size + padding):
            pass
    listed = ", ".join(names[:MAX_NAMED]) + (", ..." if len(names) > MAX_NAMED else "")
    raise StageError(
        "none of the files in this archive is called as its folder or as the archive",
        hint=f"unpack it and name one of its files: {listed}" if names else "it holds no files",
        file=location,
    )


def _is_graph(path: PurePosixPath, location: str) -> bool:
    archive = PurePosixPath(location.split("?")[0]).name.split(".tar")[0]
    return path.suffix != "" and path.stem in (path.parent.name, archive)


def _size(header: bytes, location: str) -> int:
    field = header[124:136]
    try:
        if field[0] & 0x80:  # GNU: 8 GiB and more, as a binary number
            return int.from_bytes(field[1:], "big")
        return int(field.strip(b" \0") or b"0", 8)
    except ValueError:
        raise StageError("this archive is damaged: a header states no size", file=location) from None


class _Reader:
    def __init__(self, blocks: Iterator[bytes], location: str) -> None:
        self._blocks = blocks
        self._location = location
        self._rest = b""

    def take(self, count: int, *, at_end: bool = False) -> bytes:
        found = b"".join(self.pieces(count, at_end=at_end))
        return found if len(found) == count else b""

    def pieces(self, count: int, *, at_end: bool = False) -> Iterator[bytes]:
        while count:
            if not self._rest:
                block = next(self._blocks, None)
                if block is None:
                    if at_end:
                        return
                    raise StageError(
                        "this archive ends too early", hint="fetch it again", file=self._location
                    )
                self._rest = block
            piece, self._rest = self._rest[:count], self._rest[count:]
            count -= len(piece)
            if piece:
                yield piece


READ = 1 << 20
"""Bytes of the stored file read at once by default."""


class UnplacedError(StageError):
    """Error behind the last whole line that was handed out; who counts lines can name it."""


class DamagedStream(UnplacedError):
    """A compressed file that breaks off or cannot be decompressed."""


class OpenFile(NamedTuple):
    """A local file whose content is the stream's, and where what was not handed out begins."""

    descriptor: int
    offset: int


def open_stream(
    location: str, *, sha256: str | None = None, piece: int = READ, threads: int = 1
) -> ByteStream:
    """Open a path or URL; `piece` bounds the bytes handled at once, by `threads`. Raises StageError."""
    return ByteStream(location, open_raw(location), sha256, piece, threads)


class ByteStream:
    """Bytes in order; a context manager, since a thread reads one block ahead of who asks.

    Attributes: `location` as given; `name` of the file without a compression suffix; `compression` or None;
    `position`, the stored bytes read so far.
    """

    def __init__(
        self, location: str, raw: BinaryIO, sha256: str | None, piece: int, threads: int = 1
    ) -> None:
        self.location = location
        full_name = PurePosixPath(urlsplit(shown(location)).path if is_url(location) else location).name
        self.name, _ = split_name(full_name)
        self.position = 0
        self._raw = raw
        self._piece = piece
        self._threads = threads
        self._sha256 = sha256.lower() if sha256 else None
        self._hash = hashlib.sha256() if sha256 else None
        self._stored = self._read_stored()
        self._pending: deque[bytes] = deque()
        self._handed_out = 0
        self._pool: ThreadPoolExecutor | None = None
        self._future: Future[bytes | None] | None = None
        try:
            first = next(self._stored, b"")
        except BaseException:
            raw.close()
            raise
        self.compression = compression_of(first)
        self._packed = is_archive(first)
        self._content = self._decompressed(first)
        self._ended = False

    def __enter__(self) -> ByteStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop reading and close the file."""
        self._stop()
        self._raw.close()

    def _stop(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def peek(self, count: int) -> bytes:
        """Return the first `count` bytes that are yet to be read, fewer at the end, without reading them."""
        pending_bytes = sum(map(len, self._pending))
        while pending_bytes < count:
            try:
                block = self._next_content()
            except DamagedStream as error:
                line = 1 + sum(pending.count(b"\n") for pending in self._pending)
                raise DamagedStream(error.message, hint=error.hint, file=error.file, line=line) from None
            if block is None:
                break
            self._pending.append(block)
            pending_bytes += len(block)
        return b"".join(self._pending)[:count]

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        block = self._pending.popleft() if self._pending else self._next_content()
        if block is None:
            raise StopIteration
        self._handed_out += len(block)
        return block

    def put_back(self, block: bytes) -> None:
        """Return bytes that were read; they come next."""
        if block:
            self._handed_out -= len(block)
            self._pending.appendleft(block)

    def finish(self) -> None:
        """Read what is left, so that its compression and sha256 are checked too."""
        for _ in self:
            pass

    def check_stored(self) -> None:
        """Check the sha256 of the stored bytes whatever is wrong with their content; raises StageError."""
        if self._hash is None:
            return
        self._stop()
        for _ in self._stored:
            pass
        self._compare()

    def as_local_file(self, folder: Path) -> Path:
        """Return a path with the whole decompressed content: the file itself, else a copy in `folder`."""
        if self.compression is None and not self._packed and not is_url(self.location):
            if self._hash is not None:
                self.finish()
            # Whoever reads the file by its path reads all of it: nothing is left for this stream.
            self._ended = True
            self._pending.clear()
            return local_path(self.location)
        copy = folder / "content"
        try:
            with copy.open("wb") as out:
                for block in self:
                    out.write(block)
        except OSError as error:
            raise explain(error, str(copy)) from None
        return copy

    def take_file(self) -> OpenFile | None:
        """Leave the rest to whoever reads a file at several places at once: nothing is left for this stream.

        Returns None where the content must pass through here: it is compressed, comes from elsewhere or must
        be hashed. So it does when the file was taken before.
        """
        if self._ended or self.compression is not None or self._packed or self._hash is not None:
            return None
        try:
            descriptor = self._raw.fileno()
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
        except (AttributeError, OSError):  # answers of servers
            return None
        self._ended = True
        self._pending.clear()
        return OpenFile(descriptor, self._handed_out)

    def _next_content(self) -> bytes | None:
        if self._ended:
            return None
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, thread_name_prefix="gravel-read")
            self._future = self._pool.submit(next, self._content, None)
        assert self._future is not None
        block = self._future.result()
        if block is None:
            self._ended = True
            return None
        self._future = self._pool.submit(next, self._content, None)
        return block

    def _read_stored(self) -> Iterator[bytes]:
        while True:
            try:
                block = self._raw.read(self._piece)
            except OSError as error:
                raise explain(error, self.location) from None
            except FetchError as error:
                raise explain_remote(error, self.location) from None
            if not block:
                return
            self.position += len(block)
            if self._hash is not None:
                self._hash.update(block)
            yield block

    def _decompressed(self, first: bytes) -> Iterator[bytes]:
        made = 0
        try:
            blocks = decompress(self.compression, self._chain(first), self._piece, self._threads)
            head = next(blocks, b"")
            whole = itertools.chain([head], blocks) if head else blocks
            for block in graph_of(whole, self.location) if is_archive(head) else whole:
                made += len(block)
                yield block
        except BadCompression as error:
            raise DamagedStream(
                f"{error} (after {made:,} decompressed bytes)",
                hint="copy or download the file again",
                file=self.location,
            ) from None
        for _ in self._stored:
            pass
        self._compare()

    def _chain(self, first: bytes) -> Iterator[bytes]:
        if first:
            yield first
        yield from self._stored

    def _compare(self) -> None:
        if self._hash is not None and self._hash.hexdigest() != self._sha256:
            raise StageError(
                f"the file's sha256 is {self._hash.hexdigest()}; {self._sha256} was expected",
                hint="the file differs from the one that was meant: get it again, or correct `sha256`",
                file=self.location,
            )
