"""LightGraphs text: the header says how many and whether directed."""

import pytest

from tests.stages.ingest_files import complains, read_text, refused


@pytest.mark.parametrize("direction", ["u", "d"])
def test_edges(tmp_path, direction):
    got = read_text(tmp_path, "g.jlg", f"4,3,{direction},graph,2,Int64,simplegraph\n1,2\n2, 3\n1,1\n")
    assert got.pairs == [(1, 2), (2, 3), (1, 1)]
    assert got.ids == [1, 2, 3, 4]
    assert got.undirected == (direction == "u")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("4,3,u,graph\n1,2\n2,3\n", 3, ["3 edges", "2 were found"]),
        ("4,1,u,graph\n1,2\n2,3\n", 3, ["1 edges", "more than 1 were found"]),
        ("4,1,u,graph\n1,5\n", 2, ["'5'", "1 to 4"]),
        ("4,1,u,graph\n0,1\n", 2, ["'0'"]),
        ("4,1,u,graph\n1 2\n", 2, ["whole number"]),
        ("4,1,u,graph\n1,2\n3,1,u,other\n2,3\n", 3, ["too many"]),
        ("4,1,x,graph\n1,2\n", 1, ["vertices,edges,u|d,name"]),
        ("4,1\n1,2\n", 1, ["vertices,edges,u|d,name"]),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, text, line, words):
    complains(refused(tmp_path, "g.jlg", text, format="lightgraphs"), line, *words)
