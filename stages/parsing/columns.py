"""The columns of an edge list: delimiter, header, ends and weight, recognised by its first lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gravel.stages.edge_columns import (
    BY_POSITION,
    NOT_ASKED,
    Columns,
    ColumnsError,
    EdgeColumns,
    find_columns,
    known_names,
    place_of,
    plain,
)
from gravel.stages.edge_columns import shown as shown_label
from gravel.stages.parsing.delimiters import NAMES, Cut, choose_cut, cut_attributes, cut_lines
from gravel.stages.parsing.head import is_integer, is_number, shown

if TYPE_CHECKING:
    from gravel.stages.edge_columns import EdgeColumns
    from gravel.stages.parsing.delimiters import Cut

ARROWS = frozenset({b"->", b"<-", b"<->", b"--", b"=>", b"-->", b"-", b"<--"})
MIDDLE = "`columns: {source: 1, target: 3}` reads the outer two columns as the ends"


def other_kind(cut: Cut, found: EdgeColumns, rows: Sequence[Sequence[bytes]], name: str) -> str | None:
    """Name the other kind of file that the first rows of a list look like, and how to convert it; else None.

    `name` is the file's: a name that ends in .sif, .hgr or .adjlist says as much.
    """
    if not rows:
        return None
    ending = name.lower().rpartition(".")[2]
    kind = (
        _with_middle(cut, found, rows, ending) or _counts(cut, ending) or _adjacency(cut, found, rows, ending)
    )
    return None if kind is None else f"the lines are read as edges; they look like {kind}"


def _with_middle(cut: Cut, found: EdgeColumns, rows: Sequence[Sequence[bytes]], ending: str) -> str | None:
    if cut.columns != 3 or len(rows) < 2 or found.weight >= 0:
        return None
    middles = {row[1] for row in rows}
    if middles <= ARROWS:
        return f"arrows between vertices (a -> b): {MIDDLE}"
    if ending == "sif" or 2 * len(middles) <= len(rows):
        if any(map(is_number, middles)):
            return None
        if ending == "sif":
            return f"SIF (vertex, interaction, vertex): {MIDDLE}"
        return f"triples (subject, relation, object): {MIDDLE}"
    return None


def _counts(cut: Cut, ending: str) -> str | None:
    """Tell a first line that states how many vertices and edges follow."""
    first, below = cut.rows[0], [row for row in cut.rows[1:] if row]
    if len(first) not in (2, 3) or not all(map(is_integer, first)) or not below:
        return None
    ids = [int(each) for row in below for each in row[:2] if is_integer(each)]
    if not ids:
        return None
    one, two = int(first[0]), int(first[1])
    if ending == "hgr" and one == len(below):
        return (
            "hMETIS (hyperedges, vertices, then a hyperedge on each line): write an edge for each pair of "
            "vertices that a hyperedge joins"
        )
    if two == len(below) and one >= max(ids):
        return (
            "an edge list whose first line states its counts of vertices and edges: remove that line, or set "
            "`header: true`"
        )
    return None


def _adjacency(cut: Cut, found: EdgeColumns, rows: Sequence[Sequence[bytes]], ending: str) -> str | None:
    """Tell lines of a vertex and its neighbours: each vertex begins one line, and neighbours are vertices."""
    if cut.delimiter or cut.columns < 3 or len(rows) < 3 or found.weight != 2:
        return None
    begins = [row[0] for row in rows]
    vertices = {each for row in rows for each in row[:2]}
    others = {each for row in rows for each in row[2:]}
    listed = (
        len(set(begins)) == len(begins) and others <= vertices and all(is_integer(each) for each in others)
    )
    if ending in ("adjlist", "adj") or listed:
        return (
            "adjacency lists (a vertex, then its neighbours): convert them, for example with "
            "networkx.read_adjlist and networkx.write_edgelist"
        )
    return None


MAX_PLAIN = 4
"""Columns up to which the fast readers take a list; without a header, more are no edge list."""

_DECIMAL_COMMA = re.compile(rb"[+-]?[0-9]+,[0-9]+")


@dataclass(frozen=True)
class ListOptions:
    """Parameters of ingest for a list of edges; `filter` and `constants` are names of columns."""

    columns: Columns = NOT_ASKED
    delimiter: str = "auto"
    comment: str = "#%"
    header: bool | str = "auto"
    ids: str = "auto"
    weights: bool = True
    filter: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()

    @property
    def as_list(self) -> bool:
        """Whether a parameter is given that text has in an edge list alone."""
        return (
            self.delimiter != "auto"
            or self.columns != NOT_ASKED
            or self.header != "auto"
            or bool(self.filter)
        )


@dataclass(frozen=True)
class Layout:
    """The contents of a line, in columns from 0.

    Each line has `fields`: more than there are named columns where lines end in a delimiter, fewer where some
    are constants of the file's path. `attributes`: rows end in a `{...}` as NetworkX writes them.
    """

    delimiter: str
    fields: int
    found: EdgeColumns
    header: bool
    texts: bool
    fast: bool  # the readers of plain columns take it
    regular: bool  # all of the first lines have its fields
    whole_numbers: bool  # the ends of all of the first lines are whole numbers
    decimal_comma: bool = False
    attributes: bool = False
    doubts: tuple[str, ...] = ()  # what who reads the answer should know

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns: of the header, or `column 1`, `column 2`, ..."""
        return tuple(str(label) for label in self.found.labels)

    @property
    def form(self) -> str:
        """A good line, for messages: the file's header, or what the columns are."""
        if self.header:
            names = [shown_label(name) for name in self.names[: self.fields]]
            return f"{self.fields} columns, as in the header: {(self.delimiter or ' ').join(names)}"
        found, names = self.found, ["…"] * max(self.fields, len(self.found.labels))
        names[found.source], names[found.target] = "source", "target"
        if found.weight >= 0:
            names[found.weight] = "weight"
        return f"{self.fields} columns: {(self.delimiter or ' ').join(names[: self.fields])}"

    def __str__(self) -> str:
        """Say what is read and how."""
        kind = "NetworkX's edge list, " if self.attributes else ""
        header = "header" if self.header else "no header"
        return f"{kind}{NAMES.get(self.delimiter, repr(self.delimiter))}, {header}; {self.found}"


