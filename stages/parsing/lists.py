"""Files with one vertex a line: its neighbours, in lines of any length."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from gravel.stages.readers import Chunk, Reading
from gravel.stages.streams import LineStream
from gravel.stages.streams.pieces import Pieces, buffer_bytes
from gravel.stages.streams.stream import UnplacedError

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
    if reading.device is not None:
        from gravel.stages.parsing.lists_device import read_lists_on_device

        return (yield from read_lists_on_device(reading, reading.device, lines, grammar))
    import numpy

    rows = Rows(lines, grammar)
    # One is parsed, one is read.
    buffers = [numpy.empty(buffer_bytes(reading.block_bytes), numpy.uint8) for _ in range(2)]
    with Pieces(lines, buffers, threads=1, any_length=True) as pieces:
        try:
            for piece in pieces:
                yield from rows.parse(piece.buffer[piece.first : piece.end])
                pieces.release(piece)
        except UnplacedError as error:
            raise lines.placed(error) from None
    return rows.count


class Rows:
    """The rows of a text that is parsed piece by piece; a row may go on in the next piece."""

    def __init__(self, lines: LineStream, grammar: ListGrammar) -> None:
        import numpy

        from gravel.kernels.text.kinds import byte_kinds
        from gravel.kernels.text.lists import new_state

        self._lines, self._grammar = lines, grammar
        self._kinds = byte_kinds("", grammar.comments)
        self._state = new_state()
        self._source, self._target = numpy.empty(0, numpy.int64), numpy.empty(0, numpy.int64)
        self._weight = numpy.empty(0)

    @property
    def count(self) -> int:
        """Rows that have ended."""
        from gravel.kernels.text.lists import ROW

        return int(self._state[ROW])

    @property
    def begins(self) -> bool:
        """Whether the next piece begins with a row."""
        from gravel.kernels.text.lists import IN_COMMENT, TOKEN

        return not self._state[TOKEN] and not self._state[IN_COMMENT]

    def skip(self, lines: int) -> None:
        """Count rows that were parsed elsewhere, each of one line."""
        from gravel.kernels.text.lists import LINE, ROW

        self._state[ROW] += lines
        self._state[LINE] += lines
        self._lines.line += lines

    def parse(self, text: NDArray[Any]) -> Iterator[Chunk]:
        """Yield the arcs of a piece; their arrays are reused. Raises StageError naming a bad line."""
        import numpy

        from gravel.kernels.text.lists import LINE, parse_lists

        grammar, most = self._grammar, len(text) // 2 + 1
        if len(self._source) < most:
            self._source, self._target = numpy.empty(most, numpy.int64), numpy.empty(most, numpy.int64)
            self._weight = numpy.empty(most if grammar.weighted else 0)
        before = int(self._state[LINE])
        arcs, code, place = parse_lists(
            text,
            self._kinds,
            grammar.rows,
            grammar.low,
            grammar.high,
            grammar.skip,
            grammar.weighted,
            self._state,
            self._source,
            self._target,
            self._weight,
        )
        self._lines.line += int(self._state[LINE]) - before
        if code:
            _complain(self._lines, text.tobytes(), int(code), int(place), grammar)
        if arcs:
            weight = self._weight[:arcs] if grammar.weighted else None
            yield Chunk(self._source[:arcs], self._target[:arcs], weight)


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
