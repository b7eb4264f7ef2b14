"""DIMACS shortest-path graphs (9th implementation challenge): `p sp n m`, arcs `a u v weight`, 1-based."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from gravel.stages.parsing.head import Head, shown, whole_numbers
from gravel.stages.readers import Chunk, Counts, Header, Reader, Reading

if TYPE_CHECKING:
    from gravel.stages.streams import LineStream


class Problem(NamedTuple):
    """Statement of the line."""

    word: str
    vertices: int
    edges: int


def problem_in(head: Head) -> Problem | None:
    """Return the problem line of a head, or None if its first line that is no comment is none."""
    for line in head.lines:
        fields = line.split()
        if not fields or fields[0] == b"c":
            continue
        return _problem(fields)
    return None


def stated_counts(head: Head, location: str) -> Counts | None:
    """Return the counts that the problem line of a head states."""
    problem = problem_in(head)
    return Counts(problem.vertices, problem.edges) if problem else None


def read_problem(lines: LineStream, words: tuple[str, ...], expected: str) -> Problem:
    """Read up to the problem line; raises StageError unless its word is one of these."""
    while (line := lines.readline()) is not None:
        fields = line.split()
        if not fields or fields[0] == b"c":
            continue
        problem = _problem(fields)
        if problem is None or problem.word not in words:
            lines.fail(
                f"found {shown(line)}; expected {expected}",
                hint="DIMACS files say p sp, PACE files p tw; another format can be named with `format`",
            )
        return problem
    lines.fail(f"the file ends before its problem line; expected {expected}")


def _problem(fields: list[bytes]) -> Problem | None:
    counts = whole_numbers(fields[2:])
    if len(fields) != 4 or fields[0] != b"p" or counts is None:
        return None
    return Problem(fields[1].decode("ascii", errors="replace"), *counts)


def _fits(head: Head) -> bool:
    problem = problem_in(head)
    return problem is not None and problem.word == "sp"


def _read(reading: Reading) -> tuple[Header, Iterator[Chunk]]:
    from gravel.stages.parsing.pairs import PairGrammar
    from gravel.stages.parsing.text import read_stated
    from gravel.stages.streams import LineStream

    lines = LineStream(reading.stream)
    problem = read_problem(lines, ("sp",), "p sp vertices arcs")
    grammar = PairGrammar(
        form="a source target weight",
        columns=3,
        comments="c",
        prefix="a",
        weight_column=2 if reading.weights else -1,
        low=1,
        high=problem.vertices,
    )

    chunks = read_stated(reading, lines, grammar, problem.edges, says="the problem line says")
    return Header(vertex_count=problem.vertices, first_id=1, weighted=reading.weights), chunks


READER = Reader(
    name="dimacs",
    title="DIMACS .gr",
    rank=50,
    suffixes=(".gr",),
    fits=_fits,
    read=_read,
    counts=stated_counts,
    on_device=True,
)
