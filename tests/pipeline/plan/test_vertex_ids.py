"""Ids of a subgraph's vertices are those of the whole graph: in sources, exports, pages and failures."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy
import pyarrow
import pytest

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.plan.vertex_ids import ids_outputs, ids_through
from gravel.stages.artifacts import Subset, VertexIds
from tests.pipeline.cli.test_run import gravel

WORKFLOW = """\
workflow: near
stages:
  edges: {stage: ingest, file: edges.txt}
  graph: {stage: symmetrize, input: edges}
  bfs: {stage: traverse, input: graph, sources: [FIRST]}
  near: {stage: subgraph, input: graph, within: bfs, hops: 2}
  order: {stage: reorder, input: near, method: random}
  part: {stage: subgraph, input: order, vertices: [LISTED]}
  again: {stage: traverse, input: part, sources: [LAST]}
  close: {stage: centrality, input: part, measure: closeness}
  check: {stage: verify, graph: part, traversal: again}
  summary: {stage: report, inputs: [again, close, check]}
"""

EDGES = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (5, 6)]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAVEL_CACHE", str(tmp_path / "cache"))
    return tmp_path


def write(names: Any, *, text: str = WORKFLOW, listed: Any = (1, 2, 3)) -> None:
    Path("edges.txt").write_text("".join(f"{names[u]} {names[v]}\n" for u, v in EDGES))
    text = text.replace("LISTED", ", ".join(str(names[v]) for v in listed))
    Path("w.yaml").write_text(text.replace("FIRST", str(names[0])).replace("LAST", str(names[3])))


def run(*options: str) -> Any:
    return gravel("run", "w.yaml", "--cluster", "inline", "--backend", "cpu", *options)


def export(name: str) -> list[dict[str, str]]:
    gravel("export", "w.yaml", name, "--to", "out.csv")
    with Path("out.csv").open() as lines:
        return list(csv.DictReader(lines))


@pytest.mark.parametrize(
    "names", [range(7), range(100, 800, 100), [*"abcdefg"]], ids=["from 0", "gaps", "texts"]
)
def test_ids_are_those_of_the_whole_graph(names: Any) -> None:
    write(names)
    assert run().return_value == 0
    found = {row["vertex"]: row["distance"] for row in export("again")}
    assert found == {str(names[1]): "2", str(names[2]): "1", str(names[3]): "0"}
    assert sorted((row["source"], row["target"]) for row in export("part")) == sorted(
        (str(names[u]), str(names[v])) for u, v in [(1, 2), (2, 1), (2, 3), (3, 2)]
    )
    assert {row["vertex"] for row in export("close")} == {str(names[v]) for v in (1, 2, 3)}
    page = next(Path("cache/runs").glob("*/report.json"))
    tables = json.loads(page.read_text())["reports"][0]["sections"]
    extremes = next(each for each in tables if each["title"] == "Fastest, median and slowest search")
    assert extremes["rows"][0][2] == names[3]


def test_graphs_numbered_from_0_and_from_1_share_all_but_the_ids() -> None:
    write(range(7))
    assert run().return_value == 0
    write(range(1, 8))
    second = run().output
    for stage in ("bfs", "near", "order", "part", "again", "close", "check"):
        assert f"{stage}: cached" in second
    assert {row["vertex"] for row in export("again")} == {"2", "3", "4"}


def test_vertices_that_are_not_in_the_subgraph() -> None:
    write(range(7))
    assert run().return_value == 0
    write(range(7), listed=(1, 2, 5))
    with pytest.raises(RequestError, match=r"vertex 5 is not in the graph \(the nearest id that is: 3\)"):
        gravel("plan", "w.yaml")
    write(range(7), listed=(0, 1))
    refused = run()
    assert refused.return_value != 0
    assert "source 3 is not in the graph (the nearest id that is: 1)" in refused.output


MEASURED = """
workflow: named
stages:
  edges: {stage: ingest, file: edges.txt}
  graph: {stage: symmetrize, input: edges}
  close: {stage: centrality, input: graph, measure: closeness, vertices: CHOSEN}
  ranks: {stage: centrality, input: graph, measure: pagerank, personalization: CHOSEN}
