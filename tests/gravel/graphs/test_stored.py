"""Files as graphs through the cache that workflows use, one or many; graphs in folders of their own."""

from __future__ import annotations

import datetime
import json
import uuid
from pathlib import Path

import networkx
import numpy
import pyarrow
import pyarrow.parquet
import pytest

import gravel
from gravel.pipeline.gc.collection import Policy, collect
from gravel.pipeline.records.past_runs import find_run, list_runs
from gravel.pipeline.store.cache import Cache
from tests.gravel.samples import by_id, random_edges
from tests.web_server import WebServer

DAY = datetime.date(2026, 1, 1)

WORKFLOW = """
workflow: shared
stages:
  edges: {stage: ingest, file: edges.txt}
  graph: {stage: symmetrize, input: edges}
  bfs: {stage: traverse, input: graph, sources: [10]}
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAVEL_CACHE", str(tmp_path / "cache"))
    Path("edges.txt").write_text("10 20\n20 30\n40 50\n")
    Path("shared.yaml").write_text(WORKFLOW)
    Path("parts").mkdir()
    Path("parts/a.txt").write_text("10 20\n20 30\n")
    Path("parts/b.txt").write_text("30 40\n")


def states(run: str) -> dict[str, str]:
    record = json.loads(Path("cache", "runs", run, "run.json").read_text())
    return {stage["key"]: stage["state"] for stage in record["stages"]}


def test_a_workflow_finds_what_a_notebook_read():
    assert gravel.graph("edges.txt").bfs(10).path_to(30) == [10, 20, 30]
    run = gravel.run("shared.yaml", cluster="inline")
    assert states(run.name) == {"edges": "cached", "graph": "cached", "bfs": "computed"}


def test_a_notebook_finds_what_a_workflow_read():
    run = gravel.run("shared.yaml", cluster="inline")
    assert len(gravel.graph(Path("edges.txt"))) == 5
    assert [path.name for path in Path("cache", "runs").iterdir()] == [run.name]


def test_a_graph_of_a_file_leaves_a_run_only_if_it_computes_and_never_the_last():
    run = gravel.run("shared.yaml", cluster="inline")
    gravel.graph("edges.txt", directed=True)
    root = Path("cache")
    computed, first = list_runs(root, exports=True)
    assert (computed["kind"], first["run"]) == ("export", run.name)
    assert find_run(root, "last")[0].name == run.name
    assert [record["run"] for record in list_runs(root)] == [run.name]
    collect(Cache(root), Policy(), delete=True)
    gravel.graph("edges.txt", directed=True)
    assert len(list_runs(root, exports=True)) == 2, "its results were removed"


def test_without_a_cache():
    graph = gravel.graph("edges.txt", cache=False, directed=True)
    assert not Path("cache").exists()
    assert graph.bfs(10).levels == [1, 1, 1]
    assert graph.bfs(30).reached == 1


def test_a_cache_that_is_named():
    gravel.graph("edges.txt", cache="other")
    assert Path("other", "runs").is_dir()
    assert not Path("cache").exists()


@pytest.mark.parametrize("cache", [None, False])
def test_a_file_that_holds_no_graph(cache):
    Path("bad.txt").write_text("1 2\n3\n")
    with pytest.raises(ValueError, match=r"bad.txt:2: found '3', which has too few columns"):
        gravel.graph("bad.txt", cache=cache)


KINDS = {
    "consecutive": lambda: gravel.graph(([5, 6], [6, 7])),
    "gaps": lambda: gravel.graph(random_edges()),
    "strings": lambda: gravel.graph((["b", "c"], ["a", "b"])),
    "dates": lambda: gravel.graph(([DAY], [DAY + datetime.timedelta(3)])),
    "UUIDs": lambda: gravel.graph(([uuid.UUID(int=5)], [uuid.UUID(int=3)])),
    "nodes": lambda: gravel.graph(networkx.Graph([("z", "a"), ("a", "b")])),
    "ordered": lambda: gravel.graph(random_edges()).reorder("random"),
    "compressed": lambda: gravel.graph(random_edges()).reorder("degree").compress("blocks"),
    "directed": lambda: gravel.graph(random_edges(), directed=True),
}


@pytest.mark.parametrize("kind", KINDS)
def test_saved_graphs_come_back(kind):
    graph = KINDS[kind]()
    folder = graph.save("saved")
    source = graph.vertices[0].as_py()
    for back in (gravel.load("saved"), gravel.Graph.load(folder), gravel.graph("saved")):
        assert back.info() == graph.info() or kind == "nodes"
        assert by_id(back.bfs(source)) == by_id(graph.bfs(source))


def test_saving_over_something_is_refused():
    gravel.graph(([1], [2])).save("saved")
    with pytest.raises(FileExistsError, match="saved"):
        gravel.graph(([1], [2])).save("saved")
    mixed = gravel.graph(networkx.Graph([("z", 1)]))
    with pytest.raises(TypeError, match="Arrow has no type"):
        mixed.save("mixed")
    assert sorted(path.name for path in Path().iterdir()) == ["edges.txt", "parts", "saved", "shared.yaml"]


def test_damage_is_noticed():
    with pytest.raises(FileNotFoundError, match=r"no graph.json"):
        gravel.load("edges.txt")
    gravel.graph(random_edges()).save("saved")
    (shard,) = Path("saved/graph/column_indices").rglob("0")
    shard.write_bytes(bytes([shard.read_bytes()[0] ^ 1]) + shard.read_bytes()[1:])
    with pytest.raises(ValueError, match="is damaged"):
        gravel.load("saved")
    gravel.graph(([DAY], [DAY + datetime.timedelta(1)])).save("days")
    kept = Path("days/ids.arrow").read_bytes()
    Path("days/ids.arrow").write_bytes(kept[:-20] + b"x" + kept[-19:])
    with pytest.raises(ValueError, match="ids are not those"):
        gravel.load("days")


def test_a_workflow_starts_from_a_saved_graph():
    ends = random_edges()
    graph = gravel.graph(ends)
    graph.save("saved")
    source = int(ends[0][0])
    Path("w.yaml").write_text(
        "workflow: w\nstages:\n  graph: {stage: saved, folder: saved}\n"
        f"  bfs: {{stage: traverse, input: graph, sources: [{source}]}}\n"
        "  check: {stage: verify, graph: graph, traversal: bfs}\n"
    )
    run = gravel.run("w.yaml", cluster="inline")
    assert by_id(run["bfs"]) == by_id(graph.bfs(source))
    assert set(states(gravel.run("w.yaml", cluster="inline").name).values()) == {"cached"}
    numpy.testing.assert_array_equal(run["graph"].bfs(source).distance, graph.bfs(source).distance)


def test_strings_go_through_files_workflows_and_folders():
    Path("people.csv").write_text("source,target\nalice,bob\nbob,carol\ndan,eve\n")
    graph = gravel.graph("people.csv")
    assert graph.info().ids == "strings"
    assert graph.bfs("alice").path_to("carol") == ["alice", "bob", "carol"]
    graph.save("saved")
    assert gravel.load("saved").info() == graph.info()
    Path("w.yaml").write_text(
        "workflow: w\nstages:\n  graph: {stage: saved, folder: saved}\n"
        "  bfs: {stage: traverse, input: graph, sources: [alice]}\n"
    )
    run = gravel.run("w.yaml", cluster="inline")
    assert run["bfs"].source == "alice"
    assert by_id(run["bfs"]) == by_id(graph.bfs("alice"))


@pytest.mark.parametrize("cache", [None, False])
def test_urls(cache):
    with WebServer({"/edges.txt": b"10 20\n20 30\n"}) as server:
        graph = gravel.graph(f"{server.address}/edges.txt", cache=cache)
    assert graph.bfs(10).path_to(30) == [10, 20, 30]


@pytest.mark.parametrize("cache", [None, False])
@pytest.mark.parametrize(
    "data",
    [
        ["parts/a.txt", Path("parts/b.txt")],
        ["parts/b.txt", "parts/a.txt"],
        "parts",
        Path("parts"),
        ["parts"],
        "parts/*.txt",
    ],
)
def test_many_files_are_one_graph(data, cache):
    assert gravel.graph(data, cache=cache).bfs(10).path_to(40) == [10, 20, 30, 40]


def test_a_list_of_one_file_is_that_file():
    assert len(gravel.graph(["parts/a.txt"])) == 3


@pytest.mark.parametrize("data", [["anna", "berta"], ["parts/a.txt", "parts/c.txt"]])
def test_a_list_of_texts_that_are_no_files_is_refused(data):
    with pytest.raises(FileNotFoundError, match=r"there is no file .* a list of texts is a list of files"):
        gravel.graph(data)


@pytest.mark.parametrize(
    ("data", "message"), [("nothing/*.txt", "no file matches"), ("empty", "has no files")]
)
def test_a_folder_or_pattern_without_files_is_refused(data, message):
    Path("empty").mkdir()
    with pytest.raises(FileNotFoundError, match=message):
        gravel.graph(data)


def test_pairs_of_texts_are_edges_still():
    assert len(gravel.graph([("anna", "berta"), ("berta", "carl")])) == 3


def test_a_saved_graph_is_no_folder_of_parts():
    gravel.graph("parts").save("saved")
    assert gravel.graph("saved").bfs(10).path_to(40) == [10, 20, 30, 40]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("cache", [False, None])
def test_files_of_which_a_filter_leaves_nothing_add_nothing(tmp_path, monkeypatch, ending, cache):
    monkeypatch.setenv("GRAVEL_CACHE", str(tmp_path / "cache"))
    for day in range(1, 9):
        folder = tmp_path / "days" / f"day=2026-01-0{day}"
        folder.mkdir(parents=True)
        table = pyarrow.table({"source": [f"x{day}"], "target": [f"y{day}"], "amount": [day]})
        if ending == "parquet":
            pyarrow.parquet.write_table(table, folder / "a.parquet")
            pyarrow.parquet.write_table(table.slice(0, 0), folder / "b.parquet")
        else:
            (folder / "a.csv").write_text(f"source,target,amount\nx{day},y{day},{day}\n")
            (folder / "b.csv").write_text("source,target,amount\n")
    found = gravel.graph(tmp_path / "days", cache=cache, filter="day >= '2026-01-07' and amount < 8")
    assert found.vertices.to_pylist() == ["x7", "y7"]
    with pytest.raises(ValueError, match="none of the 16 files has an edge, or the filter leaves none"):
        gravel.graph(tmp_path / "days", cache=cache, filter="amount > 8")
