"""WebGraph's ASCIIGraph: first the number of vertices n, then line i lists the out-neighbours of vertex i.

Vertices are 0..n-1. A blank line is a vertex without out-neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator

from gravel.stages.parsing.head import Head, is_integer, shown, whole_numbers
from gravel.stages.readers import Chunk, Counts, Header, Reader, Reading


def _stated(line: bytes) -> int | None:
    numbers = whole_numbers(line.split())
    return numbers[0] if numbers is not None and len(numbers) == 1 else None


def _fits(head: Head) -> bool:
    vertices = _stated(head.lines[0]) if head.lines else None
    if vertices is None:
        return False
    rows = head.lines[1:] if head.whole else head.lines[1:-1]
    return all(is_integer(field) and int(field) < vertices for row in rows for field in row.split())


def _read(reading: Reading) -> tuple[Header, Iterator[Chunk]]:
    from gravel.stages.parsing.lists import ListGrammar, too_few_rows
    from gravel.stages.parsing.text import read_lists
    from gravel.stages.streams import LineStream

    lines = LineStream(reading.stream)
    line = lines.readline() or b""
    vertices = _stated(line)
    if vertices is None:
        lines.fail(
            f"found {shown(line)}; a WebGraph ASCII file starts with its number of vertices",
            hint="if this is another format, name it with `format`",
        )
    grammar = ListGrammar(form="a line of vertex numbers", rows=vertices, low=0)

    def chunks() -> Iterator[Chunk]:
        rows = yield from read_lists(reading, lines, grammar)
        if rows < vertices:
            too_few_rows(lines, rows, vertices)

    return Header(vertex_count=vertices, first_id=0), chunks()


def _counts(head: Head, location: str) -> Counts | None:
    return Counts(_stated(head.lines[0]), None) if head.lines else None


READER = Reader(
    name="webgraph",
    title="WebGraph ASCII",
    rank=90,
    suffixes=(".graph-txt", ".asciigraph"),
    aliases=("graph_txt", "ascii"),
    fits=_fits,
    read=_read,
    counts=_counts,
    on_device=True,
)
