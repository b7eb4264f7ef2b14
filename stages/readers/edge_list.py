"""Edge lists: one edge a line, separated by blanks, tabs, commas or semicolons, in the manner of SNAP.

Lines that start with # or % are comments. A first line of names is a header; columns called source and
target (or src, from, u; dst, to, v) are found by it, else the first two count. A third column is the weight,
a fourth (a time stamp, in KONECT's files) is left alone. The vertices are exactly the ids that occur; they
are whole numbers, or texts if no id among the first rows is a number, or where `ids: text` says so. A
comment such as `# Undirected graph` (SNAP) or `% sym` (KONECT) declares the list undirected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from gravel.stages.parsing.columns import MOST_COLUMNS, Layout
from gravel.stages.parsing.head import HEAD_BYTES, Head, is_number, shown
from gravel.stages.parsing.text_layout import are_texts, fields_of, text_layout
from gravel.stages.readers import Chunk, Counts, Header, Reader, Reading

if TYPE_CHECKING:
    from gravel.stages.streams import LineStream

COMMENTS = b"#%"
SOURCE_NAMES = ("source", "src", "from", "u", "fromnodeid", "start", "tail", "node1", "id1")
TARGET_NAMES = ("target", "dst", "dest", "to", "v", "tonodeid", "end", "head", "node2", "id2")
WEIGHT_NAMES = ("weight", "w", "value", "cost", "length", "distance")

_STATED = re.compile(rb"nodes:\s*(\d{1,19})\s+edges:\s*(\d{1,19})", re.IGNORECASE)
_INTEGER = re.compile(rb"-?[0-9]+")


def split(line: bytes, delimiter: str) -> list[bytes]:
    """Cut a line into its fields."""
    if not delimiter:
        return line.split()
    return [field.strip() for field in line.split(delimiter.encode())]


def layout_of(first: bytes, second: bytes | None) -> Layout:
    """Find the layout of a list from its first line that is no comment and the one after it."""
    for delimiter in (",", ";", ""):
        if not delimiter or delimiter.encode() in first:
            break
    fields = split(first, delimiter)
    if len(fields) < 2:
        return Layout(why=f"found {shown(first)}, which is one column; an edge needs two")
    if all(field and not is_number(field) and not _INTEGER.match(field) for field in fields):
        return _named(fields, delimiter, first, second)
    if len(fields) > MOST_COLUMNS:
        return Layout(why=f"found {shown(first)}, which has {len(fields)} columns; an edge list has 2 to 4")
    return Layout(delimiter, len(fields), weight=2 if len(fields) > 2 else -1)


def _named(fields: list[bytes], delimiter: str, first: bytes, second: bytes | None) -> Layout:
    if second is None or len(split(second, delimiter)) != len(fields):
        return Layout(why=f"found {shown(first)}; expected an edge: two whole numbers")
    source, target, weight = _places(fields)
    if source < 0 or target < 0:
        source, target = 0, 1
        weight = weight if weight > 1 or len(fields) != 3 else 2
    return Layout(
        delimiter, len(fields), source, target, weight if weight not in (source, target) else -1, True
    )


def _places(fields: list[bytes]) -> tuple[int, int, int]:
    """Find the columns of source, target and weight by their names, -1 for one that is not there."""
    names = [
        field.decode("utf-8", errors="replace").strip("\"' ").lower().replace("_", "") for field in fields
    ]

    def find(known: tuple[str, ...]) -> int:
        return next((position for position, name in enumerate(names) if name in known), -1)

    return find(SOURCE_NAMES), find(TARGET_NAMES), find(WEIGHT_NAMES)


def layout_of_texts(head: Head, ids: str, header: bool | str) -> Layout | None:
    """Return the layout of a list whose ids are texts, as the parameters or its first rows say; else None."""
    content = head.content(COMMENTS)
    if ids == "integer" or not content:
        return None
    layout = text_layout(content, header, _places)
    if ids == "auto":
        return layout if layout is not None and are_texts(content, layout) else None
    return layout or text_layout(content[:1], header, _places)


def fits_texts(head: Head) -> bool:
    """Whether all first lines have the same two or three columns, and no id among them is a number."""
    content = head.content(COMMENTS)
    layout = layout_of_texts(head, "auto", "auto")
    if layout is None or layout.columns > 3 or (len(content) < 2 and not layout.delimiter):
        return False
    return all(len(fields_of(line, layout.delimiter)) == layout.columns for line in content)


def _fits(head: Head) -> bool:
    content = head.content(COMMENTS)
    if not content:
        return False
    layout = layout_of(content[0], content[1] if len(content) > 1 else None)
    if layout.why:
        return False
    for line in content[1:] if layout.header else content:
        fields = split(line, layout.delimiter)
        if len(fields) != layout.columns:
            return False
        if not all(_INTEGER.fullmatch(fields[column]) for column in (layout.source, layout.target)):
            return False
    return True


def _read(reading: Reading) -> tuple[Header, Iterator[Chunk]]:
    from gravel.stages.parsing.pairs import PairGrammar
    from gravel.stages.parsing.stated import read_stated
    from gravel.stages.parsing.text import read_pairs
    from gravel.stages.streams import LineStream

    data = reading.stream.peek(HEAD_BYTES)
    texts = layout_of_texts(Head(data, whole=len(data) < HEAD_BYTES), reading.ids, reading.header)
    lines = LineStream(reading.stream)
    first, comments = _content(lines)
    if first is None:
        lines.fail(
            "no edge was found, so there is no vertex either",
            hint="a format that states the number of vertices can describe a graph without edges",
        )
    layout = texts or _layout_of_numbers(reading, lines, first)
    if layout.why:
        lines.fail(layout.why, hint="if this is another format, name it with `format`")
    if not layout.header:
        lines.unread(first)
    if texts is not None:
        _announce(reading, layout, first)
    weighted = layout.weight >= 0 and reading.weights
    grammar = PairGrammar(
        form=_form(layout),
        columns=layout.columns,
        delimiter=layout.delimiter,
        comments=COMMENTS.decode(),
        source_column=layout.source,
        target_column=layout.target,
        weight_column=layout.weight if weighted else -1,
        texts=texts is not None,
        may_be_texts=reading.ids == "auto",
    )
    stated = next((match for comment in comments if (match := _STATED.search(comment))), None)

    def chunks() -> Iterator[Chunk]:
        found = 0
        # More edges than stated are none too many: some collections count an edge once that is listed twice.
        edges = (
            read_stated(reading, lines, grammar, int(stated[2]), says="a comment says", exact=False)
            if stated
            else read_pairs(reading, lines, grammar)
        )
        for chunk in edges:
            found += len(chunk.source)
            yield chunk
        if not found:
            lines.fail("no edge was found, so there is no vertex either")

    undirected = any(map(_undirected, comments))
    return Header(undirected=undirected, weighted=weighted, texts=texts is not None), chunks()


def _layout_of_numbers(reading: Reading, lines: LineStream, first: bytes) -> Layout:
    between: list[bytes] = []
    second = lines.readline()
    while second is not None and _skipped(second):
        between.append(second)
        second = lines.readline()
    layout = layout_of(first, second)
    for line in ([second] if second is not None else []) + between[::-1]:
        lines.unread(line)
    if not layout.why and isinstance(reading.header, bool):
        return replace(layout, header=reading.header)
    return layout


def _announce(reading: Reading, layout: Layout, first: bytes) -> None:
    """Log that ids are texts, and remark on a first line that could be a header."""
    reading.log("ids are texts")
    if reading.device is not None:
        reading.log("the CPU reads them: a GPU reads ids that are whole numbers")
        reading.device = None
    if layout.may_be_header and reading.header == "auto":
        reading.remark(
            f"{reading.stream.location}: the first line, {shown(first, 60)}, is read as an edge; "
            "if it names the columns, set header: true (if not, header: false)"
        )


def _content(lines: LineStream) -> tuple[bytes | None, list[bytes]]:
    """Read to the first line with content; the first comments before it are kept."""
    comments: list[bytes] = []
    while (line := lines.readline()) is not None:
        if not _skipped(line):
            return line, comments
        if len(comments) < 100:
            comments.append(line)
    return None, comments


def _skipped(line: bytes) -> bool:
    stripped = line.strip()
    return not stripped or stripped[0] in COMMENTS


def _undirected(comment: bytes) -> bool:
    words = comment.lower().lstrip(b"#% ").replace(b":", b" ").split()
    return words[:2] == [b"undirected", b"graph"] or (words[:1] == [b"sym"] and comment.startswith(b"%"))


def _form(layout: Layout) -> str:
    names = ["…"] * layout.columns
    names[layout.source], names[layout.target] = "source", "target"
    if layout.weight >= 0:
        names[layout.weight] = "weight"
    return f"{layout.columns} columns: {(layout.delimiter or ' ').join(names)}"


def _counts(head: Head, location: str) -> Counts | None:
    for line in head.lines[:100]:
        match = _STATED.search(line)
        if match and line.startswith(b"#"):
            return Counts(int(match[1]), int(match[2]))
    return None


READER = Reader(
    name="edge_list",
    title="edge list",
    suffixes=(".csv", ".tsv", ".el", ".wel", ".edges", ".edgelist", ".edge", ".e", ".snap", ".ncol"),
    aliases=("csv", "tsv", "snap", "text", "el", "edges"),
    fits=_fits,
    read=_read,
    counts=_counts,
    on_device=True,
    takes=("columns", "filter", "delimiter", "header", "comment", "ids"),
)