def layout_of(lines: Sequence[bytes], asked: ListOptions, name: str = "") -> Layout:
    """Find the layout by the first lines that are no comments; raises ColumnsError where it is not clear.

    `name` is the file's, which may speak for another kind of file.
    """
    attributes = cut_attributes(lines, asked.delimiter)
    cut = attributes or _cut(lines, asked.delimiter, name)
    header = attributes is None and (
        (_names_columns(asked) or _is_header(cut)) if asked.header == "auto" else bool(asked.header)
    )
    rows = [row for row in cut.rows[header:] if len(row) == cut.columns]
    names = _names(cut, rows) if header else _numbered(cut, rows)
    taken = [
        each for each in asked.constants if each in (*asked.columns, *asked.filter) and each not in names
    ]
    labels = [*names, *taken]
    for each in asked.filter:
        place_of(labels, each)
    if header or asked.columns.source is not None or asked.columns.target is not None:
        first = [each.decode("utf-8", errors="replace") for each in rows[0]] if rows else None
        found = find_columns(
            labels, asked.columns, weights=asked.weights, first_row=first, positions=True, extra=len(taken)
        )
    else:
        found = _by_position(labels, len(names), rows, asked, cut)
    ends = [row[place] for row in rows for place in (found.source, found.target) if place < cut.columns]
    comma = cut.delimiter == ";" and 0 <= found.weight < cut.columns
    comma = comma and any(_DECIMAL_COMMA.fullmatch(row[found.weight]) for row in rows)
    texts = _are_texts(ends, asked.ids)
    others = [place for place in range(cut.columns) if place not in (found.source, found.target)]
    labelled = any(row[place] and not is_number(row[place]) for row in rows for place in others)
    quoted = any(b'"' in line for line in lines)
    layout = Layout(
        cut.delimiter,
        cut.columns,
        found,
        header,
        texts,
        # The reader of texts takes any columns and quotes, in half of the time that pyarrow needs.
        fast=attributes is None
        and not (comma or asked.filter or taken)
        and len(names) == cut.columns
        and (texts or not (cut.columns > MAX_PLAIN or quoted or (labelled and cut.delimiter != ""))),
        regular=len(rows) == len(lines) - header,
        whole_numbers=len(rows) == len(lines) - header and all(map(is_integer, ends)),
        decimal_comma=comma,
        attributes=attributes is not None,
        doubts=_doubts(cut, found, rows, asked, header=header, texts=texts and attributes is None),
    )
    kind = None if header or attributes or asked.columns != NOT_ASKED else other_kind(cut, found, rows, name)
    # The kind tells what the third column is.
    return layout if kind is None else replace(layout, doubts=(*layout.doubts[: -bool(found.left_out)], kind))


def _cut(lines: Sequence[bytes], delimiter: str, name: str) -> Cut:
    if delimiter == "auto":
        return choose_cut(lines, _names_pair, name)
    found = cut_lines(lines, "" if delimiter == "blanks" else delimiter)
    if found is None:
        raise ColumnsError(
            f"found {shown(lines[0])}, which is one column with the delimiter "
            f"{NAMES.get(delimiter, delimiter)!r}; an edge needs two",
            "name another one with `delimiter`, or leave it out",
        )
    return found


def _names_pair(row: Sequence[bytes]) -> bool:
    """Whether a row names the columns of a source and of a target."""
    names = [each.decode("utf-8", errors="replace") for each in row]
    return known_names(names) > 1


