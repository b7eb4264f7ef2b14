"""The first lines of a text, which count from 1 in the decompressed file, and the rest in pieces of lines.

Pieces lie in buffers of the caller, which several threads fill. A local file that is not compressed is read
at several places at once; anything else comes block by block from its stream. A piece may be any size: a line
that spans pieces is carried to the front of the next buffer.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from gravel.stages.errors import StageError
from gravel.stages.streams.opening import explain
from gravel.stages.streams.stream import ByteStream, UnplacedError

if TYPE_CHECKING:
    from numpy.typing import NDArray

LONGEST_LINE = 1 << 20
"""A header or an edge that takes more bytes than this is none."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

RESERVE = -(-(LONGEST_LINE + 1) // 4096) * 4096
"""Bytes at the front of each buffer, for the beginning of a line that spans pieces."""

TAIL = 64
"""Bytes at the end of each buffer: a last line's missing end, and what kernels read in one go."""

READ_BYTES = 4 << 20
"""Bytes that one thread reads at a time."""

NEWLINE = 10


class LineStream:
    """Lines of a `ByteStream`, one by one; the rest is read in `Pieces`.

    `line` is the number of the line that was read last, and of the line before a piece. With `holds_back` a
    last line without an end is not part of the pieces, and is `last_line` when they have ended.
    """

    def __init__(self, stream: ByteStream) -> None:
        self.stream = stream
        self.line = 0
        self.holds_back = False
        self.last_line: bytes | None = None
        self._rest = b""
        self._at = 0
        self._ended = False
        self._endless = False  # the line that was read last is the file's, and has no end
        if stream.peek(3) == BYTE_ORDER_MARK:
            self._rest = self._pull()[3:]

    def fail(self, message: str, *, line: int | None = None, hint: str | None = None) -> NoReturn:
        """Raise a StageError at a line, by default the one that was read last."""
        raise StageError(
            message, hint=hint, file=self.stream.location, line=max(1, self.line if line is None else line)
        )

    def placed(self, error: StageError) -> StageError:
        """Say which line a stream broke off in, or which is too long."""
        if not isinstance(error, UnplacedError) or error.line is not None:
            return error
        line = self.line + 1 + self._rest.count(b"\n", self._at)
        return StageError(error.message, hint=error.hint, file=error.file, line=line)

    def readline(self) -> bytes | None:
        """Return the next line without its end, or None at the end of the file."""
        while (cut := self._rest.find(b"\n", self._at)) < 0 and not self._ended:
            if len(self._rest) - self._at > LONGEST_LINE:
                raise self.placed(self.too_long())
            try:
                block = self._pull()
            except StageError as error:
                raise self.placed(error) from None
            self._rest, self._at = self._rest[self._at :] + block, 0
        if cut < 0:
            if self._at == len(self._rest):
                return None
            cut = len(self._rest)
            self._endless = True
        line = self._rest[self._at : cut]
        self._at = min(cut + 1, len(self._rest))
        self.line += 1
        return line.rstrip(b"\r")

    def unread(self, line: bytes) -> None:
        """Put back the line that was read last."""
        end = b"" if self._endless else b"\n"
        self._rest, self._at, self._endless = line + end + self._rest[self._at :], 0, False
        self.line -= 1

    def take_last_line(self) -> None:
        """Put the line that was held back where the next pieces begin."""
        if self.last_line is not None:
            self._rest, self._at, self.last_line, self.holds_back = self.last_line + b"\n", 0, None, False

    def take_rest(self) -> tuple[bytes, bool]:
        """Take what was read of the stream and not handed out; and whether the stream has ended."""
        rest, self._rest, self._at = self._rest[self._at :], b"", 0
        return rest, self._ended

    def too_long(self) -> UnplacedError:
        """Say that the next line is longer than lines may be."""
        return UnplacedError(
            f"a line of more than {LONGEST_LINE:,} bytes was found; short lines of text were expected",
            file=self.stream.location,
            hint="name the format with `format`, if this is not plain text",
        )

    def _pull(self) -> bytes:
        block = next(self.stream, b"")
        self._ended = not block
        return block


def buffer_bytes(piece: int) -> int:
    """Return the bytes of a buffer for pieces of so many bytes."""
    return RESERVE + piece + TAIL


class Piece(NamedTuple):
    """Whole lines: `buffer[first:end]`, valid until it is released."""

    buffer: NDArray[Any]
    first: int
    end: int

    def tobytes(self) -> bytes:
        """Return a copy of the lines."""
        return self.buffer[self.first : self.end].tobytes()


class _Filled(NamedTuple):
    """A buffer that is being filled: how many bytes each read is to bring, and how many it does."""

    buffer: NDArray[Any]
    reads: list[tuple[int, Future[int]]]

    def wait(self) -> tuple[int, bool]:
        """Return the bytes up to where the file ends, and whether it does."""
        filled = 0
        for wanted, read in self.reads:
            filled += (found := read.result())
            if found < wanted:
                return filled, True
        return filled, False


class Pieces:
    """Pieces of the rest of `lines`, one after the other; `release` gives a buffer back.

    Parameters
    ----------
    lines : the text; where it holds back, a last line without an end is left with it.
    buffers : uint8 of `buffer_bytes` each; at least one more than are kept unreleased.
    threads : that read.
    any_length : lines may be of any length; a piece of one that is too long to be carried ends at a blank.

    Raises StageError where the text cannot be read on, after all whole lines before that were handed out.

    """

    def __init__(
        self, lines: LineStream, buffers: Sequence[NDArray[Any]], threads: int, *, any_length: bool = False
    ) -> None:
        self._lines = lines
        self._any_length = any_length
        self._free = deque(buffers)
        self._rest, ended = lines.take_rest()
        self._file = None if ended else lines.stream.take_file()
        self._stream: Iterator[bytes] | None = None if ended or self._file else lines.stream
        self._offset = self._file.offset if self._file else 0
        self._position = self._offset - len(self._rest)
        self._error: StageError | None = None
        self._ended = False
        # Blocks of a stream come one after the other.
        self._pool = ThreadPoolExecutor(
            max(1, threads) if self._file else 1, thread_name_prefix="gravel-read"
        )
        self._filling: deque[_Filled] = deque()

    def __enter__(self) -> Pieces:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def release(self, piece: Piece) -> None:
        """Give the buffer of a piece back, to be filled anew."""
        self._free.append(piece.buffer)
        self._read_ahead()

    def __iter__(self) -> Iterator[Piece]:
        carry = b""
        ended = within = False  # within a line that was handed out in part
        while not ended:
            self._read_ahead()
            filling = self._filling.popleft()
            count, ended = filling.wait()
            self._ended |= ended
            buffer, end = filling.buffer, RESERVE + count
            if self._file:
                self._position += count
                self._lines.stream.position = self._position
            first = RESERVE - len(carry)
            buffer[first:RESERVE] = memoryview(carry)
            cut = _after_last(b"\n", buffer, RESERVE, end)
            if self._any_length and end - (cut or first) > LONGEST_LINE:
                cut = max(_after_last(blank, buffer, RESERVE, end) for blank in (b"\n", b" ", b"\t", b"\r"))
            if cut:
                carry = buffer[cut:end].tobytes()
                long = 0 if self._any_length else _long_line(buffer, first, cut)
                if long:
                    if long > first:
                        yield Piece(buffer, first, long)
                    raise self._lines.too_long()
                within = buffer[cut - 1] != NEWLINE
                yield Piece(buffer, first, cut)
            else:
                carry = buffer[first:end].tobytes()
                self._free.append(buffer)
            if len(carry) > LONGEST_LINE:
                raise self._lines.too_long()
        if self._error is not None:
            raise self._error
        yield from self._last(carry, within)

    def _last(self, carry: bytes, within: bool) -> Iterator[Piece]:
        """Yield a last line without an end, or leave it with the lines."""
        if self._lines.holds_back and carry.strip():
            self._lines.last_line = carry
        elif carry or within:
            # No read is under way: those beyond the end of the file found nothing, and are waited for.
            for filling in self._filling:
                filling.wait()
                self._free.append(filling.buffer)
            self._filling.clear()
            buffer = self._free.popleft()
            first = RESERVE - len(carry)
            buffer[first:RESERVE] = memoryview(carry)
            buffer[RESERVE] = NEWLINE
            yield Piece(buffer, first, RESERVE + 1)

    def _read_ahead(self) -> None:
        while self._free and not self._ended:
            buffer = self._free.popleft()
            self._filling.append(_Filled(buffer, self._fill(buffer[RESERVE:-TAIL].data)))

    def _fill(self, view: memoryview) -> list[tuple[int, Future[int]]]:
        if self._file is None:
            return [(len(view), self._pool.submit(self._from_stream, view))]
        reads = []
        if self._rest:
            given, self._rest = self._rest[: len(view)], self._rest[len(view) :]
            view[: len(given)] = given
            reads.append((len(given), _done(len(given))))
            view = view[len(given) :]
        for begin in range(0, len(view), READ_BYTES):
            part = view[begin : begin + READ_BYTES]
            reads.append((len(part), self._pool.submit(self._from_file, part, self._offset)))
            self._offset += len(part)
        return reads

    def _from_file(self, view: memoryview, offset: int) -> int:
        assert self._file is not None
        done = 0
        while done < len(view):
            try:
                found = os.preadv(self._file.descriptor, [view[done:]], offset + done)
            except OSError as error:
                raise explain(error, self._lines.stream.location) from None
            if not found:
                break
            done += found
        return done

    def _from_stream(self, view: memoryview) -> int:
        """Copy blocks until the view is full; an error is kept until what came before it is handed out."""
        done = 0
        while done < len(view):
            if not self._rest:
                try:
                    self._rest = next(self._stream, b"") if self._stream else b""
                except StageError as error:
                    self._error, self._stream = error, None
                if not self._rest:
                    break
            part = self._rest[: len(view) - done]
            view[done : done + len(part)] = part
            self._rest = self._rest[len(part) :]
            done += len(part)
        return done


def _done(value: int) -> Future[int]:
    future: Future[int] = Future()
    future.set_result(value)
    return future


def _after_last(byte: bytes, buffer: NDArray[Any], begin: int, end: int) -> int:
    """Return the place behind the last of these bytes, 0 if there is none."""
    step = 1 << 12
    while end > begin:
        first = max(begin, end - step)
        found = buffer[first:end].tobytes().rfind(byte)
        if found >= 0:
            return first + found + 1
        end, step = first, 2 * step
    return 0


def _long_line(buffer: NDArray[Any], begin: int, end: int) -> int:
    """Return where the first line begins that is too long, 0 if there is none; `end` is a line's end."""
    while end - begin > LONGEST_LINE:
        after = _after_last(b"\n", buffer, begin, begin + LONGEST_LINE + 1)
        if not after:
            return begin
        begin = after
    return 0
