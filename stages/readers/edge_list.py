"""Edge lists: one edge a line, in columns that a tab, comma, semicolon, bar or blanks separate.

The ends and the weight are columns with such names in a header (`gravel.stages.edge_columns`), those that the
parameter `columns` names, or the only two, or three of which the last is a number. The vertices are exactly
the ids that occur; they are whole numbers, or texts if no id among the first rows is a number. A comment such
as `# Undirected graph` (SNAP) or `% sym` (KONECT) declares the list undirected; `% bip` (KONECT)
says that ids of targets are numbered on their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from gravel.stages.edge_columns import ColumnsError
from gravel.stages.parsing.columns import Layout, ListOptions, layout_of
from gravel.stages.parsing.delimiters import CANDIDATES, cut_lines
from gravel.stages.parsing.head import HEAD_BYTES, Head, shown
from gravel.stages.readers import Chunk, Counts, Header, Reader, Reading
from gravel.stages.urls import file_name

if TYPE_CHECKING:
    from gravel.stages.streams import LineStream

COMMENTS = "#%"

MAX_SAMPLED = 500
"""First lines by which the layout is recognised."""

_STATED = re.compile(rb"nodes:\s*(\d{1,19})\s+edges:\s*(\d{1,19})", re.IGNORECASE)
_SIZES = re.compile(rb"%\s*(\d{1,18})\s+(\d{1,18})\s+(\d{1,18})\s*")


@lru_cache(maxsize=4)  # a plan, the choice of the reader and the reader itself ask
def head_layout(head: Head, asked: ListOptions, name: str = "") -> Layout:
    """Return the layout of a list by its first lines; raises ColumnsError where they do not tell it."""
    content = head.content(asked.comment.encode())[:MAX_SAMPLED]
    if not content:
        raise ColumnsError("no edge was found", "a list has an edge on each line")
    return layout_of(content, asked, name)


def fits_texts(head: Head) -> bool:
    """Return whether the first lines look like edges between texts, or have columns of an edge list.

    The reader then says best what is not clear about them.
    """
    content = head.content(COMMENTS.encode())[:MAX_SAMPLED]
    try:
        layout = layout_of(content, ListOptions()) if content else None
    except ColumnsError:
        cuts = [cut for each in CANDIDATES if each and (cut := cut_lines(content, each)) is not None]
        return len(content) > 1 and any(cut.regular == len(content) for cut in cuts)
    if layout is None or not layout.regular:
        return False
    plain = layout.texts and layout.fields < 4 and (len(content) > 1 or layout.delimiter != "")
    return plain or layout.header or layout.attributes or (len(content) > 1 and layout.delimiter != "")


def _fits(head: Head) -> bool:
    try:
        layout = head_layout(head, ListOptions())
    except ColumnsError:
        return False
    return layout.whole_numbers


def _read(reading: Reading) -> tuple[Header, Iterator[Chunk]]:
    from gravel.stages.parsing.pairs import PairGrammar
    from gravel.stages.parsing.text import read_pairs, read_stated
    from gravel.stages.streams import LineStream

    data = reading.stream.peek(HEAD_BYTES)
    head = Head(data, whole=len(data) < HEAD_BYTES)
    lines = LineStream(reading.stream)
    asked = reading.asked or ListOptions()
    first, comments = _content(lines, asked.comment.encode())
    if first is None:
        lines.fail(
            "no edge was found, so there is no vertex either",
            hint="a format that states the number of vertices can describe a graph without edges",
        )
    layout = _layout(asked, head, lines)
    header_line = lines.line
    if not layout.header:
        lines.unread(first)
    shift = _left_count(lines, layout, comments)
    general = not layout.fast or shift > 0
    weighted = layout.found.weight >= 0 and reading.weights
    grammar = PairGrammar(
        form=layout.form,
        columns=layout.fields,
        delimiter=layout.delimiter,
        comments=asked.comment,
        source_column=layout.found.source,
        target_column=layout.found.target,
        weight_column=layout.found.weight if weighted else -1,
        texts=layout.texts,
        may_be_texts=reading.ids == "auto",
        target_shift=shift,
        layout=layout if general else None,
    )
    _announce(reading, layout, shift)
    stated = next((match for comment in comments if (match := _STATED.search(comment))), None)

    def chunks() -> Iterator[Chunk]:
        found = 0
        # More edges than stated are none too many: some collections count an edge once that is listed twice.
        edges = (
            read_stated(reading, lines, grammar, int(stated[2]), says="a comment says", exact=False)
            if stated and not reading.filter
            else read_pairs(reading, lines, grammar)
        )
        for chunk in edges:
            found += len(chunk.source)
            yield chunk
        if found or not reading.alone:
            return
        if reading.filter:
            lines.fail(
                "the filter leaves no row, so there is no edge", hint="correct or remove `filter`", line=1
            )
        if layout.header and lines.line == header_line:
            lines.fail(f"found {shown(first)} alone, which is a header; expected edges below it")
        lines.fail("no edge was found, so there is no vertex either")

    undirected = any(map(_undirected, comments))
    return Header(
        undirected=undirected,
        weighted=weighted,
        texts=layout.texts,
        ends_unordered=layout.found.interchangeable,
        stated_vertices=int(stated[1]) if stated else None,
    ), chunks()


def _layout(asked: ListOptions, head: Head, lines: LineStream) -> Layout:
    try:
        return head_layout(head, asked, lines.stream.name)
    except ColumnsError as error:
        unclear = error
    lines.fail(str(unclear), hint=unclear.hint)


def _announce(reading: Reading, layout: Layout, shift: int) -> None:
    """Say what is read, and what is doubtful about it."""
    name = file_name(reading.stream.location)
    apart = (
        f"; ids of targets are numbered on their own, and follow the {shift:,} of sources" if shift else ""
    )
    reading.note(f"read {name} as: {layout}{apart}")
    for doubt in layout.doubts:
        reading.remark(f"{name}: {doubt}")
    if reading.device is not None and (layout.texts or not layout.fast or shift):
        what = "ids that are texts" if layout.texts else "quotes, filters and more than four columns"
        reading.log(f"the CPU reads {what}: a GPU reads plain columns of numbers")
        reading.device = None


def _left_count(lines: LineStream, layout: Layout, comments: Sequence[bytes]) -> int:
    """Return how many ids the left side of a bipartite list of KONECT has, 0 where it is none."""
    if not any(comment.split()[:2] == [b"%", b"bip"] for comment in comments):
        return 0
    sizes = next((match for comment in comments if (match := _SIZES.fullmatch(comment))), None)
    if sizes is None or layout.texts:
        lines.fail(
            "the list is bipartite (% bip), and the line of counts (% edges left right) is missing, which "
            "tells the ids of both sides apart",
            hint="add that line behind the first one, or remove `% bip` if ids are unique over both sides",
            line=1,
        )
    return int(sizes[2])


def _content(lines: LineStream, comments: bytes) -> tuple[bytes | None, list[bytes]]:
    """Read to the first line with content; the first comments before it are kept."""
    found: list[bytes] = []
    while (line := lines.readline()) is not None:
        stripped = line.strip()
        if stripped and stripped[0] not in comments:
            return line, found
        if stripped and len(found) < 100:
            found.append(line)
    return None, found


def _undirected(comment: bytes) -> bool:
    words = comment.lower().lstrip(b"#% ").replace(b":", b" ").split()
    return words[:2] == [b"undirected", b"graph"] or (words[:1] == [b"sym"] and comment.startswith(b"%"))


def _counts(head: Head, location: str) -> Counts | None:
    for line in head.lines[:100]:
        match = _STATED.search(line)
        if match and line.startswith(b"#"):
            return Counts(int(match[1]), int(match[2]))
    return None


READER = Reader(
    name="edge_list",
    title="edge list",
    rank=80,
    suffixes=(".csv", ".tsv", ".el", ".wel", ".edges", ".edgelist", ".edge", ".e", ".snap", ".ncol"),
    aliases=("csv", "tsv", "snap", "text", "el", "edges"),
    fits=_fits,
    read=_read,
    counts=_counts,
    on_device=True,
    takes=("columns", "filter", "delimiter", "header", "comment", "ids"),
)
