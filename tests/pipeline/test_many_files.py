"""Many files as one graph in a workflow: pieces are found in the cache, counted, and removed first."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from gravel.pipeline.gc.collection import Policy, collect
from gravel.pipeline.store.cache import Cache
from gravel.stages import ingest
from gravel.stages.streams.stream import ByteStream
from tests.pipeline.cli_case import gravel

WORKFLOW = """\
workflow: many
parameters: {files: parts}
stages:
  edges: {stage: ingest, files: "${files}"}
  graph: {stage: symmetrize, input: edges}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAVEL_CACHE", str(tmp_path / "cache"))
    Path("parts").mkdir()
    for number in range(8):
        write(number, f"{number} {number + 1}\n{number} 100\n")
    Path("w.yaml").write_text(WORKFLOW)


def write(number: int, text: str) -> None:
    """Write a part that was written long enough ago for its digest to be remembered."""
    path = Path(f"parts/part-{number}.txt")
    path.write_text(text)
    os.utime(path, (time.time() - 100, time.time() - 100))


def run(*arguments: str, file: str = "w.yaml") -> dict[str, Any]:
    """Run, and return what the record says of `edges`."""
    done = gravel("run", file, "--cluster", "inline", "--backend", "cpu", *arguments)
    latest = max(Path("cache/runs").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    record = json.loads((latest / "run.json").read_text())
    return {**record["stages"][0], "output": done.output, "code": done.exit_code, "folder": latest}


def plan(*arguments: str) -> Result:
    return gravel("plan", "w.yaml", "--backend", "cpu", *arguments)


def edge_count(stage: dict[str, Any]) -> int:
    return Cache(Path("cache")).describe(stage["outputs"][0]).extent.arcs


def test_pieces_are_counted_in_plan_run_and_page():
    assert "8 pieces: 0 cached, 8 to read" in plan().output
    first = run()
    assert first["why"][-1] == "8 pieces: 0 cached, 8 read"
    assert "8 pieces: 0 cached, 8 read" in first["output"]
    assert "8 pieces: 0 cached, 8 read" in (first["folder"] / "report.html").read_text()
    assert run()["state"] == "cached"
    assert "8 pieces" not in plan().output


def test_a_file_more_and_a_file_changed_are_read_alone():
    run()
    write(8, "8 9\n")
    assert "9 pieces: 8 cached, 1 to read" in plan().output
    more = run()
    assert more["why"][-1] == "9 pieces: 8 cached, 1 read"
    assert edge_count(more) == 17
    write(3, "3 4\n")
    changed = run()
    assert changed["why"][-1] == "9 pieces: 8 cached, 1 read"
    assert edge_count(changed) == 16
    Path("parts/part-5.txt").unlink()
    assert run()["why"][-1] == "8 pieces: 8 cached, 0 read"


def test_order_and_place_of_files_are_no_part_of_the_result():
    first = run()
    names = [f"parts/part-{number}.txt" for number in (3, 1, 7, 0, 2, 6, 5, 4)]
    assert run("--set", f"files={json.dumps(names)}")["state"] == "cached"
    Path("parts").rename("moved")
    moved = run("--set", "files=moved/*.txt")
    assert (moved["state"], moved["outputs"]) == ("cached", first["outputs"])


def test_a_file_that_is_listed_twice_is_another_result():
    run()
    twice = run("--set", 'files=["parts", "parts/part-0.txt"]')
    assert twice["why"][-1] == "9 pieces: 9 cached, 0 read"
    assert edge_count(twice) == 18
    assert "part-0.txt is listed 2 times" in twice["output"]


def test_columns_of_the_path_are_part_of_the_recipe():
    run()
    Path("parts/day=1").mkdir()
    Path("parts/part-0.txt").rename("parts/day=1/part-0.txt")
    assert run()["why"][-1] == "8 pieces: 7 cached, 1 read"


def test_few_small_files_leave_no_pieces():
    stage = run("--set", 'files=["parts/part-0.txt", "parts/part-1.txt"]')
    assert not any("piece" in why for why in stage["why"])
    assert {entry.record.kind for entry in Cache(Path("cache")).list()} == {"EdgeList", "VertexIds", "Graph"}


def test_what_was_read_before_a_broken_file_is_kept():
    write(5, "5 6\n5 6 7 8\n")
    failed = run()
    assert failed["state"] == "failed"
    assert "part-5.txt:2" in failed["error"]
    assert "skip_broken: true" in failed["hint"]
    write(5, "5 6\n")
    assert run()["why"][-1] == "8 pieces: 5 cached, 3 read"


def test_a_broken_file_costs_itself_where_that_is_asked_for():
    Path("w.yaml").write_text(WORKFLOW.replace('"${files}"', '"${files}", skip_broken: true'))
    write(5, "5 6\n5 6 7 8\n")
    stage = run()
    assert stage["state"] == "computed"
    assert edge_count(stage) == 14
    assert "part-5.txt is left out (skip_broken)" in stage["output"]
    assert "is left out (skip_broken)" in run()["output"]


def test_a_file_that_changes_while_it_is_read_is_named(monkeypatch):
    finish = ByteStream.finish

    def change(stream: ByteStream) -> None:
        finish(stream)
        if stream.name == "part-4.txt":
            Path("parts/part-4.txt").write_text("1 2\n3 4\n5 6\n")

    with monkeypatch.context() as patched:
        patched.setattr(ByteStream, "finish", change)
        failed = run()
    assert failed["state"] == "failed"
    assert "part-4.txt: this file changed while it was read" in failed["error"]
    again = run()
    assert again["why"][-1] == "8 pieces: 4 cached, 4 read"
    assert edge_count(again) == 17


@pytest.mark.parametrize("files", ["nothing", "nothing/*.txt", "empty"])
def test_a_folder_or_pattern_without_files_is_refused_where_it_stands(files):
    Path("empty").mkdir()
    done = gravel("plan", "w.yaml", "--set", f"files={files}")
    assert done.exit_code == 2
    assert "nothing" in done.output or "the folder" in done.output


def test_gc_keeps_pieces_of_kept_graphs_and_removes_them_first():
    stage = run()
    cache = Cache(Path("cache"))
    assert not collect(cache, Policy()).removed
    size = sum(record.bytes_on_disk for record in collect(cache, Policy(max_size=0)).records)
    removed = collect(cache, Policy(max_size=size - 1)).records
    assert {record.kind for record in removed} == {"EdgePiece"}
    collect(cache, Policy(max_size=size - 1), delete=True)
    assert run()["state"] == "cached"
    write(8, "8 9\n")
    assert run()["outputs"] != stage["outputs"]


def test_folders_patterns_and_files_at_the_command():
    outputs = []
    for arguments in (["parts"], ["parts/*.txt"], sorted(map(str, Path("parts").iterdir()))):
        done = gravel("run", *arguments, "--cluster", "inline", "--backend", "cpu", "--sources", "0")
        assert done.exit_code == 0, done.output
        assert "verified" in done.output
        outputs.append(done.output.splitlines()[-2:])
    assert outputs[0] == outputs[1] == outputs[2]
    assert "files: " in gravel("run", "parts", "--show-workflow").output
    both = gravel("run", "w.yaml", "parts")
    assert both.exit_code == 2
    assert "one is carried out at a time" in both.output


def test_pieces_are_made_on_workers_too():
    done = gravel("run", "w.yaml", "--cluster", "local", "--workers", "1", "--backend", "cpu")
    assert done.exit_code == 0, done.output
    assert "8 pieces: 0 cached, 8 read" in done.output
    write(8, "8 9\n")
    assert "9 pieces: 8 cached, 1 read" in run()["output"]


def test_what_readers_remark_is_told_once(monkeypatch):
    def remark(context: Any, parameters: Any, *arguments: Any, **options: Any) -> Any:
        name = parameters.file.rpartition("/")[2]
        context.remark(f"{parameters.file}: the first line, {name[5:6]!r}, is read as an edge")
        if name == "part-3.txt":
            context.remark("two edges look alike")
        return read_file(context, parameters, *arguments, **options)

    read_file = ingest._read_file
    monkeypatch.setattr(ingest, "_read_file", remark)
    place = Path("parts/part-0.txt").absolute()

    def remarks(more: int) -> list[str]:
        first = f"{place} and {more} more: the first line, '0', is read as an edge"
        layout = "blanks, no header; source column 1, target column 2"
        return [f"read part-0.txt and {more} more as: {layout}", first, "two edges look alike"]

    assert sorted(run()["remarks"], key=len) == sorted(remarks(7), key=len)
    write(8, "8 9\n")
    assert sorted(run()["remarks"], key=len) == sorted(remarks(8), key=len)


def test_pieces_are_one_line_of_what_is_in_the_cache():
    run()
    listed = gravel("cache", "ls").output
    assert re.search(r"^\(8\) +EdgePiece .* --kind EdgePiece lists them$", listed, re.MULTILINE)
    assert listed.count("EdgePiece") == 2
    every = gravel("cache", "ls", "--kind", "EdgePiece").output
    assert every.count("parts/part-") == 8
    gone = gravel("cache", "gc", "--max-size", "1")
    assert re.search(r"^\(8\) +EdgePiece ", gone.output, re.MULTILINE)
    assert "would remove 11 artifacts" in gone.output


def test_a_damaged_piece_is_read_again():
    run()
    [damaged, *_] = [
        entry.record for entry in Cache(Path("cache")).list() if entry.record.kind == "EdgePiece"
    ]
    [file] = (damaged.path / "source" / "c").rglob("[0-9]*")
    file.write_bytes(b"\xff" * file.stat().st_size)
    write(8, "8 9\n")
    stage = run()
    assert (stage["state"], edge_count(stage)) == ("computed", 17)
    assert "a part of it was damaged" in stage["why"][0]
    assert list(Path("cache/quarantine").glob(f"{damaged.id}-*"))
