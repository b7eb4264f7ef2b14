"""Lists of edges with any columns, quotes and filters: pieces of lines, read side by side by pyarrow.

Every column is read as text: what an id or a weight is, is decided here, by the rules of the fast readers.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy
import pyarrow
from pyarrow import compute, csv

from gravel.kernels import text as faults
from gravel.kernels.text.kinds import byte_kinds
from gravel.kernels.text.marks import COMMENTED, EMPTY, PADDED, QUOTED, line_marks
from gravel.stages.edge_columns import place_of
from gravel.stages.filters import UnsuitableValue
from gravel.stages.parsing.column_values import row_by_row, texts_of
from gravel.stages.parsing.delimiters import cut_line, tabbed
from gravel.stages.parsing.pairs import Fault, PairGrammar, Parsed, not_utf8
from gravel.stages.readers import LARGEST_ID, Chunk, Reading, TextChunk

if TYPE_CHECKING:
    from gravel.stages.parsing.columns import Layout
    from gravel.stages.streams.lines import Piece

_INTEGER = "^[0-9]+$"
_DECIMAL = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_DECIMAL_COMMA = r"^([+-]?[0-9]+),([0-9]+)$"


class _FaultyRow(Exception):
    """A row of a piece that is no edge: a code of `gravel.kernels.text` and the column, or a message."""

    def __init__(
        self, row: int, column: int, code: int = 0, message: str = "", hint: str | None = None
    ) -> None:
        super().__init__(message)
        self.row, self.column, self.code, self.message, self.hint = row, column, code, message, hint


class GeneralParser:
    """Parses pieces of a list with any columns, each on the thread that calls."""

    def __init__(self, reading: Reading, grammar: PairGrammar, layout: Layout) -> None:
        self._reading, self._grammar, self._layout = reading, grammar, layout
        self._delimiter = "\t" if layout.attributes or not layout.delimiter else layout.delimiter
        found = layout.found
        names = reading.filter.columns if reading.filter is not None else ()
        self._filtered = {name: place_of(layout.names, name) for name in names}
        wanted = {found.source, found.target, grammar.weight_column, *self._filtered.values()} - {-1}
        self._constants = {at: reading.constants[layout.names[at]] for at in wanted if at >= layout.fields}
        included = [str(place) for place in sorted(wanted) if place < layout.fields]
        self._parse = csv.ParseOptions(delimiter=self._delimiter)
        self._convert = csv.ConvertOptions(
            column_types=dict.fromkeys(included, pyarrow.string()),
            include_columns=included,
            null_values=[],
            strings_can_be_null=False,
        )
        comments = grammar.comments
        self._comments = [bytes([each]) for each in comments.encode()]
        self._kinds = byte_kinds(self._delimiter, comments)
        # After the first edge a comment could be an id that is a text.
        skipped = rb"(?:[%s][^\n]*)?" % re.escape(comments.encode()) if comments and not layout.texts else b""
        self._skipped = re.compile(rb"^[ \t\r\v\f]*%s\n" % skipped, re.MULTILINE)
        d = re.escape(self._delimiter).encode()
        blank = rb"[ \v\f]" if self._delimiter == "\t" else rb"[ \t\v\f]"
        self._field = re.compile(rb'%s*("(?:[^"\n]|"")*"|[^%s\n]*?)%s*(%s|\r?\n)' % (blank, d, blank, d))

    def __call__(self, piece: Piece) -> Parsed:
        """Return the edges of a piece; where one of its lines is none, that fault."""
        marks, lines = line_marks(piece.buffer[piece.first : piece.end], self._kinds)
        block = piece.tobytes()
        try:
            chunk, rows = self._edges(self._rows(block, marks), marks)
        except _FaultyRow as fault:
            return Parsed(None, 0, 0, self._placed(block, fault))
        if rows and self._reading.digest is not None:
            chunk = self._reading.digest(chunk)
        return Parsed(chunk, rows, lines)

    def _rows(self, block: bytes, marks: int) -> bytes:
        """Return the lines with edges as pyarrow reads them: with one delimiter between fields."""
        layout = self._layout
        if marks & (EMPTY | COMMENTED | PADDED):
            block = self._skipped.sub(b"", block)
        if marks & COMMENTED and layout.texts:
            rows = enumerate(block.split(b"\n"))
            first = next(row for row, line in rows if line.lstrip()[:1] in self._comments)
            raise _FaultyRow(first, 0, faults.LATE_COMMENT)
        if layout.attributes:
            return tabbed(block, layout.delimiter, layout.fields)
        if not layout.delimiter:
            return b"".join(b"\t".join(cut_line(line, "")) + b"\n" for line in block.split(b"\n")[:-1])
        return self._field.sub(rb"\1\2", block) if marks & QUOTED and marks & PADDED else block

    def _edges(self, block: bytes, marks: int) -> tuple[Any, int]:
        """Return the edges of rows as a chunk, and how many there are."""
        columns, rows = self._columns(block, marks), None
        if self._filtered and columns:
            rows = self._left_by_filter(columns)
            columns = {place: column.take(rows) for place, column in columns.items()}
        grammar, found = self._grammar, self._layout.found
        if not columns or not len(columns[found.source]):
            return None, 0
        try:
            at = grammar.weight_column
            weight = self._decimals(columns[at], at) if at >= 0 else None
            ends = columns[found.source], columns[found.target]
            if self._layout.texts:
                chunk: Any = self._texts(*ends, weight)
            else:
                source, target = self._integers(ends[0], found.source), self._integers(ends[1], found.target)
                chunk = Chunk(
                    source, target + grammar.target_shift if grammar.target_shift else target, weight
                )
        except _FaultyRow as fault:
            fault.row = fault.row if rows is None else rows[fault.row].as_py()
            raise
        return chunk, len(ends[0])

    def _columns(self, block: bytes, marks: int) -> dict[int, Any]:
        """Return the columns that are needed, by their places, as texts without blanks around them."""
        count = block.count(b"\n")
        if not count:
            return {}
        names = [str(place) for place in range(self._layout.fields)]
        read = csv.ReadOptions(column_names=names, use_threads=False, block_size=len(block) + 1)
        try:
            table = csv.read_csv(
                pyarrow.BufferReader(block),
                read_options=read,
                parse_options=self._parse,
                convert_options=self._convert,
            )
        except pyarrow.ArrowInvalid as error:
            raise self._irregular(block, str(error)) from None
        if table.num_rows != count:
            raise self._irregular(block, "")
        columns = {int(name): table.column(name).combine_chunks() for name in table.column_names}
        for place, column in columns.items():
            # Within rows that are as many as lines, only the last can have a quote that does not end.
            if "\n" in column[-1].as_py():
                raise _FaultyRow(count - 1, place, faults.OPEN_QUOTE)
        if marks & PADDED and not marks & QUOTED:
            columns = {place: compute.ascii_trim_whitespace(column) for place, column in columns.items()}
        for place, value in self._constants.items():
            columns[place] = pyarrow.repeat(value, count)
        return columns

    def _irregular(self, block: bytes, found: str) -> _FaultyRow:
        """Return what is wrong with rows that pyarrow does not read, or takes for fewer."""
        for row, line in enumerate(block.split(b"\n")[:-1]):
            fields = cut_line(line.rstrip(b"\r"), self._delimiter)
            for place, each in enumerate(fields):
                if each.startswith(b'"') and not re.fullmatch(rb'"(?:[^"]|"")*"[^"]*', each):
                    return _FaultyRow(row, place, faults.OPEN_QUOTE)
            if len(fields) != self._layout.fields:
                few = len(fields) < self._layout.fields
                return _FaultyRow(row, 0, faults.TOO_FEW if few else faults.TOO_MANY)
            fault = not_utf8(line, 1)
            if fault is not None:
                return _FaultyRow(row, 0, message=fault.message, hint=fault.hint)
        return _FaultyRow(0, 0, message=f"the lines from here on are not read: {found}")

    def _left_by_filter(self, columns: dict[int, Any]) -> Any:
        """Return the numbers of the rows that the filter leaves."""
        given = self._reading.filter
        assert given is not None
        batch = pyarrow.table({name: columns[place] for name, place in self._filtered.items()})
        try:
            return compute.indices_nonzero(given.kept(batch))
        except UnsuitableValue as error:
            raise _FaultyRow(error.row, 0, message=str(error)) from None

    def _integers(self, column: Any, place: int) -> Any:
        plain = compute.match_substring_regex(column, _INTEGER)
        if not compute.all(plain, min_count=0).as_py():
            row = plain.index(False).as_py()
            negative = re.fullmatch("-[0-9]+", column[row].as_py()) is not None
            raise _FaultyRow(row, place, faults.NEGATIVE if negative else faults.NOT_INTEGER)
        try:
            values: Any = column.cast(pyarrow.int64()).to_numpy(zero_copy_only=False)
        except pyarrow.ArrowInvalid:
            row = next(row for row, each in enumerate(column.to_pylist()) if int(each) > LARGEST_ID)
            raise _FaultyRow(row, place, faults.TOO_LARGE) from None
        wrong = numpy.flatnonzero((values < self._grammar.low) | (values > self._grammar.high))
        if len(wrong):
            raise _FaultyRow(int(wrong[0]), place, faults.OUT_OF_RANGE)
        return values

    def _decimals(self, column: Any, place: int) -> Any:
        if self._layout.decimal_comma:
            column = compute.replace_substring_regex(column, _DECIMAL_COMMA, r"\1.\2")
        plain = compute.match_substring_regex(column, _DECIMAL)
        if not compute.all(plain, min_count=0).as_py():
            raise _FaultyRow(plain.index(False).as_py(), place, faults.BAD_WEIGHT)
        values: Any = compute.ascii_ltrim(column, "+").cast(pyarrow.float64()).to_numpy(zero_copy_only=False)
        wrong = numpy.flatnonzero(~numpy.isfinite(values))
        if len(wrong):
            raise _FaultyRow(int(wrong[0]), place, faults.BAD_WEIGHT)
        return values

    def _texts(self, source: Any, target: Any, weight: Any) -> TextChunk:
        found, ends = self._layout.found, []
        for column, place in ((source, found.source), (target, found.target)):
            texts, row, code = texts_of(column)
            if code:
                raise _FaultyRow(row, place, code)
            ends.append(texts)
        return TextChunk(row_by_row(*ends), weight)

    def _placed(self, block: bytes, fault: _FaultyRow) -> Fault:
        """Return where in a piece a faulty row is."""
        rows = [match for match in re.finditer(rb"[^\n]*\n", block) if not self._skipped.fullmatch(match[0])]
        row = rows[min(fault.row, len(rows) - 1)]
        fields = cut_line(row[0].strip(), self._layout.delimiter)[: fault.column + 1]
        place = row.start()
        for each in fields:
            place = block.find(each, place) + (len(each) if each is not fields[-1] else 0)
        return Fault(block.count(b"\n", 0, row.start()), place, fault.code, fault.message, fault.hint)
