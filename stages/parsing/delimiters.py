"""The delimiter of a list of edges, decided by the columns that its first lines have under each candidate."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from gravel.stages.edge_columns import ColumnsError
from gravel.stages.parsing.head import is_integer, is_number, shown

CANDIDATES = ("\t", ",", ";", "|", "")
"""Without one, any run of blanks separates."""

OTHER_FORMAT = "if this is another format, name it with `format`"

NAMES = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "bar", "": "blanks"}

WEIGHT = "weight"
"""The attribute that is read of rows as NetworkX writes them; the others are left out."""

_ATTRIBUTE = re.compile(
    rb"\{'weight': (?:np\.\w+\()?([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\)?[,}]"
)

_WORD = re.compile(rb'"(?:[^"]|"")*"(?=\s|$)|\S+')
_BRACKETS = {ord(b")"): ord(b"("), ord(b"]"): ord(b"["), ord(b"}"): ord(b"{")}


@cache
def _field(delimiter: str) -> re.Pattern[bytes]:
    """Match a field in quotes, or if it is not one, all up to the next delimiter."""
    d = re.escape(delimiter).encode()
    return re.compile(rb'([ \r\v\f]*"(?:[^"]|"")*"[ \r\v\f]*(?=%s|$)|[^%s]*)(%s|$)' % (d, d, d))


def cut_line(line: bytes, delimiter: str) -> list[bytes]:
    """Cut a line into its fields, without blanks around them, but with their quotes."""
    if b'"' not in line:
        return line.split() if not delimiter else [part.strip() for part in line.split(delimiter.encode())]
    if not delimiter:
        return _WORD.findall(line)
    fields, place = [], 0
    while True:
        found = _field(delimiter).match(line, place)
        assert found is not None  # anything is a field
        fields.append(found[1].strip())
        if not found[2]:
            return fields
        place = found.end()


def unquoted(field: bytes) -> bytes:
    """Return a field without its quotes, within which two of them are one."""
    quoted = len(field) > 1 and field.startswith(b'"') and field.endswith(b'"')
    return field[1:-1].replace(b'""', b'"') if quoted else field


def fields_of(line: bytes, delimiter: str) -> list[bytes]:
    """Cut a line into its fields, without blanks and quotes around them."""
    return [unquoted(field) for field in cut_line(line, delimiter)]


def _is_unbalanced(field: bytes) -> bool:
    """Whether a quote or a bracket is open at the end of a field, or closed that was not open."""
    if field.startswith(b'"') and field.endswith(b'"') and len(field) > 1:
        return False
    if field.count(b'"') % 2:
        return True
    opened: list[int] = []
    for byte in field:
        if byte in b"([{":
            opened.append(byte)
        elif byte in b")]}" and (not opened or opened.pop() != _BRACKETS[byte]):
            return True
    return bool(opened)


@dataclass(frozen=True)
class Cut:
    """Lines cut at a delimiter: most have `columns` fields, `regular` of them."""

    delimiter: str
    lines: Sequence[bytes]
    raw: Sequence[Sequence[bytes]]
    columns: int
    regular: int

    @cached_property
    def rows(self) -> list[list[bytes]]:
        """The fields of each line, without quotes."""
        return [[unquoted(field) for field in row] for row in self.raw]

    @cached_property
    def unbalanced(self) -> bool:
        """Whether a quote or bracket ends in another field than it begins in."""
        return any(_is_unbalanced(field) for row in self.raw for field in row)

    @cached_property
    def whole_numbers(self) -> bool:
        """Whether the first two fields are whole numbers, in all rows but a header."""
        first, *below = self.rows
        rows = below if below and len(first) > 1 and not any(map(is_number, first)) else self.rows
        return all(len(row) > 1 and is_integer(row[0]) and is_integer(row[1]) for row in rows)

    @cached_property
    def blank_within(self) -> bool:
        """Whether one of the first two fields has a blank within it."""
        return any(b" " in field for row in self.rows for field in row[:2])

    @cached_property
    def decimal(self) -> bool:
        """Whether every comma stands between two digits."""
        return not any(re.search(rb"(?<![0-9]),|,(?![0-9])", line) for line in self.lines)


def cut_lines(lines: Sequence[bytes], delimiter: str) -> Cut | None:
    """Cut lines at a delimiter; None where no line has two fields."""
    if delimiter and not any(delimiter.encode() in line for line in lines):
        return None
    raw = [cut_line(line, delimiter) for line in lines]
    counts = Counter(len(row) for row in raw if len(row) > 1)
    if not counts:
        return None
    # Of numbers of fields that are equally frequent, that of the first line.
    columns = max(counts, key=lambda count: (counts[count], count == len(raw[0])))
    return Cut(delimiter, lines, raw, columns, counts[columns])


def choose_cut(lines: Sequence[bytes], names_pair: Callable[[Sequence[bytes]], bool], name: str = "") -> Cut:
    """Return the lines cut at the delimiter that their columns tell; raises ColumnsError where two remain.

    `names_pair` says whether a row names the columns of a source and of a target. A file's `name` speaks for
    tabs if it ends in .tsv, and against blanks if in .csv.
    """
    cuts = [cut for delimiter in CANDIDATES if (cut := cut_lines(lines, delimiter)) is not None]
    if not cuts:
        raise ColumnsError(f"found {shown(lines[0])}, which is one column; an edge needs two", OTHER_FORMAT)
    left = [cut for cut in cuts if 2 * cut.regular >= len(lines)] or cuts
    most = max((cut.regular for cut in left if cut.delimiter), default=0)
    left = [cut for cut in left if cut.regular == most or not cut.delimiter]
    lose = any(cut.regular < most for cut in left) or not any(
        cut.blank_within for cut in left if cut.delimiter
    )
    whole = any(cut.regular == len(lines) for cut in left)
    ending = name.lower().rpartition(".")[2]
    rules: list[Callable[[Cut], bool]] = [
        lambda cut: names_pair(cut.rows[0]),
        lambda cut: not cut.unbalanced,
        lambda cut: cut.whole_numbers,
        lambda cut: whole or len(cut.raw[0]) == cut.columns,
        lambda cut: ending != "tsv" or cut.delimiter == "\t",
        lambda cut: cut.delimiter != "" or not (lose or ending == "csv"),
        lambda cut: cut.delimiter != "," or not cut.decimal or all(each.delimiter != ";" for each in cuts),
    ]
    for keeps in rules:
        left = [cut for cut in left if keeps(cut)] or left
    if len(left) > 1:
        choices = " or ".join(f"{NAMES[cut.delimiter]} ({cut.columns} columns)" for cut in left)
        raise ColumnsError(
            f"columns may be separated by {choices}: {shown(lines[0])}",
            f"say which, such as `delimiter: {NAMES[left[0].delimiter]}` or --delimiter",
        )
    return left[0]


@cache
def _attribute_row(delimiter: str) -> re.Pattern[bytes]:
    """Match a row that ends in a dictionary, as `networkx.write_edgelist` writes it: `a b {'weight': 3}`."""
    if not delimiter:
        return re.compile(rb"\s*(\S+)\s+(\S+)\s+(\{.*\})\s*")
    d = re.escape(delimiter).encode()
    return re.compile(rb"\s*([^%s]+?)\s*%s\s*([^%s]+?)\s*%s\s*(\{.*\})\s*" % (d, d, d, d))


def cut_attributes(lines: Sequence[bytes], asked: str) -> Cut | None:
    """Return two ids and a weight, perhaps empty, of each line; None where the lines are not of this kind."""
    if not lines or not lines[0].rstrip().endswith(b"}"):
        return None
    for delimiter in CANDIDATES if asked == "auto" else ["" if asked == "blanks" else asked]:
        found = [*map(_attribute_row(delimiter).fullmatch, lines)]
        if all(found):
            raw = [[match[1], match[2], weight_of(match[3])] for match in found if match is not None]
            columns = 3 if any(row[2] for row in raw) else 2
            return Cut(delimiter, lines, [row[:columns] for row in raw], columns, len(raw))
    return None


def weight_of(attributes: bytes) -> bytes:
    """Return the weight in a dictionary as NetworkX writes it, empty where there is none."""
    if b"weight" not in attributes:
        return b""
    one = _ATTRIBUTE.match(attributes)
    if one is not None:
        return one[1]
    try:
        found = ast.literal_eval(re.sub(r"np\.\w+\(([^()]*)\)", r"\1", attributes.decode()))
        return str(found.get(WEIGHT, "")).encode() if isinstance(found, dict) else b"?"
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return b"?"  # read as a weight that is none


def tabbed(block: bytes, delimiter: str, columns: int) -> bytes:
    """Return lines with a tab between two ids and a weight; a line of another kind stays as it is."""
    pattern = _attribute_row(delimiter)

    def fields(line: bytes) -> bytes:
        match = pattern.fullmatch(line)
        if match is None:
            return line
        ends = match[1] + b"\t" + match[2]
        return ends if columns == 2 else ends + b"\t" + weight_of(match[3])

    return b"\n".join(map(fields, block.split(b"\n")))
