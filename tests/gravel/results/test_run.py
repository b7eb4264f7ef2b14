"""A run gives results of its stages as the objects of the library."""

from __future__ import annotations

from pathlib import Path

import pytest

import gravel

WORKFLOW = """
workflow: w
parameters: {seed: 1}
matrix: {order: [original, degree], layout: [csr, varint]}
stages:
  edges: {stage: ingest, file: edges.txt}
  graph: {stage: symmetrize, input: edges}
  ordered: {stage: reorder, input: graph, method: "${order}"}
  packed: {stage: compress, input: ordered, codec: "${layout}"}
  bfs: {stage: traverse, input: packed, sources: [10, 40]}
  one: {stage: traverse, input: graph, sources: [20]}
  parts: {stage: traverse, input: graph, algorithm: components}
  check: {stage: verify, graph: graph, traversal: one}
  near: {stage: traverse, input: graph, sources: [20], output: distance}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    (folder / "edges.txt").write_text("10 20\n20 30\n40 50\n")
    (folder / "w.yaml").write_text(WORKFLOW.replace("edges.txt", str(folder / "edges.txt")))
    return gravel.run(folder / "w.yaml", cache=folder / "cache", cluster="inline", set={"seed": 2})


def test_stages_are_listed(run):
    assert list(run) == ["edges", "graph", "ordered", "packed", "bfs", "one", "parts", "check", "near"]
    assert len(run) == 9
    assert len(repr(run)) < 500


def test_results_are_objects_of_the_library(run):
    search = run["one"]
    assert search.source == 20
    assert search.path_to(30) == [20, 30]
    assert search.to_arrow()["distance"].to_pylist() == [1, 0, 1, None, None]
    assert search.strategy
    assert search.reason
    assert search.milliseconds > 0
    assert "<svg" in search._repr_html_()
    assert run["near"].to_arrow()["distance"].to_pylist() == [1, 0, 1, None, None]
    assert run["parts"].sizes.tolist() == [3, 2]
    assert run["parts"].component[50] == 40
    assert run["graph"].bfs(10).levels == [1, 1, 1]
    assert run["edges"].vertex_count == 5
    assert all(check["passed"] for check in run["check"].checks)


def test_a_graph_that_does_not_fit_is_refused(run, monkeypatch):
    monkeypatch.setattr("gravel.memory.available_bytes", lambda: 10)
    with pytest.raises(gravel.NotEnoughMemory, match="the graph of graph"):
        run["graph"]


def test_a_matrix_is_chosen_from(run):
    with pytest.raises(ValueError, match=r"4 results \(order is degree, original; layout is csr, varint\)"):
        run["bfs"]
    chosen = run.result("bfs", where={"order": "degree", "layout": "varint"})
    assert [search.source for search in chosen] == [10, 40]
    assert chosen[1].path_to(50) == [40, 50]
    assert len(run.results("bfs")) == 4
    assert list(run.results("bfs", where={"order": ["degree"], "layout": "csr"})) == [
        "bfs[order=degree,layout=csr]"
    ]
    packed = run["packed[order=degree,layout=varint]"]
    assert (packed.info().layout, packed.bfs(10).levels) == ("varint", [1, 1, 1])


def test_names_that_are_not_there(run):
    with pytest.raises(KeyError, match=r"no stage 'bsf'; did you mean 'bfs'\?"):
        run["bsf"]
    with pytest.raises(KeyError, match="no axis 'color' reaches 'bfs'; order, layout do"):
        run.result("bfs", where={"color": 1})
    with pytest.raises(KeyError, match=r"order is not 'rcm'.*degree, original"):
        run.result("bfs", where={"order": "rcm"})


def test_a_result_that_is_gone(run, tmp_path):
    import shutil

    shutil.copytree(run.folder.parents[1], tmp_path / "cache")
    Path(tmp_path, "w.yaml").write_text(Path(run.folder.parents[2], "w.yaml").read_text())
    again = gravel.run(tmp_path / "w.yaml", cache=tmp_path / "cache", cluster="inline")
    shutil.rmtree(tmp_path / "cache" / "artifacts")
    with pytest.raises(ValueError, match=r"one is not in the cache.*keep=\['one'\]"):
        again["one"]


def test_results_of_a_stage_that_failed_in_part(tmp_path):
    (tmp_path / "good.txt").write_text("1 2\n")
    (tmp_path / "bad.txt").write_text("1 x y z\n")
    file = tmp_path / "sets.yaml"
    file.write_text(
        "workflow: sets\n"
        "matrix: {file: [good.txt, bad.txt]}\n"
        "stages:\n"
        '  edges: {stage: ingest, file: "${file}", format: edge_list, ids: integer}\n'
        "  graph: {stage: symmetrize, input: edges}\n"
    )
    with pytest.raises(gravel.RunFailed) as caught:
        gravel.run(file, cache=tmp_path / "cache", progress=False)
    found = caught.value.run.results("graph")
    assert list(found) == ["graph[file=good.txt]"]
    assert list(found.failed) == ["graph[file=bad.txt]"]
    assert "skipped" in found.failed["graph[file=bad.txt]"]
    assert repr(found) == "<gravel.Results: graph[file=good.txt]; without one: graph[file=bad.txt]>"
