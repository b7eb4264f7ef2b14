"""WebGraph's ASCIIGraph: 0-based rows of out-neighbours, blank rows, exactly n of them."""

import pytest

from tests.stages.ingest_files import complains, read_text, refused


def test_rows(tmp_path):
    got = read_text(tmp_path, "cnr.graph-txt", "5\n1 2 \n\n0\n3\n\n")
    assert got.pairs == [(0, 1), (0, 2), (2, 0), (3, 3)]
    assert got.ids == [0, 1, 2, 3, 4]
    assert not got.undirected


def test_content_alone_tells_it(tmp_path):
    assert read_text(tmp_path, "cnr", "3\n1 2\n\n0\n").pairs == [(0, 1), (0, 2), (2, 0)]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("3\n1\n2\n", 3, ["2 vertices", "says 3"]),
        ("3\n1\n2\n0\n0\n", 5, ["after the last vertex"]),
        ("3\n1\n3\n0\n", 3, ["'3'", "0 to 2"]),
        ("3\n1\n-1\n0\n", 3, ["negative"]),
        ("3\n1\n1;2\n0\n", 3, ["'1;2'"]),
        ("three\n1\n", 1, ["number of vertices"]),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, text, line, words):
    complains(refused(tmp_path, "g.graph-txt", text, format="webgraph"), line, *words)


def test_a_blank_after_the_last_number_ends_no_earlier(tmp_path):
    assert read_text(tmp_path, "g.graph-txt", "3\n1 2\n\n0 ").pairs == [(0, 1), (0, 2), (2, 0)]
