"""MatrixMarket coordinate files (Boisvert, Pozo, Remington, NISTIR 5935): a square matrix as a graph.

Row and column numbers are vertices 1..n; a symmetric matrix is an undirected graph whose edges are listed
once. Values are weights. Dense, complex, hermitian and skew-symmetric matrices are no graphs and are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from gravel.stages.parsing.head import Head, shown, whole_numbers
from gravel.stages.readers import Chunk, Counts, Header, Reader, Reading
from gravel.stages.streams.lines import BYTE_ORDER_MARK

if TYPE_CHECKING:
    from gravel.stages.streams import LineStream

BANNER = re.compile(rb"[\s%]*matrixmarket\s+matrix\s", re.IGNORECASE)
"""Also one that is written wrongly: `_banner` says best what is wrong with it."""

FIELDS = {"pattern": False, "real": True, "double": True, "integer": True, "unsigned-integer": True}


class _Banner(NamedTuple):
    weighted: bool
    symmetric: bool


def _fits(head: Head) -> bool:
    return BANNER.match(head.data.removeprefix(BYTE_ORDER_MARK)) is not None


def _read(reading: Reading) -> tuple[Header, Iterator[Chunk]]:
    from gravel.stages.parsing.pairs import PairGrammar
    from gravel.stages.parsing.text import read_stated
    from gravel.stages.streams import LineStream

    lines = LineStream(reading.stream)
    banner = _banner(lines.readline() or b"", lines)
    size: bytes | None = b"%"
    while size is not None and (not size.strip() or size.lstrip().startswith(b"%")):
        size = lines.readline()
    vertices, entries = _size(size, lines)
    header = Header(
        vertex_count=vertices,
        first_id=1,
        undirected=banner.symmetric,
        weighted=banner.weighted and reading.weights,
    )
    grammar = PairGrammar(
        form="row column value" if banner.weighted else "row column",
        columns=3 if banner.weighted else 2,
        comments="%",
        weight_column=2 if header.weighted else -1,
        low=1,
        high=vertices,
    )

    return header, read_stated(reading, lines, grammar, entries, says="the size line says", noun="entries")


def _banner(line: bytes, lines: LineStream) -> _Banner:
    words = line.decode("ascii", errors="replace").lower().split()
    if not line.lower().startswith(b"%%matrixmarket") or words[0] != "%%matrixmarket":
        near = not line.strip() or BANNER.match(line)
        lines.fail(
            f"found {shown(line)}; a MatrixMarket file starts with "
            "%%MatrixMarket matrix coordinate pattern|real|integer general|symmetric",
            hint="write two % before MatrixMarket, and nothing before them"
            if near
            else "if this is another format, name it with `format`",
        )
    if len(words) != 5:
        lines.fail(
            f"found {shown(line, 80)}, which has {len(words)} words; expected "
            "%%MatrixMarket matrix coordinate pattern|real|integer general|symmetric"
        )
    _, thing, layout, field, symmetry = words
    if thing != "matrix":
        lines.fail(f"found the object {thing!r}; only 'matrix' can be read as a graph")
    if layout == "array":
        lines.fail(
            "found a dense matrix (array); only coordinate matrices can be read as graphs",
            hint="write it in coordinate format",
        )
    if layout != "coordinate":
        lines.fail(f"found the layout {layout!r}; expected 'coordinate'")
    if field not in FIELDS:
        hint = "write it as real or pattern" if field == "complex" else None
        lines.fail(f"found values of the kind {field!r}; expected pattern, real or integer", hint=hint)
    if symmetry not in ("general", "symmetric"):
        known = symmetry in ("hermitian", "skew-symmetric")
        lines.fail(
            f"found the symmetry {symmetry!r}; expected general or symmetric",
            hint="write all entries out and declare the matrix general" if known else None,
        )
    return _Banner(FIELDS[field], symmetry == "symmetric")


def _size(line: bytes | None, lines: LineStream) -> tuple[int, int]:
    if line is None:
        lines.fail("the file ends before its size line; expected rows columns entries")
    numbers = whole_numbers(line.split())
    if numbers is None or len(numbers) != 3:
        lines.fail(f"found {shown(line)} for the size line; expected rows columns entries")
    rows, columns, entries = numbers
    if rows != columns:
        lines.fail(
            f"found a matrix of {rows:,} rows and {columns:,} columns; a graph needs a square one",
            hint="if it is a bipartite graph, number its columns after its rows and make it square",
        )
    return rows, entries


def _counts(head: Head, location: str) -> Counts | None:
    for line in head.content(b"%")[:1]:
        numbers = whole_numbers(line.split())
        if numbers is not None and len(numbers) == 3:
            return Counts(numbers[0], numbers[2])
    return None


READER = Reader(
    name="matrix_market",
    title="MatrixMarket",
    rank=10,
    suffixes=(".mtx", ".mm"),
    aliases=("mtx", "mm", "matrixmarket"),
    fits=_fits,
    read=_read,
    counts=_counts,
    on_device=True,
)
