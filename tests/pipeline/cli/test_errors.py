"""Searches and measures that cannot be: refused with the place, the numbers and what would fit."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import gravel
from gravel.pipeline.cli import main
from gravel.pipeline.core import memory

TEXT = "10 11\n11 12\n12 10\n12 13\n"

GIVEN = """\
workflow: bad
stages:
  edges: {stage: ingest, file: edges.txt}
  graph: {stage: symmetrize, input: edges, %s}
  found: {stage: %s, input: graph, %s}
"""

BFS = "traverse", "strategy: auto"
CLOSENESS = "centrality", "measure: closeness"


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Return what plans or runs a workflow; it answers with the exit code and what was printed."""
    monkeypatch.chdir(tmp_path)

    def ask(verb: str, stage: str, given: str, *, text: str = TEXT, graph: str = "direction: both") -> Any:
        Path("edges.txt").write_text(text)
        Path("bad.yaml").write_text(GIVEN % (graph, stage, given))
        with pytest.raises(SystemExit) as ended:
            main([verb, "bad.yaml", "--cache", "cache", "--backend", "cpu"])
        printed = capsys.readouterr()
        return ended.value.code, printed.out + printed.err

    return ask


ZERO = [
    ("traverse", "sources: []"),
    ("traverse", "sources: {random: 0}"),
    ("traverse", "sources: {vertices: []}"),
    ("traverse", "algorithm: shortest_paths, sources: []"),
    ("centrality", "measure: closeness, vertices: []"),
    ("centrality", "measure: closeness, vertices: {random: 0}"),
    ("centrality", "measure: betweenness, sources: {random: 0}"),
    ("paths", "pairs: []"),
    ("paths", "pairs: {random: 0}"),
]


@pytest.mark.parametrize(("stage", "given"), ZERO)
def test_zero_sources(asked: Any, stage: str, given: str) -> None:
    code, printed = asked("plan", stage, given)
    assert code == 2
    assert "bad.yaml:5:" in printed
    assert "at least 1" in printed


PLANNED = [
    # The vertices of a file of 24 bytes are guessed before it is read.
    (
        "traverse",
        "algorithm: shortest_paths",
        "no weights, which algorithm shortest_paths needs; symmetrize with",
    ),
    ("paths", "pairs: {random: 1}, by: weights", "no weights, which paths by weights need; symmetrize with"),
    ("paths", "pairs: {random: 1}, memory: 10", "bytes, and `memory` is 10"),
    ("centrality", "measure: closeness, memory: 10", "bytes beside the graph, and `memory` is 10"),
    ("centrality", "measure: betweenness, memory: 10", "bytes beside the graph, and `memory` is 10"),
]


@pytest.mark.parametrize(("stage", "given", "message"), PLANNED)
@pytest.mark.parametrize("verb", ["plan", "run"])
def test_what_its_parameters_do_not_allow_is_refused_with_file_and_line(
    asked: Any, verb: str, stage: str, given: str, message: str
) -> None:
    code, printed = asked(verb, stage, given)
    assert code == 2
    assert "bad.yaml:5:3: error: found cannot run: " in printed
    assert "memory" in message or "memory" not in printed[printed.index("error:") :]
    assert message in printed
    assert "started" not in printed


@pytest.mark.parametrize("verb", ["plan", "run"])
def test_shortest_paths_have_one_name(asked: Any, verb: str) -> None:
    code, printed = asked(verb, "traverse", "algorithm: sssp")
    assert code == 2
    assert "bad.yaml:5:" in printed
    assert "is 'sssp', and its name here is shortest_paths: use shortest_paths" in printed


def test_a_directed_graph_for_a_strategy_of_undirected_ones(asked: Any) -> None:
    code, printed = asked("plan", "traverse", "strategy: direction_optimizing", graph="direction: as_given")
    assert code == 2
    assert "bad.yaml:5:3" in printed
    assert "strategy direction_optimizing needs a symmetric graph; a directed one takes auto" in printed


def test_labels_that_no_disk_holds(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory.shutil, "disk_usage", lambda folder: SimpleNamespace(free=3))
    for verb in ("plan", "run"):
        code, printed = asked(verb, "traverse", "sources: {random: 3}, output: both")
        assert code == 2
        assert "bad.yaml:" in printed
        assert "and the disk of the cache" in printed
        assert "has 3 B free" in printed
        assert "results of up to 12 B may fit if their labels are small" in printed
        assert "started" not in printed
    monkeypatch.undo()


