"""Files with one vertex a line: its neighbours, in lines of any length."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy

from gravel.kernels.buffers import make
from gravel.kernels.text.kinds import byte_kinds
from gravel.kernels.text.lists import IN_COMMENT, LINE, ROW, TOKEN, new_state, parse_lists
from gravel.stages.parsing import buffers
from gravel.stages.parsing.pairs import describe
from gravel.stages.readers import Chunk, Reading
from gravel.stages.streams.lines import NEWLINE, LineStream, Piece, Pieces, buffer_bytes
from gravel.stages.streams.stream import UnplacedError
from gravel.stages.threads import in_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

ANY_ROWS = 1 << 62
"""Rows of a piece whose place among the rows of the file is not known yet."""


@dataclass(frozen=True)
class ListGrammar:
    """Grammar of a line with a vertex's arcs; `form` shows a good line in messages."""

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


def read_lists_on_host(
    reading: Reading, lines: LineStream, grammar: ListGrammar
) -> Generator[Chunk, None, int]:
    """Yield the arcs of all rows that are left, and return the number of rows.

    Raises StageError naming the first bad line. The arrays of a chunk are reused for the next.
    """
    rows = Rows(lines, grammar)
    made = list(buffers.pieces(reading.threads, buffer_bytes(reading.block_bytes)).make(numpy))
    apart = _Apart(grammar, len(made))
    with Pieces(lines, made, threads=1, any_length=True) as pieces:
        try:
            for piece, parsed in in_order(lambda each: (each, apart(each)), pieces, reading.threads):
                if parsed is not None and rows.take(parsed):
                    if len(parsed.chunk.source):
                        yield parsed.chunk
                else:
                    yield from rows.parse(piece.buffer[piece.first : piece.end])
                if parsed is not None:
                    apart.release(parsed)
                pieces.release(piece)
        except UnplacedError as error:
            raise lines.placed(error) from None
    return rows.count


class _Arrays:
    """Arrays for the arcs of a piece, which grow with the largest one."""

    def __init__(self, weighted: bool) -> None:
        self._weighted = weighted
        self._length = -1

    def parse(
        self, text: NDArray[Any], kinds: NDArray[Any], grammar: ListGrammar, rows: int, state: NDArray[Any]
    ) -> tuple[Chunk, int, int]:
        """Parse text that goes on from a state; returns arcs, and code and place of a fault."""
        most = len(text) // 2 + 1
        if self._length < most:
            self._arrays = make(buffers.edges(most, weights=most * self._weighted), numpy).values()
            self._length = most
        source, target, weight = self._arrays
        shape = rows, grammar.low, grammar.high, grammar.skip, grammar.weighted
        arcs, code, place = parse_lists(text, kinds, *shape, state, *self._arrays)
        found = Chunk(source[:arcs], target[:arcs], weight[:arcs] if self._weighted else None)
        return found, int(code), int(place)


@dataclass(frozen=True)
class _Parsed:
    """Whole rows from row 0 on, in arrays that go back to where they are from."""

    chunk: Chunk
    rows: int
    lines: int
    arrays: _Arrays


class _Apart:
    """Parses pieces before it is known which row they begin with."""

    def __init__(self, grammar: ListGrammar, count: int) -> None:
        self._grammar = grammar
        self._kinds = byte_kinds("", grammar.comments)
        self._free = deque(_Arrays(grammar.weighted) for _ in range(count))

    def __call__(self, piece: Piece) -> _Parsed | None:
        """Return the rows of a piece that begins and ends with one; None where there is a fault."""
        if piece.buffer[piece.end - 1] != NEWLINE:
            return None
        arrays, state = self._free.popleft(), new_state()
        text = piece.buffer[piece.first : piece.end]
        chunk, code, _ = arrays.parse(text, self._kinds, self._grammar, ANY_ROWS, state)
        if code:
            self._free.append(arrays)
            return None
        return _Parsed(chunk, int(state[ROW]), int(state[LINE]), arrays)

    def release(self, parsed: _Parsed) -> None:
        """Let the arrays be used again."""
        self._free.append(parsed.arrays)


class Rows:
    """The rows of a text that is parsed piece by piece; a row may go on in the next piece."""

    def __init__(self, lines: LineStream, grammar: ListGrammar) -> None:
        self._lines, self._grammar = lines, grammar
        self._kinds = byte_kinds("", grammar.comments)
        self._state = new_state()
        self._arrays = _Arrays(grammar.weighted)

    @property
    def count(self) -> int:
        """Rows that have ended."""
        return int(self._state[ROW])

    @property
    def begins(self) -> bool:
        """Whether the next piece begins with a row."""
        return not self._state[TOKEN] and not self._state[IN_COMMENT]

    def skip(self, rows: int, lines: int) -> None:
        """Count rows that were parsed elsewhere."""
        self._state[ROW] += rows
        self._state[LINE] += lines
        self._lines.line += lines

    def take(self, parsed: _Parsed) -> bool:
        """Join rows that were parsed apart to those before; False if they have to be parsed again."""
        if not self.begins or self.count + parsed.rows > self._grammar.rows:
            return False
        source = parsed.chunk.source
        source += self.count
        self.skip(parsed.rows, parsed.lines)
        return True

    def parse(self, text: NDArray[Any]) -> Iterator[Chunk]:
        """Yield the arcs of a piece; their arrays are reused. Raises StageError naming a bad line."""
        grammar, before = self._grammar, int(self._state[LINE])
        chunk, code, place = self._arrays.parse(text, self._kinds, grammar, grammar.rows, self._state)
        self._lines.line += int(self._state[LINE]) - before
        if code:
            _complain(self._lines, text.tobytes(), code, place, grammar)
        if len(chunk.source):
            yield chunk


def _complain(lines: LineStream, piece: bytes, code: int, place: int, grammar: ListGrammar) -> None:
    message, hint = describe(code, piece, place, form=grammar.form, low=grammar.low, high=grammar.high)
    lines.fail(message, line=lines.line + 1, hint=hint)


def too_few_rows(lines: LineStream, rows: int, stated: int) -> NoReturn:
    """Raise the StageError for a file that ends before its last vertex."""
    lines.fail(
        f"the file ends after {rows:,} vertices; its header says {stated:,}",
        hint="the file is truncated, or its header is wrong; a vertex without neighbours has an empty line",
    )
