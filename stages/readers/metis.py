"""METIS graphs (METIS manual 5.1, section 4.1.1): `n m [fmt [ncon]]`, then each vertex's neighbours, 1-based.

The three digits of fmt say whether vertex sizes, vertex weights and edge weights are given. Each edge is
listed at both of its ends, which must agree, and is read once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from gravel.stages.parsing.head import Head, is_integer, shown
from gravel.stages.readers import Chunk, Counts, Header, Reader, Reading

if TYPE_CHECKING:
    from gravel.stages.parsing.lists import ListGrammar
    from gravel.stages.streams import LineStream


class _Stated(NamedTuple):
    vertices: int
    edges: int
    skip: int  # numbers before the neighbours
    weighted: bool


def _stated(line: bytes) -> _Stated | None:
    fields = line.split()
    if not 2 <= len(fields) <= 4 or not all(map(is_integer, fields)) or max(map(len, fields)) > 19:
        return None
    flags = fields[2].decode().rjust(3, "0") if len(fields) > 2 else "000"
    constraints = int(fields[3]) if len(fields) > 3 else 1
    if len(flags) > 3 or set(flags) - {"0", "1"} or not 1 <= constraints <= 1000 or int(fields[0]) >= 1 << 63:
        return None
    skip = int(flags[0]) + (constraints if flags[1] == "1" else 0)
    return _Stated(int(fields[0]), int(fields[1]), skip, flags[2] == "1")


def _fits(head: Head) -> bool:
    lines = [line for line in head.lines if not line.lstrip().startswith(b"%")]
    stated = _stated(lines[0]) if lines else None
    if stated is None:
        return False
    rows = lines[1:]
    while rows and not rows[-1].strip():
        rows.pop()
    if len(rows) > stated.vertices:
        return False
    step = 2 if stated.weighted else 1
    for row in rows:
        fields = row.split()
        for field in fields[stated.skip :: step]:
            if not is_integer(field) or not 1 <= int(field) <= stated.vertices:
                return False
    return True


def _read(reading: Reading) -> tuple[Header, Iterator[Chunk]]:
    from gravel.stages.parsing.lists import ListGrammar
    from gravel.stages.streams import LineStream

    lines = LineStream(reading.stream)
    line = lines.readline()
    while line is not None and (not line.strip() or line.lstrip().startswith(b"%")):
        line = lines.readline()
    stated = _stated(line or b"")
    if stated is None:
        lines.fail(
            f"found {shown(line or b'')}; a METIS file starts with vertices edges [format [ncon]], "
            "where the format is up to three digits 0 or 1",
            hint="if this is another format, name it with `format`",
        )
    weights = " with a weight after each" if stated.weighted else ""
    before = f"{stated.skip} number(s) about the vertex, then " if stated.skip else ""
    grammar = ListGrammar(
        form=f"{before}the neighbours{weights}",
        rows=stated.vertices,
        low=1,
        comments="%",
        skip=stated.skip,
        weighted=stated.weighted,
    )
    header = Header(
        vertex_count=stated.vertices,
        first_id=1,
        undirected=True,
        weighted=stated.weighted and reading.weights,
    )
    return header, _edges(reading, lines, grammar, stated)


def _edges(reading: Reading, lines: LineStream, grammar: ListGrammar, stated: _Stated) -> Iterator[Chunk]:
    import numpy

    from gravel.stages.parsing.agreement import Agreement
    from gravel.stages.parsing.lists import too_few_rows
    from gravel.stages.parsing.text import read_lists

    agreement = Agreement(max(1, min(stated.vertices, 2 * reading.block_bytes)))
    chunks = read_lists(reading, lines, grammar)
    while True:
        try:
            chunk = next(chunks)
        except StopIteration as stop:
            rows: int = stop.value
            break
        once = agreement.once(chunk if reading.weights else Chunk(chunk.source, chunk.target, None))
        if len(once.source):
            yield once
    arcs, loops, imbalance = agreement.arcs, agreement.loops, agreement.imbalance()
    # Editors cut blank lines at the end.
    complete = arcs == 2 * stated.edges or arcs + loops == 2 * stated.edges
    if rows < stated.vertices and not (complete and rows):
        too_few_rows(lines, rows, stated.vertices)
    if not complete:
        lines.fail(
            f"the header says {stated.edges:,} edges, so {2 * stated.edges:,} neighbours; "
            f"{arcs:,} were found",
            hint="each edge is listed at both of its ends; the file is truncated, or its header is wrong",
        )
    unequal = numpy.flatnonzero(imbalance)
    if len(unequal):
        vertex = f"vertex {int(unequal[0]) + 1}" if len(imbalance) == stated.vertices else "a vertex"
        weight = " with the same weight" if stated.weighted and reading.weights else ""
        lines.fail(
            f"the lists do not agree: {vertex} lists a neighbour that does not list it{weight}, or the "
            "reverse",
            hint="each edge is listed at both of its ends; a directed graph needs another format",
        )
    yield from agreement.kept_loops(stated.edges)


def _counts(head: Head, location: str) -> Counts | None:
    for line in head.content(b"%")[:1]:
        stated = _stated(line)
        if stated:
            return Counts(stated.vertices, stated.edges)
    return None


READER = Reader(
    name="metis",
    title="METIS .graph",
    suffixes=(".graph", ".metis"),
    fits=_fits,
    read=_read,
    counts=_counts,
    on_device=True,
)
