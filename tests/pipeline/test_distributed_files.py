"""Graphs from files over ranks in a workflow: the same artifact however many workers there are."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.cli_case import gravel

RANKS = """\
workflow: ranks
stages:
  split: {stage: distribute, files: parts, ranks: 3, threshold: 4}
  bfs: {stage: traverse, input: split, sources: [100]}
  check: {stage: verify, graph: split, traversal: bfs}
"""

ONE = """\
workflow: one
stages:
  edges: {stage: ingest, files: parts}
  graph: {stage: symmetrize, input: edges}
  split: {stage: partition, input: graph, ranks: 3, threshold: 4}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAVEL_CACHE", str(tmp_path / "cache"))
    Path("parts").mkdir()
    for number in range(8):
        write(number, f"{10**12 * number} {10**12 * (number + 1)}\n{number} 100\n7 {number}\n")
    Path("ranks.yaml").write_text(RANKS)
    Path("one.yaml").write_text(ONE)


def write(number: int, text: str) -> None:
    """Write a part that was written long enough ago for its digest to be remembered."""
    path = Path(f"parts/part-{number}.txt")
    path.write_text(text)
    os.utime(path, (time.time() - 100, time.time() - 100))


def run(file: str, *arguments: str) -> dict[str, dict[str, Any]]:
    """Run on the CPU, and return what the record says of each stage run."""
    done = gravel("run", file, "--backend", "cpu", *arguments)
    latest = max(Path("cache/runs").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    record = json.loads((latest / "run.json").read_text())
    return {each["key"]: {**each, "said": done.output} for each in record["stages"]}


def test_workers_and_one_machine_make_the_same_artifact() -> None:
    spread = run("ranks.yaml", "--cluster", "local", "--workers", "3")
    assert [each["state"] for each in spread.values()] == ["computed"] * 3
    assert spread["split"]["why"][-1] == "8 pieces: 0 cached, 8 read"
    assert "in one process" not in spread["split"]["said"]
    one = run("one.yaml", "--cluster", "inline")
    assert one["split"]["outputs"][0] == spread["split"]["outputs"][0]
    assert one["edges"]["outputs"][1] == spread["split"]["outputs"][1]
    forced = run("ranks.yaml", "--cluster", "inline", "--force", "split")
    assert forced["split"]["outputs"] == spread["split"]["outputs"]
    assert gravel("cache", "verify").exit_code == 0


def test_weights_make_the_same_artifacts_whatever_the_workers() -> None:
    for number in range(8):
        path = Path(f"parts/part-{number}.txt")
        lines = path.read_text().splitlines()
        weighted = "".join(f"{line} {place + number}\n" for place, line in enumerate(lines))
        write(number, f"{weighted}5 6 {number}\n")
    split = "{stage: distribute, files: parts, ranks: 3, threshold: 4, weights: sum}"
    paths = "{stage: traverse, input: split, algorithm: shortest_paths, sources: [100]}"
    Path("ranks.yaml").write_text(
        f"workflow: ranks\nstages:\n  split: {split}\n  paths: {paths}\n"
        "  check: {stage: verify, graph: split, traversal: paths}\n"
        "  page: {stage: report, inputs: [split, paths, check]}\n"
    )
    Path("one.yaml").write_text(
        "workflow: one\nstages:\n  edges: {stage: ingest, files: parts}\n"
        "  split: {stage: symmetrize, input: edges, weights: sum}\n"
        f"  paths: {paths}\n  check: {{stage: verify, graph: split, traversal: paths}}\n"
    )
    spread = run("ranks.yaml", "--cluster", "local", "--workers", "3")
    assert [each["state"] for each in spread.values()] == ["computed"] * 4
    assert spread["split"]["why"][-1] == "8 pieces: 0 cached, 8 read"
    one = run("one.yaml", "--cluster", "inline")
    assert one["edges"]["why"][-1] == "8 pieces: 8 cached, 0 read"
    assert one["edges"]["outputs"][1] == spread["split"]["outputs"][1]
    assert one["paths"]["outputs"][0] == spread["paths"]["outputs"][0]
    again = run("ranks.yaml", "--cluster", "inline", "--force", "split", "--force", "paths")
    assert again["split"]["outputs"] == spread["split"]["outputs"]
    assert again["paths"]["outputs"][0] == spread["paths"]["outputs"][0]
    Path("ranks.yaml").write_text(Path("ranks.yaml").read_text().replace("weights: sum", "weights: minimum"))
    other = run("ranks.yaml", "--cluster", "inline")
    assert other["split"]["why"][-1] == "8 pieces: 8 cached, 0 read"
    assert other["split"]["outputs"][0] != spread["split"]["outputs"][0]
    assert gravel("export", "ranks.yaml", "paths", "--to", "out.csv").exit_code == 0
    rows = [line.split(",") for line in Path("out.csv").read_text().splitlines()]
    distances = {row[1]: row[2] for row in rows[1:]}
    assert (distances["100"], distances["0"], distances["7"], distances["5"]) == ("0", "1", "3", "6")
    pages = [path.read_text() for path in Path("cache/runs").glob("*/report.html")]
    said = "Shortest paths from 100: 17 of 17 vertices reached (100 %); the farthest is 8000000000000 at "
    assert sum(said in page for page in pages) == 3


def test_of_one_file_more_only_its_piece_is_read() -> None:
    run("ranks.yaml", "--cluster", "inline")
    write(8, "8 9\n")
    assert "9 pieces: 8 cached, 1 to read" in gravel("plan", "ranks.yaml", "--backend", "cpu").output
    assert run("ranks.yaml", "--cluster", "inline")["split"]["why"][-1] == "9 pieces: 8 cached, 1 read"


def test_labels_are_exported_under_the_ids_of_the_files() -> None:
    run("ranks.yaml", "--cluster", "inline")
    assert gravel("export", "ranks.yaml", "bfs", "--to", "out.csv").exit_code == 0
    rows = [line.split(",") for line in Path("out.csv").read_text().splitlines()]
    distances = {row[1]: row[2] for row in rows[1:]}
    assert (distances["100"], distances["7"], distances["1000000000000"]) == ("0", "1", "2")


def test_a_broken_file_is_named_by_whichever_worker_reads_it() -> None:
    write(3, "3 4\n5\n")
    failed = run("ranks.yaml", "--cluster", "local", "--workers", "3")
    assert "part-3.txt:2" in failed["split"]["said"]
    assert "Traceback" not in failed["split"]["said"]
