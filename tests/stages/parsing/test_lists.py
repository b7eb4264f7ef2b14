"""Lists of neighbours in many pieces, parsed side by side: rows follow one another as in the file."""

from __future__ import annotations

import random
from pathlib import Path

import numpy
import pytest

from gravel.stages.errors import StageError
from gravel.stages.ingest import read_edges

ROWS = 60_000


@pytest.fixture(scope="module")
def rows() -> list[list[int]]:
    generator = random.Random(5)
    made = [[generator.randrange(ROWS) for _ in range(generator.randrange(5))] for _ in range(ROWS)]
    made[31_000] = [generator.randrange(ROWS) for _ in range(300_000)]  # a row that spans pieces
    return made


def text(rows: list[list[int]]) -> list[bytes]:
    ends = (b"\n", b"\r\n", b" \n")
    return [b" ".join([b"%d" % each for each in row]) + ends[i % 3] for i, row in enumerate(rows)]


def test_rows_in_many_pieces(tmp_path: Path, rows: list[list[int]]) -> None:
    path = tmp_path / "web.graph-txt"
    path.write_bytes(b"%d\n" % ROWS + b"".join(text(rows)))
    edges, _ = read_edges(path, memory="16MiB")
    assert numpy.asarray(edges.target).tolist() == [each for row in rows for each in row]
    lengths = [len(row) for row in rows]
    numpy.testing.assert_array_equal(edges.source, numpy.repeat(numpy.arange(ROWS), lengths))


@pytest.mark.parametrize("row", [3, 30_000, 31_000, 31_001, ROWS - 1])
def test_the_line_of_a_fault(tmp_path: Path, rows: list[list[int]], row: int) -> None:
    lines = text(rows)
    lines[row] = b"1 2 x\n"
    path = tmp_path / "web.graph-txt"
    path.write_bytes(b"%d\n" % ROWS + b"".join(lines))
    with pytest.raises(StageError, match="found 'x' where a whole number belongs") as caught:
        read_edges(path, memory="16MiB")
    assert caught.value.line == row + 2


def test_rows_beyond_the_last_and_comments(tmp_path: Path, rows: list[list[int]]) -> None:
    lines = text([[each + 1 for each in row] for row in rows])
    lines[7:7] = [b"% note\n"] * 5
    lines[50_000:50_000] = [b"% 1 2 3\n", b"  % 4\n"]
    path = tmp_path / "lists.graph"
    arcs = sum(map(len, rows))
    for more, words in ((b"\n\n", "edges, so"), (b"\n1\n", "after the last vertex")):
        path.write_bytes(b"%d %d\n" % (ROWS, arcs) + b"".join(lines) + more)
        with pytest.raises(StageError, match=words) as caught:
            read_edges(path, memory="16MiB", format="metis")
        assert caught.value.line == ROWS + 10
