"""A run gives results of its stages as the objects of the library."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import gravel
from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.progress.events import Event
from gravel.running import NotebookDisplay, display_for, in_notebook

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
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    (folder / "edges.txt").write_text("10 20\n20 30\n40 50\n")
    (folder / "w.yaml").write_text(WORKFLOW.replace("edges.txt", str(folder / "edges.txt")))
    return gravel.run(folder / "w.yaml", cache=folder / "cache", cluster="inline", set={"seed": 2})


def test_stages_are_listed(run):
    assert list(run) == ["edges", "graph", "ordered", "packed", "bfs", "one", "parts", "check"]
    assert len(run) == 8
    assert len(repr(run)) < 500


def test_results_are_objects_of_the_library(run):
    search = run["one"]
    assert search.source == 20
    assert search.path_to(30) == [20, 30]
    assert search.to_pandas()["distance"].tolist() == [1, 0, 1, -1, -1]
    assert search.strategy
    assert search.reason
    assert search.milliseconds > 0
    assert "<svg" in search._repr_html_()
    assert run["parts"].sizes.tolist() == [3, 2]
    assert run["parts"].component[50] == 40
    assert run["graph"].bfs(10).levels == [1, 1, 1]
    assert run["edges"].vertex_count == 5
    assert all(check["passed"] for check in run["check"].checks)


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


def test_progress_is_shown_where_somebody_waits(monkeypatch, capsys):
    assert display_for(False) is None
    assert display_for(None) is None
    assert display_for(True) is not None
    assert not in_notebook()
    shell = SimpleNamespace(kernel=object())
    shown = []
    handle = SimpleNamespace(update=lambda data, raw: shown.append(data["text/plain"]))
    display = SimpleNamespace(display=lambda data, raw, display_id: handle)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    display = display_for(None)
    assert isinstance(display, NotebookDisplay)
    display.handle(Event("run_started", {"run": "r", "workflow": "w", "stages": 2, "folder": "f"}))
    display.handle(Event("stage_cached", {"stage": "edges"}))
    display.handle(Event("stage_started", {"stage": "bfs"}))
    display.handle(Event("stage_progress", {"stage": "bfs", "done": 1, "total": 4}))
    display.tick()
    assert shown[-1] == "1 of 2 stage runs done; bfs 25%"
    display.handle(Event("note", {"message": "the file changed"}))
    display.handle(Event("stage_finished", {"stage": "bfs"}))
    display.close()
    assert shown[-1] == "2 of 2 stage runs done\nthe file changed"
    assert capsys.readouterr().out == ""


def test_a_file_of_data_is_searched_by_the_default_workflow(tmp_path):
    (tmp_path / "edges.txt").write_text("ann bob\nbob cy\ndan ed\n")
    options = {"cache": tmp_path / "cache", "cluster": "inline"}
    run = gravel.run(tmp_path / "edges.txt", sources="bob", **options)
    [search] = [each for each in (run[name] for name in run) if isinstance(each, gravel.Search)]
    assert (search.source, search.levels) == ("bob", [1, 2])
    run = gravel.run(tmp_path / "edges.txt", sources=["ann", "ed"], **options)
    [searches] = [each for each in (run[name] for name in run) if isinstance(each, list)]
    assert [each.levels for each in searches] == [[1, 1, 1], [1, 1]]
    (tmp_path / "w.yaml").write_text(WORKFLOW)
    with pytest.raises(RequestError, match=r"w\.yaml is a workflow"):
        gravel.run(tmp_path / "w.yaml", sources="ann", **options)


def test_ids_with_commas_are_sources(tmp_path):
    (tmp_path / "edges.csv").write_text('source,target\n"a, b",c\nc,"d ""e"""\n')
    run = gravel.run(
        tmp_path / "edges.csv", sources=["a, b", 'd "e"'], cache=tmp_path / "cache", cluster="inline"
    )
    [searches] = [each for each in (run[name] for name in run) if isinstance(each, list)]
    assert [each.source for each in searches] == ["a, b", 'd "e"']
