"""Text in lines and in blocks of whole lines; lines count from 1 in the decompressed file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from gravel.stages.errors import StageError
from gravel.stages.streams.stream import ByteStream, UnplacedError

LONGEST_LINE = 1 << 20
"""A header or an edge that takes more bytes than this is none."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class LineStream:
    """Lines of a `ByteStream`: a few one by one, then the rest in blocks.

    `line` is the number of the line that was read last, and of the line before a block. With `holds_back` a
    last line without an end is not part of the blocks, and is `held_back` when they have ended.
    """

    def __init__(self, stream: ByteStream) -> None:
        self.stream = stream
        self.line = 0
        self.holds_back = False
        self.held_back: bytes | None = None
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

    def blocks(self) -> Iterator[bytes]:
        """Yield the rest in whole lines; the last one gets a newline if it has none."""
        return self._aligned(b"\n", holds_back=self.holds_back)

    def take_held_back(self) -> None:
        """Put the line that was held back where the next blocks begin."""
        if self.held_back is not None:
            self._rest, self._at, self.held_back, self.holds_back = self.held_back + b"\n", 0, None, False

    def pieces(self) -> Iterator[bytes]:
        """Yield the rest cut between numbers, so that a line may be of any length; it ends in a newline."""
        return self._aligned(b" \t\n\r")

    def take_rest(self) -> tuple[bytes, bool]:
        """Take what was read of the stream and not handed out; and whether the stream has ended."""
        rest, self._rest, self._at = self._rest[self._at :], b"", 0
        return rest, self._ended

    def _aligned(self, ends: bytes, *, holds_back: bool = False) -> Iterator[bytes]:
        block, _ = self.take_rest()
        carry = b""
        within = False  # a line that was handed out in part
        while True:
            cut = max(block.rfind(ends[i : i + 1]) for i in range(len(ends)))
            if cut >= 0:
                whole = b"".join((carry, memoryview(block)[: cut + 1]))
                long = long_line(whole) if ends == b"\n" else -1
                if long >= 0:
                    if long:
                        yield whole[:long]
                    raise self.too_long()
                within = not whole.endswith(b"\n")
                yield whole
                carry = block[cut + 1 :]
            else:
                carry += block
            if len(carry) > LONGEST_LINE:
                raise self.too_long()
            if self._ended:
                break
            block = self._pull()
        if holds_back and carry.strip():
            self.held_back = carry
        elif carry or within:
            yield carry + b"\n"

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


def long_line(text: bytes) -> int:
    """Return where the first line of more than `LONGEST_LINE` bytes begins in whole lines, or -1."""
    begin = 0
    # What lies between the line ends that are found is shorter.
    while len(text) - begin > LONGEST_LINE:
        end = text.rfind(b"\n", begin, begin + LONGEST_LINE + 1)
        if end < 0:
            return begin
        begin = end + 1
    return -1
