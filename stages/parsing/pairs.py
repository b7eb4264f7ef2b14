"""Lines with an edge each: pieces of lines, parsed side by side, their edges in order.

Ids are whole numbers or texts. Fields of texts may stand in quotes, where two quotes are one; blanks around a
field are left out, those within quotes are kept.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from gravel.kernels import text as faults
from gravel.kernels.buffers import make
from gravel.kernels.text.kinds import DELIMITER, byte_kinds
from gravel.stages.parsing import buffers
from gravel.stages.parsing.head import shown
from gravel.stages.readers import LARGEST_ID, LONGEST_ID, Chunk, Reading, TextChunk
from gravel.stages.streams.lines import LineStream, Piece, Pieces, buffer_bytes
from gravel.stages.streams.stream import UnplacedError
from gravel.stages.threads import in_order

if TYPE_CHECKING:
    from gravel.stages.parsing.columns import Layout

READERS_SHARE = 4
"""Threads that parse for each one that reads, which is about as much faster."""

SMALLER = 3
"""Pieces whose edges take more beside their text are so much smaller."""

LEAST_PIECE = 1 << 14
"""Bytes below which those are not."""

_FAULTS = {
    faults.NOT_INTEGER: ("found {field} where a whole number belongs; expected {form}", None),
    faults.NEGATIVE: ("found the negative id {field}; ids are whole numbers from {low} up", None),
    faults.TOO_LARGE: ("found the id {field}, which is too large; ids go up to {high}", None),
    faults.OUT_OF_RANGE: (
        "found the id {field}; the header allows {low} to {high}",
        "correct the id, or the number of vertices in the header",
    ),
    faults.TOO_FEW: ("found {line}, which has too few columns; expected {form}", None),
    faults.TOO_MANY: ("found {line}, which has too many columns; expected {form}", None),
    faults.BAD_WEIGHT: (
        "found {field} where a weight belongs; expected a decimal number",
        "`weights: false` reads the edges alone",
    ),
    faults.TOO_MANY_ROWS: (
        "found {line} after the last vertex's line",
        "correct the number of vertices in the header",
    ),
    faults.MISSING_WEIGHT: ("found {line}, whose last neighbour has no weight; expected {form}", None),
    faults.EMPTY_ID: ("found an empty id in {line}; expected {form}", "an id has at least one character"),
    faults.ZERO_BYTE: ("found a zero byte in {line}; ids are texts in UTF-8 without one", None),
    faults.LONG_ID: (
        f"found the id {{field}}, which takes more than {LONGEST_ID:,} bytes",
        "is this another format, or another column?",
    ),
    faults.OPEN_QUOTE: (
        "found {field}, whose quote does not end on its line; expected {form}",
        "line breaks within quotes are not read; a quote within quotes is written twice",
    ),
    faults.AFTER_QUOTE: (
        "found {line}, where something follows a quote that ended; expected {form}",
        "a quote within quotes is written twice",
    ),
    faults.LATE_COMMENT: (
        "found {line} after the first edge: a comment, or an id that starts so?",
        "remove it, or put the id in quotes",
    ),
}
"""What was found and what was expected, and what to do."""

_ENDS = b" \t\r\n\v\f"


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


class Fault(NamedTuple):
    """What is wrong with a line of a piece, counted from 0: a code of `gravel.kernels.text`, or a message."""

    line: int
    place: int = 0
    code: int = 0
    message: str = ""
    hint: str | None = None


class Parsed(NamedTuple):
    """The edges of a piece: a `Chunk`, a `TextChunk`, or what the digest of the reading makes of it."""

    chunk: Any
    rows: int
    lines: int
    fault: Fault | None = None


Parser = Callable[[Piece], Parsed]
"""Parses pieces, each on the thread that calls."""


def read_pieces(
    reading: Reading, lines: LineStream, grammar: PairGrammar, parse: Parser, *, smaller: int = 1
) -> Iterator[Chunk]:
    """Yield the edges of all lines that are left; raises StageError naming the first bad line."""
    block = reading.block_bytes
    size = buffer_bytes(max(min(block, LEAST_PIECE), block // smaller))
    made = list(buffers.pieces(reading.threads, size).make(numpy))
    with Pieces(lines, made, reading.threads // READERS_SHARE) as pieces:
        yield from parse_pieces(reading, lines, grammar, parse, pieces, pieces.release)


def parse_pieces(
    reading: Reading,
    lines: LineStream,
    grammar: PairGrammar,
    parse: Parser,
    pieces: Iterable[Piece],
    release: Callable[[Piece], None],
) -> Iterator[Chunk]:
    """Yield the edges of pieces, which are the next ones of `lines`; raises as `read_pieces` does."""
    try:
        for piece, parsed in in_order(lambda each: (each, parse(each)), pieces, reading.threads):
            if parsed.fault is not None:
                _complain(lines, piece.tobytes(), parsed.fault, grammar)
            release(piece)
            lines.line += parsed.lines
            if parsed.rows:
                yield parsed.chunk
    except UnplacedError as error:
        raise lines.placed(error) from None


def _complain(lines: LineStream, block: bytes, fault: Fault, grammar: PairGrammar) -> None:
    message, hint = fault.message, fault.hint
    if not message:
        message, hint = describe(
            fault.code,
            block,
            fault.place,
            form=grammar.form,
            low=grammar.low,
            high=grammar.high,
            delimiter=grammar.delimiter,
        )
    if fault.code == faults.NOT_INTEGER and grammar.may_be_texts:
        hint = "if ids are texts, set `ids: text`"
    lines.fail(message, line=lines.line + fault.line + 1, hint=hint)


def field_at(block: bytes, place: int, delimiter: str = "") -> bytes:
    """Cut out the field that starts at a place; at most 64 bytes of it."""
    piece, ends = block[place : place + 64], _ENDS + delimiter.encode()
    return piece[: next((at for at, byte in enumerate(piece) if byte in ends), len(piece))]


def line_at(block: bytes, place: int) -> bytes:
    """Cut out the line around a place; at most some 200 bytes of it."""
    begin = block.rfind(b"\n", max(0, place - 120), place) + 1 or max(0, place - 120)
    end = block.find(b"\n", place, place + 120)
    return block[begin : end if end >= 0 else place + 120].strip()


def describe(
    code: int, block: bytes, place: int, *, form: str, low: int, high: int, delimiter: str = ""
) -> tuple[str, str | None]:
    """Say what was found and what was expected, and what to do; `form` shows a good line."""
    field, line = field_at(block, place, delimiter), shown(line_at(block, place))
    message, hint = _FAULTS.get(code, ("found {line}; expected {form}", None))
    if code == faults.NOT_INTEGER and not field:
        message = "found an empty field in {line}; expected {form}"
    return message.format(field=shown(field), line=line, form=form, low=low, high=high), hint


class _Scratch(threading.local):
    """Arrays of one thread, used for each piece: fresh memory takes as long as parsing into it."""

    size = -1

    def grow(self, size: int, *, texts: bool) -> None:
        if size <= self.size:
            return
        if texts:
            self.text, self.offsets, self.weight = make(buffers.texts(size), numpy).values()
        else:
            rows = buffers.rows_of(size)
            self.source, self.target, self.weight = make(buffers.edges(rows, weights=rows), numpy).values()
        self.size = size


def number_parser(reading: Reading, grammar: PairGrammar) -> Parser:
    """Return a parser of ids that are whole numbers."""
    from gravel.kernels.text.pairs import parse_pairs

    scratch, kinds = _Scratch(), byte_kinds(grammar.delimiter, grammar.comments)

    def parse(piece: Piece) -> Parsed:
        text = piece.buffer[piece.first : piece.end]
        scratch.grow(len(text), texts=False)
        rows, line_count, code, place = parse_pairs(
            text,
            kinds,
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
        if code:
            return Parsed(None, 0, 0, Fault(int(line_count), int(place), int(code)))
        weight = scratch.weight[:rows] if grammar.weight_column >= 0 else None
        chunk = Chunk(scratch.source[:rows], scratch.target[:rows], weight)
        if reading.digest is None:
            chunk = Chunk(*(None if each is None else each.copy() for each in chunk[:3]))  # type: ignore[arg-type]
        elif rows:
            chunk = reading.digest(chunk)
        return Parsed(chunk, rows, int(line_count))

    return parse


def text_parser(reading: Reading, grammar: PairGrammar) -> Parser:
    """Return a parser of ids that are texts."""
    from gravel.kernels.text.texts import split_texts
    from gravel.stages.texts import Texts

    scratch, kinds = _Scratch(), byte_kinds(grammar.delimiter, grammar.comments)
    within_quotes = kinds.copy()
    within_quotes[ord('"')] = DELIMITER

    def parse(piece: Piece) -> Parsed:
        data = piece.buffer[piece.first : piece.end]
        scratch.grow(len(data), texts=True)
        rows, line_count, code, place = split_texts(
            data,
            kinds,
            within_quotes,
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
        # Bytes of two ids could be a character together, but then the first of them ends within one.
        fault = None if text.max(initial=0) < 0x80 else not_utf8(piece.tobytes(), int(line_count))
        if fault is None and code:
            fault = Fault(int(line_count), int(place), int(code))
        if fault is not None:
            return Parsed(None, 0, 0, fault)
        weight = scratch.weight[:rows] if grammar.weight_column >= 0 else None
        swapped = grammar.target_column < grammar.source_column
        chunk: Any = TextChunk(Texts(text, offsets), weight, swapped)
        if reading.digest is None:
            owned = None if weight is None else weight.copy()
            chunk = TextChunk(Texts(text.copy(), offsets.copy()), owned, swapped)
        elif rows:
            chunk = reading.digest(chunk)
        return Parsed(chunk, rows, int(line_count))

    return parse


def not_utf8(block: bytes, line_count: int) -> Fault | None:
    """Return the fault of the first of so many lines that is not UTF-8, None if all are."""
    try:
        block.decode()
    except UnicodeDecodeError as error:
        number = block.count(b"\n", 0, error.start)
        if number < line_count:
            line = shown(block.split(b"\n", number + 1)[number])
            return Fault(
                number,
                message=f"found {line}, which is not UTF-8; ids are texts in UTF-8",
                hint="convert the file, for example with: iconv -f latin1 -t utf-8 FILE",
            )
    return None
