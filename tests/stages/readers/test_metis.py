"""METIS .graph: weights of all kinds, blank lines, comments, and lists that do not agree."""

import numpy
import pytest

from gravel.stages.context import PlainContext
from gravel.stages.symmetrize import SymmetrizeParameters, symmetrize
from tests.stages.ingest_files import complains, read_text, refused

EDGES = [(1, 2), (1, 3), (5, 6)]


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("6 3\n2 3\n1\n1\n\n6\n5\n", None),
        ("% c\n6 3 0\n 2 3 \n%c\n1\n1\n\n6\n5", None),
        ("6 3 1\n2 7 3 8\n1 7\n1 8\n\n6 9\n5 9\n", [7, 8, 9]),
        ("6 3 10\n5 2 3\n5 1\n5 1\n5\n5 6\n5 5\n", None),
        ("6 3 011 2\n5 5 2 7 3 8\n5 5 1 7\n5 5 1 8\n5 5\n5 5 6 9\n5 5 5 9\n", [7, 8, 9]),
        ("6 3 100\n1 2 3\n1 1\n1 1\n1\n1 6\n1 5\n", None),
    ],
)
def test_formats(tmp_path, text, weights):
    got = read_text(tmp_path, "g.graph", text)
    assert got.pairs == EDGES
    assert got.ids == [1, 2, 3, 4, 5, 6]
    assert got.weights == weights
    assert got.undirected


def test_a_last_blank_line_may_be_missing(tmp_path):
    assert read_text(tmp_path, "g.graph", "3 1\n2\n1\n").ids == [1, 2, 3]


def test_loops_once_or_twice(tmp_path):
    assert read_text(tmp_path, "g.graph", "2 2\n1 2\n1\n").pairs == [(1, 2), (1, 1)]
    assert read_text(tmp_path, "g.graph", "2 2\n1 1 2\n1\n").pairs == [(1, 2), (1, 1)]
    twice = read_text(tmp_path, "g.graph", "2 4 1\n1 5 1 5 2 9 1 6 1 6\n1 9 2 5 2 5\n")
    assert twice.pairs == [(1, 2), (1, 1), (1, 1), (2, 2)]
    assert twice.weights == [9, 5, 6, 5]
    # By its header a loop counts half an edge: none is lost.
    assert read_text(tmp_path, "g.graph", "2 2\n1 2\n1 2\n").pairs == [(1, 2), (1, 1), (2, 2)]


def test_an_edge_that_is_listed_twice_at_each_end_is_two_edges(tmp_path):
    got = read_text(tmp_path, "g.graph", "2 2 1\n2 7 2 9\n1 9 1 7\n")
    assert (got.pairs, got.weights) == ([(1, 2), (1, 2)], [7, 9])


@pytest.mark.parametrize("choice", ["sum", "minimum", "error"])
@pytest.mark.parametrize("duplicates", ["remove", "keep"])
def test_a_graph_has_each_edge_once(tmp_path, choice, duplicates):
    edges = read_text(tmp_path, "g.graph", "3 2 1\n2 7\n1 7 3 9\n2 9\n").edges
    parameters = SymmetrizeParameters(weights=choice, duplicates=duplicates)
    graph = symmetrize(PlainContext(), parameters, input=edges)
    assert graph.arc_count == 4
    assert numpy.asarray(graph.weights).tolist() == [7, 7, 9, 9]


def test_a_line_longer_than_a_block(tmp_path):
    hub = " ".join(map(str, range(2, 200_002)))
    text = f"200001 200000\n{hub}\n" + "1\n" * 200_000
    got = read_text(tmp_path, "g.graph", text, memory="16MiB")
    assert got.pairs[:2] == [(1, 2), (1, 3)]
    assert len(got.pairs) == 200_000


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("3 2\n2 3\n1\n", 3, ["2 vertices", "says 3"]),
        ("3 2\n2 3\n1\n1\n1\n", 5, ["after the last vertex"]),
        ("3 2\n2 4\n1\n1\n", 2, ["'4'", "1 to 3"]),
        ("3 2\n2 0\n1\n1\n", 2, ["'0'"]),
        ("3 2\n2 x\n1\n1\n", 2, ["'x'"]),
        ("3 2\n2 -3\n1\n1\n", 2, ["negative"]),
        ("3 3\n2 3\n1\n1\n", 4, ["3 edges", "4 were found"]),
        ("3 2\n2 3\n3\n1\n", 4, ["do not agree"]),
        ("3 2 1\n2 5 3 6\n1 5\n1 7\n", 4, ["do not agree", "vertex 1", "with the same weight"]),
        ("3 2 1\n2 5 3\n1 5\n1 5\n", 2, ["no weight"]),
        ("3 2 7\n2 3\n1\n1\n", 1, ["METIS"]),
        ("3\n2 3\n1\n1\n", 1, ["METIS"]),
        ("x y\n", 1, ["METIS"]),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, text, line, words):
    complains(refused(tmp_path, "g.graph", text, format="metis"), line, *words)


def test_the_vertex_that_disagrees_is_named(tmp_path):
    error = refused(tmp_path, "g.graph", "4 2\n2 3\n1\n4\n\n")
    assert "vertex 1 lists" in error.message


def test_weights_that_are_left_out_need_not_agree(tmp_path):
    assert read_text(tmp_path, "g.graph", "2 1 1\n2 5\n1 6\n", weights=False).pairs == [(1, 2)]
