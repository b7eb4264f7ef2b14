"""LightGraphs text: a header `n,m,u|d,name`, then m lines `source,target`, 1-based."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gravel.stages.parsing.head import Head, shown, whole_numbers
from gravel.stages.readers import Chunk, Counts, Header, Reader, Reading


class _Stated(NamedTuple):
    vertices: int
    edges: int
    undirected: bool


def _stated(line: bytes) -> _Stated | None:
    fields = [field.strip() for field in line.split(b",")]
    numbers = whole_numbers(fields[:2]) if len(fields) > 3 and fields[2] in (b"u", b"d") else None
    return None if numbers is None else _Stated(numbers[0], numbers[1], fields[2] == b"u")


def _fits(head: Head) -> bool:
    return bool(head.lines) and _stated(head.lines[0]) is not None


def _read(reading: Reading) -> tuple[Header, Iterator[Chunk]]:
    from gravel.stages.parsing.pairs import PairGrammar
    from gravel.stages.parsing.text import read_stated
    from gravel.stages.streams import LineStream

    lines = LineStream(reading.stream)
    line = lines.readline() or b""
    stated = _stated(line)
    if stated is None:
        lines.fail(
            f"found {shown(line)}; a LightGraphs file starts with vertices,edges,u|d,name",
            hint="if this is another format, name it with `format`",
        )
    grammar = PairGrammar(form="source,target", delimiter=",", low=1, high=stated.vertices)

    chunks = read_stated(reading, lines, grammar, stated.edges, says="the header says")
    return Header(vertex_count=stated.vertices, first_id=1, undirected=stated.undirected), chunks


def _counts(head: Head, location: str) -> Counts | None:
    stated = _stated(head.lines[0]) if head.lines else None
    return Counts(stated.vertices, stated.edges) if stated else None


READER = Reader(
    name="lightgraphs",
    title="LightGraphs text",
    rank=70,
    suffixes=(".jlg", ".lg"),
    fits=_fits,
    read=_read,
    counts=_counts,
    on_device=True,
)
