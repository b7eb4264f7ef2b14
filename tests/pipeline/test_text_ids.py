"""Whole workflows over files whose ids are texts, through the command line."""

from __future__ import annotations

import csv
import datetime
import random
import uuid
from collections import deque
from itertools import pairwise
from pathlib import Path

import numpy
import pyarrow
import pytest
import zarr
from click.testing import Result
from pyarrow import parquet

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.store.cache import Cache
from tests.pipeline.cli.test_run import gravel

WORKFLOW = """\
workflow: people
parameters: {file: FILE, sources: SOURCES}
stages:
  edges: {stage: ingest, file: "${file}"}
  graph: {stage: symmetrize, input: edges}
  bfs: {stage: traverse, input: graph, sources: "${sources}"}
  parts: {stage: traverse, input: graph, algorithm: components}
  check: {stage: verify, graph: graph, traversal: bfs}
  summary: {stage: report, inputs: [bfs, parts, check]}
"""

PEOPLE = [("alice", "bob"), ("bob", "carol"), ("dave", "erin, sr"), ("alice", "dave"), ("frank", "grace")]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAVEL_CACHE", str(tmp_path / "cache"))
    return tmp_path


def run(file: str, sources: str, name: str = "w.yaml") -> Result:
    Path(name).write_text(WORKFLOW.replace("FILE", file).replace("SOURCES", sources))
    return gravel("run", name, "--cluster", "inline", "--backend", "cpu")


def exported(stage: str, name: str = "w.yaml") -> list[dict[str, str]]:
    gravel("export", name, stage, "--to", "out.csv", "--cluster", "inline")
    with Path("out.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_csv(name: str, pairs: list[tuple[str, str]], delimiter: str = ",") -> None:
    with Path(name).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter).writerows([("source", "target"), *pairs])


def distances(pairs: list[tuple[str, str]], source: str) -> dict[str, int]:
    """Search as a reader would on paper."""
    beside: dict[str, set[str]] = {}
    for one, other in pairs:
        beside.setdefault(one, set()).add(other)
        beside.setdefault(other, set()).add(one)
    found, waiting = {source: 0}, deque([source])
    while waiting:
        vertex = waiting.popleft()
        for other in sorted(beside[vertex] - found.keys()):
            found[other] = found[vertex] + 1
            waiting.append(other)
    return {vertex: found.get(vertex, -1) for vertex in beside}


@pytest.mark.parametrize("kind", ["people.csv", "people.tsv", "people.parquet", "people.npz"])
def test_results_come_under_the_files_ids(kind: str) -> None:
    source, target = (list(ends) for ends in zip(*PEOPLE, strict=True))
    if kind.endswith("parquet"):
        parquet.write_table(pyarrow.table({"source": source, "target": target}), kind)
    elif kind.endswith("npz"):
        numpy.savez(kind, source=numpy.array(source), target=numpy.array(target))
    else:
        write_csv(kind, PEOPLE, "\t" if kind.endswith("tsv") else ",")
    assert run(kind, "[alice, frank]").exit_code == 0
    rows = exported("bfs")
    for asked in ("alice", "frank"):
        found = {row["vertex"]: int(row["distance"] or -1) for row in rows if row["source"] == asked}
        assert found == distances(PEOPLE, asked)
    before = {(row["source"], row["vertex"]): row["predecessor"] for row in rows}
    assert before["alice", "erin, sr"] == "dave"
    assert before["alice", "alice"] == before["alice", "frank"] == ""
    parts = {row["vertex"]: row["component"] for row in exported("parts")}
    assert parts == dict.fromkeys(["alice", "bob", "carol", "dave", "erin, sr"], "alice") | {
        "frank": "frank",
        "grace": "frank",
    }
    assert {row["source"] for row in exported("graph")} == parts.keys()
    page = next(Path("cache/runs").glob("*/report.json")).read_text(encoding="utf-8")
    assert '"alice"' in page
    assert '"frank"' in page


def test_a_report_shows_ids_as_texts_and_runs_none_of_them() -> None:
    write_csv("people.csv", [("<script>alert(1)</script>", "b" * 1000)])
    run("people.csv", f'["<script>alert(1)</script>", {"b" * 1000}]')
    folder = next(Path("cache/runs").glob("*/report.json")).parent
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "b" * 99 + "…" in page


def test_every_format_of_export_has_the_texts() -> None:
    write_csv("people.csv", PEOPLE)
    run("people.csv", "[alice]")
    gravel("export", "w.yaml", "bfs", "--to", "out.parquet", "--cluster", "inline")
    table = parquet.read_table("out.parquet").to_pydict()
    assert table["vertex"] == sorted({end for pair in PEOPLE for end in pair})
    assert table["predecessor"][:3] == [None, "alice", "bob"]
    gravel("export", "w.yaml", "bfs", "--to", "out.npz", "--cluster", "inline")
    with numpy.load("out.npz", allow_pickle=False) as arrays:
        assert arrays["vertex"].tolist() == table["vertex"]
        assert arrays["predecessor"].tolist()[:3] == ["", "alice", "bob"]
        assert arrays["source"].dtype == "<U8"


def test_an_id_that_is_too_long_for_npz_is_refused() -> None:
    write_csv("people.csv", [("a" * 300, "b")])
    run("people.csv", "[b]")
    with pytest.raises(RequestError, match="an id has 300 characters"):
        gravel("export", "w.yaml", "bfs", "--to", "out.npz", "--cluster", "inline")
    assert exported("bfs")[0]["vertex"] == "a" * 300