"""


@pytest.mark.parametrize(
    "names", [range(7), range(100, 800, 100), [f"P{v:05}" for v in range(7)]], ids=["from 0", "gaps", "texts"]
)
def test_measures_name_vertices_by_ids(names: Any) -> None:
    chosen = [names[5], names[2]]
    Path("list.txt").write_text("".join(f"{each}\n" for each in chosen))
    for given in (f"[{chosen[0]}, {chosen[1]}]", "{file: list.txt}"):
        write(names, text=MEASURED.replace("CHOSEN", given))
        assert run().return_value == 0
        assert [row["vertex"] for row in export("close")] == list(map(str, chosen))
        ranks = {row["vertex"]: float(row["pagerank"]) for row in export("ranks")}
        assert max(ranks, key=ranks.__getitem__) == str(names[5])
    missing, nearest = ("P00009", "the nearest ids that are: 'P00006'")
    if not isinstance(names[0], str):
        missing, nearest = "9999", f"the nearest id that is: {names[6]}"
    write(names, text=MEASURED.replace("CHOSEN", f"[{missing}]"))
    with pytest.raises(RequestError, match=rf"^vertex '?{missing}'? is not in the graph \({nearest}"):
        run()


def test_a_list_of_vertices_in_a_file() -> None:
    write(range(7), text=WORKFLOW.replace("vertices: [LISTED]", "vertices: {file: list.txt}"))
    Path("list.txt").write_text("3\n1\n3\n2\n")
    assert run().return_value == 0
    assert {row["vertex"] for row in export("again")} == {"1", "2", "3"}


def test_subgraphs_that_are_not_kept() -> None:
    write(range(10, 80, 10), text=WORKFLOW.replace("hops: 2", "hops: 2, keep: false"))
    assert run().return_value == 0
    with pytest.raises(RequestError, match="near is not kept"):
        gravel("export", "w.yaml", "again", "--to", "out.csv")
    page = next(Path("cache/runs").glob("*/report.json")).read_text()
    assert "Fastest, median" in page


def test_a_report_of_a_graph_and_its_subgraph_names_no_wrong_vertices() -> None:
    text = WORKFLOW.replace("inputs: [again, close, check]", "inputs: [bfs, again, close]")
    write(range(10, 80, 10), text=text)
    assert run().return_value == 0
    page = next(Path("cache/runs").glob("*/report.json"))
    sections = json.loads(page.read_text())["reports"][0]["sections"]
    extremes = next(each for each in sections if each["title"] == "Fastest, median and slowest search")
    assert {row[0]: row[2] for row in extremes["rows"]} == {"bfs": 10, "again": 40}


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (VertexIds(first=1, vertex_count=6), [2, 6]),
        (VertexIds(ids=numpy.array([3, 5, 8, 13, 21, 34]), vertex_count=6), [5, 34]),
    ],
)
def test_ids_through_two_subgraphs(ids: VertexIds, expected: list[int]) -> None:
    outer = Subset(vertices=numpy.array([1, 2, 5], numpy.uint32), vertex_count=3, parent_vertex_count=6)
    inner = Subset(vertices=numpy.array([0, 2], numpy.uint32), vertex_count=2, parent_vertex_count=3)
    found = ids_through([inner, outer, ids])
    assert found.vertex_count == 2
    assert numpy.asarray(found.ids).tolist() == expected
    assert ids_through([ids]) is ids


def test_texts_through_a_subgraph() -> None:
    texts = pyarrow.array(["ab", "cde", "f"], pyarrow.large_string())
    _, ends, text = texts.buffers()
    ids = VertexIds(
        vertex_count=3,
        text=numpy.frombuffer(text, numpy.uint8),
        offsets=numpy.frombuffer(ends, numpy.int64)[:4],
    )
    for chosen, expected in (([0, 2], b"abf"), ([1], b"cde")):
        subset = Subset(vertices=numpy.array(chosen), vertex_count=len(chosen), parent_vertex_count=3)
        found = ids_through([subset, ids])
        assert bytes(found.text) == expected
        assert found.offsets[0] == 0


def test_the_shortest_way_to_ids() -> None:
    upstream = {"report": ["again", "bfs"], "again": ["near"], "near": ["graph", "bfs"], "bfs": ["graph"]}
    upstream |= {"graph": ["edges"], "edges": []}
    kinds = {"edges": ["EdgeList", "VertexIds"], "near": ["Graph", "Subset"]}
    ways = {
        start: ids_outputs([start], upstream.__getitem__, lambda key: kinds.get(key, ["Graph"]))
        for start in ("again", "bfs", "near", "edges")
    }
    ids = ("edges", 1)
    assert ways == {"again": (("near", 1), ids), "bfs": (ids,), "near": (("near", 1), ids), "edges": (ids,)}
    assert ids_outputs(["graph"], {"graph": []}.__getitem__, lambda key: ["Graph"]) == ()
