"""DIMACS .gr: arcs with weights, comments anywhere; a PACE file of the same suffix is another thing."""

import pytest

from tests.stages.ingest_files import complains, read_text, refused

GOOD = "c 9th DIMACS challenge\nc\np sp 4 3\na 1 2 803\nc between\na 2 1 803\na 4 1 158\n"


def test_arcs(tmp_path):
    got = read_text(tmp_path, "road.gr", GOOD)
    assert got.pairs == [(1, 2), (2, 1), (4, 1)]
    assert got.weights == [803.0, 803.0, 158.0]
    assert got.ids == [1, 2, 3, 4]
    assert not got.undirected


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("a 2 1 803", "2 1 803", 6, ["a source target weight"]),
        ("a 2 1 803", "a 2 1", 6, ["too few"]),
        ("a 2 1 803", "a 2 5 803", 6, ["'5'", "1 to 4"]),
        ("a 2 1 803", "e 2 1 803", 6, ["a source target weight"]),
        ("a 4 1 158\n", "", 6, ["3 edges", "2 were found"]),
        ("p sp 4 3", "p sp 4", 3, ["p sp vertices arcs"]),
        ("p sp 4 3\n", "", 3, ["p sp vertices arcs"]),
        ("p sp 4 3", "p sp 4 -3", 3, ["p sp vertices arcs"]),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, old, new, line, words):
    assert old in GOOD
    complains(refused(tmp_path, "road.gr", GOOD.replace(old, new, 1)), line, *words)


def test_only_comments(tmp_path):
    complains(refused(tmp_path, "road.gr", "c one\nc two\n"), 2, "problem line")


@pytest.mark.parametrize("memory", ["16MiB", "512MiB"])
def test_more_arcs_than_stated_are_told_at_the_end_whatever_the_memory(tmp_path, memory):
    text = "p sp 9 3\n" + "a 1 2 3\n" * 100_000
    error = refused(tmp_path, "more.gr", text, memory=memory)
    complains(error, 100_001, "the problem line says 3 edges; more than 3 were found")
