"""DIMACS shortest-path graphs (9th implementation challenge): `p sp n m`, arcs `a u v weight`, 1-based."""

from __future__ import annotations

from collections.abc import Iterator

from gravel.stages.parsing.head import Head
from gravel.stages.parsing.stated import counts_in, problem_in, read_problem
from gravel.stages.readers import Chunk, Counts, Header, Reader, Reading


def _fits(head: Head) -> bool:
    problem = problem_in(head)
    return problem is not None and problem.word == "sp"


def _read(reading: Reading) -> tuple[Header, Iterator[Chunk]]:
    from gravel.stages.parsing.pairs import PairGrammar
    from gravel.stages.parsing.stated import read_stated
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


def _counts(head: Head, location: str) -> Counts | None:
    return counts_in(head)


READER = Reader(
    name="dimacs",
    title="DIMACS .gr",
    suffixes=(".gr",),
    fits=_fits,
    read=_read,
    counts=_counts,
    on_device=True,
)
