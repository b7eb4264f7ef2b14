"""Edges of a file that states how many it has: a file that ends too early is refused, or said to be short."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from gravel.stages.parsing.head import Head, is_integer, shown
from gravel.stages.parsing.pairs import PairGrammar
from gravel.stages.parsing.text import read_pairs
from gravel.stages.readers import Counts
from gravel.stages.streams import LineStream

if TYPE_CHECKING:
    from gravel.stages.readers import Chunk, Reading
    from gravel.stages.streams import LineStream

__all__ = ["read_stated"]


def read_stated(
    reading: Reading,
    lines: LineStream,
    grammar: PairGrammar,
    stated: int,
    *,
    says: str,
    noun: str = "edges",
    exact: bool = True,
) -> Iterator[Chunk]:
    """Yield the edges of all lines that are left, and compare their number with the stated one.

    `says` names what states it ("the header says"). Where the file has fewer edges, a last line without an
    end may be cut within a number: it is none of them. Raises StageError at the file's end for fewer, unless
    the reading allows it, and for more if the number is `exact`; else both are remarked on.
    """
    found = 0
    lines.holds_back = True
    for chunk in read_pairs(reading, lines, grammar):
        found += len(chunk.source)
        # The text is read to its end all the same, so that the same line is named whatever a chunk holds.
        if not exact or found <= stated:
            yield chunk
    cut = lines.last_line
    if cut is not None and found + 1 >= stated and (not exact or found <= stated):
        # The file is whole up to this line, which merely lacks its end.
        lines.take_last_line()
        for chunk in read_pairs(reading, lines, grammar):
            found += len(chunk.source)
            yield chunk
        cut = None
    if found < stated:
        _short(reading, lines, found, stated, says, noun, cut)
    elif found > stated and exact:
        lines.fail(
            f"{says} {stated:,} {noun}; more than {stated:,} were found",
            hint="the file holds more than one graph, or what it says of itself is wrong",
        )
    elif found > stated:
        reading.remark(f"{lines.stream.location}: {says} {stated:,} {noun}; the file has {found:,}")


def _short(
    reading: Reading, lines: LineStream, found: int, stated: int, says: str, noun: str, cut: bytes | None
) -> None:
    within = ", and the file ends in the middle of a line" if cut is not None else ""
    message = f"{says} {stated:,} {noun}; {found:,} were found{within}"
    if not reading.allow_short:
        lines.fail(
            message,
            line=lines.line + (cut is not None),
            hint="the file is truncated, or what it says of itself is wrong: get it again, or set "
            "allow_short: true to go on with what is there",
        )
    dropped = ", which is left out" if cut is not None else ""
    reading.remark(f"{lines.stream.location}: {message}{dropped}; it is used since allow_short is true")


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
