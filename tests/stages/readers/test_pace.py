"""PACE .gr: `p tw n m` and bare pairs, undirected, isolated vertices counted."""

import pytest

from tests.stages.ingest_files import complains, read_text, refused

GOOD = "c a comment\np tw 5 3\n1 2\nc more\n2 3\n4 2\n"


def test_edges(tmp_path):
    got = read_text(tmp_path, "g.gr", GOOD)
    assert got.pairs == [(1, 2), (2, 3), (4, 2)]
    assert got.ids == [1, 2, 3, 4, 5]
    assert got.undirected
    assert got.weights is None
    assert any("PACE" in line for line in got.log)


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("2 3", "a 2 3", 5, ["'a'"]),
        ("2 3", "2 6", 5, ["'6'", "1 to 5"]),
        ("2 3", "2 0", 5, ["'0'"]),
        ("2 3", "2 3 1", 5, ["too many"]),
        ("4 2\n", "", 5, ["3 edges", "2 were found"]),
        ("4 2\n", "4 2\n4 1\n", 7, ["3 edges", "more than 3 were found"]),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, old, new, line, words):
    complains(refused(tmp_path, "g.gr", GOOD.replace(old, new, 1)), line, *words)


def test_forced_as_dimacs_it_is_refused(tmp_path):
    complains(refused(tmp_path, "g.gr", GOOD, format="dimacs"), 2, "p sp")
