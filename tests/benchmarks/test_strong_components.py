"""ECL-SCC beside gravel: a graph in the format that it reads, and what it prints, with a stand-in for it."""

from __future__ import annotations

import sys
from pathlib import Path
from subprocess import CalledProcessError

import numpy
import pytest

from tests.benchmarks.strong_components import by_ecl, write_ecl

READER = """\
import sys
import numpy
from scipy.sparse import csgraph, csr_array
given = numpy.fromfile(sys.argv[1], "<i4")
n, m = given[:2]
assert len(given) == 2 + n + 1 + m
offsets, columns = given[2 : n + 3], given[n + 3 :]
matrix = csr_array((numpy.ones(m), columns, offsets), (n, n))
count, _ = csgraph.connected_components(matrix, connection="strong")
print(f"input: {sys.argv[1]}\\nedges: {m}\\n\\nrunning algorithm\\ncompute time: 0.002500 s\\n")
print(f"result:\\n1 SCCs of size 3\\nnumber of SCCs: {count}")
"""

ROWS = numpy.array([0, 1, 2, 4, 4]), numpy.array([1, 2, 0, 3], numpy.uint32)
"""A cycle of three, and a vertex that it reaches."""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "ecl"
    path.write_text(f"#!{sys.executable}\n{READER}")
    path.chmod(0o755)
    return str(path)


def test_its_time_is_told_where_it_finds_as_many_components(tmp_path: Path, program: str) -> None:
    graph = tmp_path / "graph.egr"
    write_ecl(graph, *ROWS)
    assert by_ecl(program, graph, 2, 2) == 2.5
    with pytest.raises(AssertionError, match="finds 2 components"):
        by_ecl(program, graph, 3, 1)


def test_a_failure_is_one(tmp_path: Path, program: str) -> None:
    graph = tmp_path / "graph.egr"
    write_ecl(graph, ROWS[0], ROWS[1][:3])
    with pytest.raises(CalledProcessError):
        by_ecl(program, graph, 2, 1)


def test_more_than_32_bits_count_is_refused(tmp_path: Path) -> None:
    arcs = numpy.broadcast_to(numpy.uint32(0), 1 << 31)
    with pytest.raises(ValueError, match="2,147,483,648 arcs; ECL's format has up to 2,147,483,647"):
        write_ecl(tmp_path / "graph.egr", ROWS[0], arcs)
