"""Files with one edge a line whose ids are texts: pieces of lines, cut side by side, their edges in order.

Fields may stand in quotes, where two quotes are one. Blanks around a field are left out, those within quotes
are kept.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from gravel.stages.parsing.side_by_side import side_by_side
from gravel.stages.readers import LONGEST_ID, Chunk, Reading, TextChunk
from gravel.stages.streams.pieces import Piece, Pieces, buffer_bytes
from gravel.stages.streams.stream import UnplacedError

if TYPE_CHECKING:
    from gravel.stages.parsing.pairs import PairGrammar
    from gravel.stages.streams import LineStream

SHORTEST_LINE = 4
"""Bytes of a line that holds an edge at least: two letters, what is between them, and its end."""

READERS_SHARE = 4
"""Threads that parse for each one that reads."""

SMALLER = 3
"""Pieces are so much smaller than those with numbers: a short line takes as much more beside its text."""


class _Split(NamedTuple):
    chunk: Any
    rows: int
    lines: int
    code: int
    place: int
    not_utf8: int  # the line in the piece that is not UTF-8, -1 if none


def read_text_pairs(reading: Reading, lines: LineStream, grammar: PairGrammar) -> Iterator[Chunk]:
    """Yield the edges of all lines that are left; raises StageError naming the first bad line.

    Each chunk is a `TextChunk`, or what the digest of the reading makes of it.
    """
    import numpy

    size, count = buffer_bytes(max(1 << 14, reading.block_bytes // SMALLER)), reading.threads + 3
    buffers = [numpy.empty(size, numpy.uint8) for _ in range(count)]
    split = _Splitter(reading, grammar)
    with Pieces(lines, buffers, reading.threads // READERS_SHARE) as pieces:
        try:
            for piece, part in side_by_side(pieces, split, reading.threads):
                if part.code or part.not_utf8 >= 0:
                    _complain(lines, piece.tobytes(), part, grammar)
                pieces.release(piece)
                lines.line += part.lines
                if part.rows:
                    yield cast("Chunk", part.chunk)
        except UnplacedError as error:
            raise lines.placed(error) from None


class _Scratch(threading.local):
    """Arrays of one thread, used for each piece."""

    size = -1

    def grow(self, size: int) -> None:
        import numpy

        if size > self.size:
            rows = size // SHORTEST_LINE + 1
            self.text = numpy.empty(size, numpy.uint8)
            self.offsets = numpy.empty(2 * rows + 1, numpy.int64)
            self.weight = numpy.empty(rows, numpy.float64)
            self.size = size


class _Splitter:
    """Cuts pieces into ids, each on the thread that calls."""

    def __init__(self, reading: Reading, grammar: PairGrammar) -> None:
        from gravel.kernels.text.kinds import DELIMITER, byte_kinds
        from gravel.kernels.text.texts import split_texts

        self._kernel = split_texts
        self._kinds = byte_kinds(grammar.delimiter, grammar.comments)
        self._within_quotes = self._kinds.copy()
        self._within_quotes[ord('"')] = DELIMITER
        self._grammar, self._digest = grammar, reading.digest
        self._scratch = _Scratch()

    def __call__(self, piece: Piece) -> _Split:
        from gravel.stages.texts import Texts

        grammar, scratch = self._grammar, self._scratch
        data = piece.buffer[piece.first : piece.end]
        scratch.grow(len(data))
        rows, line_count, code, place = self._kernel(
            data,
            self._kinds,
            self._within_quotes,
            grammar.columns,
            grammar.source_column,
            grammar.target_column,
            grammar.weight_column,
            LONGEST_ID,
            scratch.text,
            scratch.offsets,
            scratch.weight,
        )
        offsets = scratch.offsets[: 2 * rows + 1]
        text = scratch.text[: offsets[-1]]
        not_utf8 = _line_not_utf8(text, piece, line_count)
        weight = scratch.weight[:rows] if grammar.weight_column >= 0 else None
        chunk: Any = TextChunk(Texts(text, offsets), weight, grammar.target_column < grammar.source_column)
        if self._digest is None:
            ends = Texts(text.copy(), offsets.copy())
            chunk = chunk._replace(ends=ends, weight=None if weight is None else weight.copy())
        elif rows and not code and not_utf8 < 0:
            chunk = self._digest(chunk)
        return _Split(chunk, rows, int(line_count), int(code), int(place), not_utf8)


def _line_not_utf8(text: Any, piece: Piece, line_count: int) -> int:
    """Return the first of so many lines of a piece that is not UTF-8, -1 if all are.

    `text` is that of their ids one after the other: bytes of two could be a character together, but then the
    first of them ends within one.
    """
    if text.max(initial=0) < 0x80 or _is_utf8(piece.tobytes()):
        return -1
    for number, line in enumerate(piece.tobytes().split(b"\n")[:line_count]):
        if not _is_utf8(line):
            return number
    return -1


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _complain(lines: LineStream, block: bytes, part: _Split, grammar: PairGrammar) -> None:
    from gravel.stages.parsing.head import shown
    from gravel.stages.parsing.problem import describe

    if part.not_utf8 >= 0:
        line = block.split(b"\n")[part.not_utf8]
        lines.fail(
            f"found {shown(line, 60)}, which is not UTF-8; ids are texts in UTF-8",
            line=lines.line + part.not_utf8 + 1,
            hint="convert the file, for example with: iconv -f latin1 -t utf-8 FILE",
        )
    message, hint = describe(
        part.code, block, part.place, form=grammar.form, low=0, high=0, delimiter=grammar.delimiter
    )
    lines.fail(message, line=lines.line + part.lines + 1, hint=hint)
