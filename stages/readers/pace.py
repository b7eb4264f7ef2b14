"""PACE graphs: `p tw n m`, edges `u v`, 1-based, undirected. DIMACS shares its suffix and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from gravel.stages.parsing.head import Head
from gravel.stages.readers import Chunk, Header, Reader, Reading
from gravel.stages.readers.dimacs import problem_in, read_problem, stated_counts

PROBLEMS = ("tw", "td", "tww", "ds", "vc", "cep")
"""The challenges' words; the files differ in nothing else."""


def _fits(head: Head) -> bool:
    problem = problem_in(head)
    return problem is not None and problem.word in PROBLEMS


def _read(reading: Reading) -> tuple[Header, Iterator[Chunk]]:
    from gravel.stages.parsing.pairs import PairGrammar
    from gravel.stages.parsing.text import read_stated
    from gravel.stages.streams import LineStream

    lines = LineStream(reading.stream)
    problem = read_problem(lines, PROBLEMS, "p tw vertices edges")
    grammar = PairGrammar(form="u v", comments="c", low=1, high=problem.vertices)

    chunks = read_stated(reading, lines, grammar, problem.edges, says="the problem line says")
    return Header(vertex_count=problem.vertices, first_id=1, undirected=True), chunks


READER = Reader(
    name="pace",
    title="PACE .gr",
    rank=60,
    suffixes=(".gr",),
    fits=_fits,
    read=_read,
    counts=stated_counts,
    on_device=True,
)
