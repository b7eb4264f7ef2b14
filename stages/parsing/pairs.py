"""Files with one edge a line: pieces of lines, parsed side by side, their edges in order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gravel.kernels.text import NOT_INTEGER
from gravel.stages.parsing.side_by_side import side_by_side
from gravel.stages.readers import LARGEST_ID, Chunk, Digested, Reading
from gravel.stages.streams import LineStream
from gravel.stages.streams.pieces import Piece, Pieces, buffer_bytes
from gravel.stages.streams.stream import UnplacedError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.stages.parsing.columns import Layout

SHORTEST_LINE = 4
"""Bytes of a line that holds an edge at least: two digits, what is between them, and its end."""

READERS_SHARE = 4
"""Threads that parse for each one that reads, which is about as much faster."""


@dataclass(frozen=True)
class PairGrammar:
    """Grammar of a line with an edge; `form` shows a good line. Columns count from 0, -1 is none."""

    form: str
    columns: int = 2
    delimiter: str = ""
    comments: str = ""
    prefix: str = ""
    source_column: int = 0
    target_column: int = 1
    weight_column: int = -1
    low: int = 0
    high: int = LARGEST_ID
    texts: bool = False  # ids are texts
    may_be_texts: bool = False  # ids are numbers, and `ids: text` would make them texts
    target_shift: int = 0  # added to the ids of targets, which are numbered on their own
    layout: Layout | None = None  # of a list that the readers for plain columns do not take


@dataclass(frozen=True)
class _Parsed:
    chunk: Chunk
    lines: int
    code: int
    place: int


def read_pairs_on_host(reading: Reading, lines: LineStream, grammar: PairGrammar) -> Iterator[Chunk]:
    """Yield the edges of all lines that are left; raises StageError naming the first bad line."""
    import numpy

    # Those that are parsed or wait for it, one that is read, and one that waits for that.
    size, count = buffer_bytes(reading.block_bytes), reading.threads + 3
    buffers = [numpy.empty(size, numpy.uint8) for _ in range(count)]
    with Pieces(lines, buffers, reading.threads // READERS_SHARE) as pieces:
        yield from parse_pieces(reading, lines, pieces, pieces.release, grammar)


def parse_pieces(
    reading: Reading,
    lines: LineStream,
    pieces: Iterable[Piece],
    release: Callable[[Piece], None],
    grammar: PairGrammar,
) -> Iterator[Chunk]:
    """Yield the edges of pieces, which are the next ones of `lines`; raises as `read_pairs_on_host` does."""
    from gravel.kernels.text.kinds import byte_kinds

    kinds = byte_kinds(grammar.delimiter, grammar.comments)
    parse = _Parser(kinds, grammar, reading.digest)
    try:
        for piece, parsed in side_by_side(pieces, parse, reading.threads):
            if parsed.code:
                _complain(lines, piece.tobytes(), parsed, grammar)
            release(piece)
            lines.line += parsed.lines
            if len(parsed.chunk.source):
                yield parsed.chunk
    except UnplacedError as error:
        raise lines.placed(error) from None


class _Scratch(threading.local):
    """Arrays of one thread, used for each piece: fresh memory takes as long as parsing into it."""

    rows = -1

    def grow(self, rows: int) -> None:
        import numpy

        if rows > self.rows:
            self.source, self.target = numpy.empty(rows, numpy.int64), numpy.empty(rows, numpy.int64)
            self.weight = numpy.empty(rows, numpy.float64)
            self.rows = rows


class _Parser:
    """Parses pieces, each on the thread that calls."""

    def __init__(
        self, kinds: NDArray[Any], grammar: PairGrammar, digest: Callable[[Chunk], Digested] | None
    ) -> None:
        from gravel.kernels.text.pairs import parse_pairs

        self._kinds, self._grammar, self._digest = kinds, grammar, digest
        self._kernel = parse_pairs
        self._scratch = _Scratch()

    def __call__(self, piece: Piece) -> _Parsed:
        grammar, scratch = self._grammar, self._scratch
        text = piece.buffer[piece.first : piece.end]
        scratch.grow(len(text) // SHORTEST_LINE + 1)
        rows, line_count, code, place = self._kernel(
            text,
            self._kinds,
            ord(grammar.prefix) if grammar.prefix else -1,
            grammar.columns,
            grammar.source_column,
            grammar.target_column,
            grammar.weight_column,
            grammar.low,
            grammar.high,
            scratch.source,
            scratch.target,
            scratch.weight,
        )
        source, target = scratch.source[:rows], scratch.target[:rows]
        weight = scratch.weight[:rows] if grammar.weight_column >= 0 else None
        if self._digest is None:
            chunk = Chunk(source.copy(), target.copy(), weight if weight is None else weight.copy())
        else:
            chunk = Chunk(source, target, weight)
            chunk = self._digest(chunk) if rows and not code else chunk
        return _Parsed(chunk, int(line_count), int(code), int(place))


def _complain(lines: LineStream, block: bytes, parsed: _Parsed, grammar: PairGrammar) -> None:
    from gravel.stages.parsing.problem import describe

    message, hint = describe(
        parsed.code,
        block,
        parsed.place,
        form=grammar.form,
        low=grammar.low,
        high=grammar.high,
        delimiter=grammar.delimiter,
    )
    if parsed.code == NOT_INTEGER and grammar.may_be_texts:
        hint = "if ids are texts, set `ids: text`"
    lines.fail(message, line=lines.line + parsed.lines + 1, hint=hint)