def _names_columns(asked: ListOptions) -> bool:
    """Whether columns are asked for by names that only a header gives."""
    names = [*asked.columns, *asked.filter]
    return any(isinstance(each, str) and not re.fullmatch(r"column \d+", each) for each in names)


def _names(cut: Cut, rows: Sequence[Sequence[bytes]]) -> list[str]:
    """Return the names in a header; "" is the name of a column that has none."""
    first = cut.rows[0]
    if len(first) == cut.columns - 1 and rows:
        # A delimiter ends each line but the header's, or a column of row names comes first, as R writes them.
        first = [*first, b""] if all(not row[-1] for row in rows) else [b"", *first]
    if len(first) != cut.columns and rows:
        raise ColumnsError(
            f"the header {shown(cut.lines[0])} has {len(first)} columns; most lines have {cut.columns}",
            "correct the header, or name the delimiter with `delimiter`",
        )
    return [each.decode("utf-8", errors="replace").strip() for each in first]


def _numbered(cut: Cut, rows: Sequence[Sequence[bytes]]) -> list[str]:
    ended = cut.columns > 2 and rows and all(not row[-1] for row in rows)  # lines end in a delimiter
    return [f"column {place}" for place in range(1, cut.columns + (not ended))]


def _is_header(cut: Cut) -> bool:
    """Tell a header by known names that occur in no row, or by a column that has numbers below it."""
    first, below = cut.rows[0], [row for row in cut.rows[1:] if len(row) == cut.columns]
    if any(map(is_number, first)) or len(first) not in (cut.columns, cut.columns - 1):
        return False
    elsewhere = {each for row in below for each in row if each}
    if elsewhere.isdisjoint(first):
        names = [plain(each.decode("utf-8", errors="replace")) for each in first]
        # A single letter is an id as often as a name.
        if known_names(names) > 1 or any(len(name) > 1 and known_names([name]) for name in names):
            return True
    places = range(len(first)) if len(first) == cut.columns and below else ()
    return any(first[place] and all(is_number(row[place]) for row in below) for place in places)


def _by_position(
    labels: Sequence[str], count: int, rows: Sequence[Sequence[bytes]], asked: ListOptions, cut: Cut
) -> EdgeColumns:
    """Return the first two columns, and the third for the weight if it holds numbers."""
    third = [row[2] for row in rows] if count > 2 else []
    comma = cut.delimiter == ";"
    numbers = sum(is_number(each) or bool(comma and _DECIMAL_COMMA.fullmatch(each)) for each in third)
    # A number that is damaged, or missing, is blamed when its line is read.
    weighted = bool(numbers) and 2 * numbers >= len(third)
    if count > MAX_PLAIN or (count == MAX_PLAIN and third and not weighted):
        raise ColumnsError(
            f"found {count} columns and no header that names them; the first is {shown(cut.lines[0], 80)}",
            BY_POSITION,
        )
    weight = asked.columns.weight
    if weight is None and weighted and asked.weights:
        weight = 3
    return find_columns(labels, Columns(1, 2, weight), weights=asked.weights, positions=True)


def _are_texts(ends: Sequence[bytes], ids: str) -> bool:
    """Tell ids that are texts: none of the first is a number, or some are padded with zeros."""
    if ids != "auto" or not ends:
        return ids == "text"
    if all(map(is_integer, ends)):
        return any(len(each) > 1 and each.startswith(b"0") for each in ends)
    return not any(map(is_number, ends))


def _doubts(
    cut: Cut,
    found: EdgeColumns,
    rows: Sequence[Sequence[bytes]],
    asked: ListOptions,
    *,
    header: bool,
    texts: bool,
) -> tuple[str, ...]:
    doubts = []
    places = [place for place in (found.source, found.target) if place < cut.columns]
    if texts and asked.header == "auto" and len(cut.rows[0]) == cut.columns:
        first = [cut.rows[0][place] for place in places]
        ids = {row[place] for row in rows[not header :] for place in places}
        letters = all(len(each) == 1 for each in (*first, *ids))
        if header and letters:
            doubts.append(
                f"the first line, {shown(cut.lines[0])}, is read as a header; if it is an edge, set "
                "header: false (if not, header: true)"
            )
        elif not header and all(first) and (ids.isdisjoint(first) or _names_pair(first)):
            doubts.append(
                f"the first line, {shown(cut.lines[0])}, is read as an edge; if it names the columns, "
                "set header: true (if not, header: false)"
            )
    if texts and asked.ids == "auto" and all(is_integer(row[place]) for row in rows for place in places):
        doubts.append("ids are read as texts, since some begin with 0; `ids: integer` reads numbers")
    if (
        not header
        and asked.columns == NOT_ASKED
        and asked.weights
        and len(found.left_out) == 1 == len(found.labels) - 2
    ):
        doubts.append("the third column holds no numbers, and is left out")
    return tuple(doubts)