def test_dates_and_uuids_are_ids() -> None:
    days = [datetime.date(2024, 2, day) for day in (1, 2, 3)]
    parquet.write_table(pyarrow.table({"source": days[:2], "target": days[1:]}), "days.parquet")
    run("days.parquet", "[2024-02-01]")
    assert [row["distance"] for row in exported("bfs")] == ["0", "1", "2"]
    ids = [uuid.UUID(int=n << 100) for n in (1, 2, 3)]
    columns = {
        "source": pyarrow.array(ids[:2], pyarrow.uuid()),
        "target": pyarrow.array(ids[1:], pyarrow.uuid()),
    }
    parquet.write_table(pyarrow.table(columns), "uuids.parquet")
    run("uuids.parquet", f'["{ids[2]}"]')
    assert {row["vertex"]: row["distance"] for row in exported("bfs")} == {
        str(ids[n]): str(2 - n) for n in range(3)
    }


def test_a_graph_with_other_names_shares_all_that_follows() -> None:
    chance = random.Random(1)
    pairs = [(chance.randrange(400), chance.randrange(400)) for _ in range(900)]
    Path("numbers.txt").write_text("".join(f"{s} {t}\n" for s, t in pairs))
    write_csv("names.csv", [(f"user {s:03}", f"user {t:03}") for s, t in pairs])
    run("numbers.txt", f"[{pairs[0][0]}]", "numbers.yaml")
    result = run("names.csv", f'["user {pairs[0][0]:03}"]')
    # The edges are the same by their vertices, so that nothing behind them is computed again.
    assert [line.split(": ")[1] for line in result.stderr.splitlines() if " graph: " in line] == ["cached"]
    numbers, names = exported("bfs", "numbers.yaml"), exported("bfs")
    assert len(numbers) == len(names)
    for one, other in zip(numbers, names, strict=True):
        assert other["vertex"] == f"user {int(one['vertex']):03}"
        assert other["distance"] == one["distance"]


def test_ids_are_stored_so_that_zarr_reads_them() -> None:
    write_csv("people.csv", PEOPLE)
    run("people.csv", "[alice]")
    cache = Cache(Path("cache"))
    found = [path.name.removesuffix(".json") for path in Path("cache/artifacts").rglob("*") if path.is_file()]
    (name,) = [each for each in found if cache.describe(each).kind == "VertexIds"]
    stored = cache.open(name)
    folder = next(path.parent for path in Path("cache/data").rglob("offsets") if path.is_dir())
    group = zarr.open(folder, mode="r")
    offsets = group["offsets"][:]
    text = group["text"][:].tobytes()
    assert [text[a:b].decode() for a, b in pairwise(offsets)][:2] == ["alice", "bob"]
    assert stored.vertex_count == 7


def test_sources_from_a_list() -> None:
    write_csv("people.csv", PEOPLE)
    Path("list.txt").write_text("alice\n\n  erin, sr \n")
    run("people.csv", "{file: list.txt}")
    assert list(dict.fromkeys(row["source"] for row in exported("bfs"))) == ["alice", "erin, sr"]
    assert "6 cached" in run("people.csv", "{file: list.txt}").stderr
    Path("list.txt").write_text("frank\n")
    run("people.csv", "{file: list.txt}")
    assert {row["source"] for row in exported("bfs")} == {"frank"}
    Path("list.txt").write_bytes(b"alice\n\xff\n")
    with pytest.raises(RequestError, match="this line is not UTF-8") as caught:
        run("people.csv", "{file: list.txt}")
    assert caught.value.problems[0].location.line == 2
    Path("list.txt").write_text("\n")
    with pytest.raises(RequestError, match="lists no source"):
        run("people.csv", "{file: list.txt}")
    Path("list.txt").unlink()
    with pytest.raises(RequestError, match="there is no such file"):
        run("people.csv", "{file: list.txt}")


def test_a_source_that_is_unknown_is_refused_as_soon_as_it_can_be() -> None:
    write_csv("people.csv", PEOPLE)
    message = "source 'alcie' is not in the graph (the nearest id that is: 'alice')"
    # Nothing is cached: the run finds out.
    failed = run("people.csv", "[alcie]")
    assert failed.return_value == 1
    assert f"bfs: {message}" in failed.stderr
    # The ids are cached now: the plan knows.
    for verb in (["run", "--cluster", "inline"], ["plan"]):
        with pytest.raises(RequestError) as caught:
            gravel(verb[0], "w.yaml", *verb[1:])
        assert str(caught.value) == message
        assert caught.value.exit_code == 2
        assert caught.value.problems[0].location.line == 6
    with pytest.raises(
        RequestError, match=r"these sources are not in the graph: 'x' .*, '7' .*'b' .*: 'bob'.* and 2 more"
    ):
        run("people.csv", "[x, 7, alice, a, b, c, d, e]")


def test_a_text_is_no_source_of_a_graph_with_numbers() -> None:
    Path("a.txt").write_text("1 2\n2 3\n")
    run("a.txt", "[1]")
    assert "6 cached" in run("a.txt", "['1']").stderr
    with pytest.raises(RequestError, match=r"source 'bob' is not in the graph \(its ids are whole numbers\)"):
        run("a.txt", "[bob]")
