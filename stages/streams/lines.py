"""The first lines of a text; lines count from 1 in the decompressed file."""

from __future__ import annotations

from typing import NoReturn

from gravel.stages.errors import StageError
from gravel.stages.streams.stream import ByteStream, UnplacedError

LONGEST_LINE = 1 << 20
"""A header or an edge that takes more bytes than this is none."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class LineStream:
    """Lines of a `ByteStream`, one by one; the rest is read in pieces (`gravel.stages.streams.pieces`).

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
