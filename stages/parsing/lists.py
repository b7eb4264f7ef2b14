"""Files with one vertex a line: its neighbours, in lines of any length."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import NoReturn

from gravel.stages.errors import StageError
from gravel.stages.readers import Chunk, Reading
from gravel.stages.streams import LineStream


@dataclass(frozen=True)
class ListGrammar:
    """How a line gives a vertex's arcs; `form` shows a good line in messages."""

    form: str
    rows: int
    low: int
    comments: str = ""
    skip: int = 0
    weighted: bool = False

    @property
    def high(self) -> int:
        """The largest id."""
        return self.low + self.rows - 1


def read_lists(reading: Reading, lines: LineStream, grammar: ListGrammar) -> Generator[Chunk, None, int]:
    """Yield the arcs of all rows that are left, and return the number of rows.

    Raises StageError naming the first bad line. The arrays of a chunk are reused for the next.
    """
    import numpy

    from gravel.kernels.text.kinds import byte_kinds
    from gravel.kernels.text.lists import LINE, ROW, new_state, parse_lists

    kinds = byte_kinds("", grammar.comments)
    state = new_state()
    header = lines.line
    source, target, weight = numpy.empty(0, numpy.int64), numpy.empty(0, numpy.int64), numpy.empty(0)
    pieces = lines.pieces()
    while True:
        try:
            piece = next(pieces, None)
        except StageError as error:
            lines.line = header + int(state[LINE])
            raise lines.placed(error) from None
        if piece is None:
            break
        most = len(piece) // 2 + 1
        if len(source) < most:
            source, target = numpy.empty(most, numpy.int64), numpy.empty(most, numpy.int64)
            weight = numpy.empty(most if grammar.weighted else 0)
        arcs, code, place = parse_lists(
            numpy.frombuffer(piece, numpy.uint8),
            kinds,
            grammar.rows,
            grammar.low,
            grammar.high,
            grammar.skip,
            grammar.weighted,
            state,
            source,
            target,
            weight,
        )
        lines.line = header + int(state[LINE])
        if code:
            _complain(lines, piece, int(code), int(place), grammar)
        if arcs:
            yield Chunk(source[:arcs], target[:arcs], weight[:arcs] if grammar.weighted else None)
    return int(state[ROW])


def _complain(lines: LineStream, piece: bytes, code: int, place: int, grammar: ListGrammar) -> None:
    from gravel.stages.parsing.problem import describe

    message, hint = describe(code, piece, place, form=grammar.form, low=grammar.low, high=grammar.high)
    lines.fail(message, line=lines.line + 1, hint=hint)


def too_few_rows(lines: LineStream, rows: int, stated: int) -> NoReturn:
    """Raise the StageError for a file that ends before its last vertex."""
    lines.fail(
        f"the file ends after {rows:,} vertices; its header says {stated:,}",
        hint="the file is truncated, or its header is wrong; a vertex without neighbours has an empty line",
    )