def test_results_that_are_not_stored_need_no_disk(tmp_path: Path) -> None:
    from gravel.stages.sizes import Extent, Need

    needs = {"large": Need(1, 0, (Extent("Traversal", bytes=1 << 70),))}
    with pytest.raises(memory.WorkflowError, match="the results of large may have"):
        memory.refuse_what_no_disk_holds(needs, tmp_path / "none" / "yet")
    memory.refuse_what_no_disk_holds({"small": Need(1, 0, (Extent("Graph", bytes=9),))}, tmp_path)


def test_no_more_sources_are_drawn_than_there_are_vertices(asked: Any) -> None:
    code, printed = asked("plan", "traverse", "sources: {random: 1000000000000000}")
    assert code == 0, printed


WEIGHTS = [
    ("10 11 2\n11 12 -3\n", "minimum", "has the weight -3; shortest paths take weights that are finite", 1),
    ("10 11 2\n11 12 -0.5\n", "minimum", "has the weight -0.5; shortest paths", 1),
    ("10 11 2\n11 12 1e39\n", "minimum", "the weight 1e+39 of edge 1 is beyond what float32 holds", 1),
]


@pytest.mark.parametrize(("text", "weights", "message", "code"), WEIGHTS)
@pytest.mark.parametrize("direction", ["out", "in"])
def test_weights_that_no_search_takes(asked, text, weights, message, code, direction) -> None:
    given = f"algorithm: shortest_paths, sources: [10], direction: {direction}"
    graph = f"direction: as_given, weights: {weights}"
    found, printed = asked("run", "traverse", given, text=text, graph=graph)
    assert found == code
    assert message in printed
    assert "(vertices, ids in the input: 11, 12)" in printed
    assert "hint:" in printed


@pytest.mark.parametrize("weight", ["nan", "inf", "-inf", "1e400"])
def test_weights_that_are_no_numbers_are_refused_with_their_line(asked: Any, weight: str) -> None:
    text = f"10 11 2\n11 12 {weight}\n"
    code, printed = asked("run", "traverse", "algorithm: shortest_paths", text=text, graph="weights: minimum")
    assert code == 1
    assert f"edges.txt:2: found '{weight}' where a weight belongs" in printed


def test_sums_of_weights_that_overflow(asked: Any) -> None:
    text = "10 11 4294967295\n10 11 4294967295\n"
    code, printed = asked("run", "traverse", "algorithm: shortest_paths", text=text, graph="weights: sum")
    assert code == 1
    assert "add up to more than uint32 holds, 4294967295" in printed


def test_a_source_that_is_listed_twice_is_searched_from_twice(asked: Any) -> None:
    code, printed = asked("run", "traverse", "sources: [11, 11]")
    assert code == 0, printed
    found = gravel.run("bad.yaml", cache="cache", backend="cpu", cluster="inline")["found"]
    assert [search.source for search in found] == [11, 11]
    assert all(search.distance.to_numpy().tolist() == [1, 0, 1, 2] for search in found)


def test_a_vertex_that_is_listed_twice_is_measured_once(asked: Any) -> None:
    code, printed = asked("plan", "centrality", "measure: closeness, vertices: [1, 1]")
    assert code == 2
    assert "bad.yaml:5:3: error: stage centrality: vertex 1 is listed twice" in printed


def test_depths_beyond_the_diameter(asked: Any) -> None:
    code, printed = asked("run", "centrality", "measure: neighbourhood, hops: 1000000000000")
    assert code == 0, printed
    code, printed = asked("run", "traverse", "max_depth: 2147483647")
    assert code == 0, printed
    code, printed = asked("plan", "traverse", "max_depth: 2147483648")
    assert code == 2
    assert "at most 2147483647 is expected" in printed


@pytest.mark.parametrize("form", ["compress", "partition"])
def test_a_centrality_follows_arcs_alone_where_rows_are_no_columns(asked: Any, form: str) -> None:
    given = f"direction: as_given}}\n  packed: {{stage: {form}, input: graph"
    code, printed = asked(
        "plan",
        "centrality",
        "measure: closeness}\n  back: {stage: centrality, input: packed, measure: closeness, direction: in",
        graph=given,
    )
    assert code == 2
    assert "bad.yaml:7:" in printed
    assert f"direction in needs rows as columns, and {form} keeps none" in printed


def test_a_file_of_a_later_stage_is_missed_before_anything_begins(asked: Any) -> None:
    code, printed = asked("run", "report", "published: nowhere.yaml")
    assert code == 2
    assert "bad.yaml:5:" in printed
    assert "there is no file" in printed
    assert "started" not in printed
