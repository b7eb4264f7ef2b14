"""The problem line of DIMACS and PACE files: `p`, a word for the problem, vertices, edges."""

from __future__ import annotations

from typing import NamedTuple

from gravel.stages.parsing.head import Head, is_integer, shown
from gravel.stages.readers import Counts
from gravel.stages.streams import LineStream


class Problem(NamedTuple):
    """What the line states."""

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


def counts_in(head: Head) -> Counts | None:
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
    if len(fields) != 4 or fields[0] != b"p" or not all(map(is_integer, fields[2:])):
        return None
    if max(map(len, fields[2:])) > 19 or int(fields[2]) >= 1 << 63:
        return None
    return Problem(fields[1].decode("ascii", errors="replace"), int(fields[2]), int(fields[3]))
