"""Graphs from files over ranks when something fails: what is said, what is kept, and what runs again."""

from __future__ import annotations

import errno
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gravel.stages.distributing import from_files
from tests.drills.gravel import LIMIT, Gravel, environment, make_old
from tests.drills.killed_once import killed_once
from tests.parameters import slow_among

WORKFLOW = """\
workflow: ranks
stages:
  split: {stage: distribute, files: parts, ranks: 3, threshold: 4}
  bfs: {stage: traverse, input: split, sources: [100]}
  check: {stage: verify, graph: split, traversal: bfs}
"""

WEIGHTED = """\
workflow: ranks
stages:
  split: {stage: distribute, files: parts, ranks: 3, threshold: 4, weights: minimum}
  paths: {stage: traverse, input: split, algorithm: shortest_paths, sources: [100]}
  check: {stage: verify, graph: split, traversal: paths}
"""

WEIGHTED_PHASES = {
    "divide weights": "gravel.stages.distributing.weighted:WeightedBuilder.close_rows",
    "search by weights": "gravel.kernels.partition.path_rank:PathRank.commit",
    "find the tree": "gravel.kernels.partition.path_rank:PathRank.own_labels",
    "verify": "gravel.kernels.verify.ranks.paths_cpu:RankPathChecker.see_rows",
}

PHASES = {
    "read": "gravel.stages.vertex_ids.pieces:piece_of",
    "number": "gravel.stages.distributing.tables:IntegerTable.finish",
    "divide": "gravel.stages.distributing.rows:SpillingBuilder.close_rows",
    "write": "gravel.kernels.partition.layout:to_arrays",
    "search": "gravel.kernels.partition.rank_search:RankSearch.commit",
}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a workflow, and eight files of it that are old enough for their digests to be remembered."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parts").mkdir()
    for number in range(8):
        path = tmp_path / "parts" / f"part-{number}.txt"
        path.write_text(f"{10**12 * number} {10**12 * (number + 1)}\n{number} 100\n7 {number}\n")
        make_old(path)
    (tmp_path / "ranks.yaml").write_text(WORKFLOW)
    return tmp_path


def gravel_in(folder: Path, name: str = "cache", **given: Any) -> Gravel:
    return Gravel(folder / name, file=folder / "ranks.yaml", **given)


def outputs(gravel: Gravel) -> dict[str, list[str]]:
    """Return what the last run has for each stage, but for what measures time."""
    stages = gravel.records()[-1]["stages"]
    return {each["key"]: each["outputs"][:1] for each in stages}


@pytest.mark.parametrize("phase", slow_among(WEIGHTED_PHASES, {"divide weights", "find the tree", "verify"}))
def test_a_worker_that_is_killed_among_weights_is_replaced(files: Path, phase: str) -> None:
    for number in range(8):
        path = files / "parts" / f"part-{number}.txt"
        path.write_text("".join(f"{line} {number}\n" for line in path.read_text().splitlines()))
        make_old(path)
    (files / "ranks.yaml").write_text(WEIGHTED)
    killed_and_replaced(files, WEIGHTED_PHASES[phase])


@pytest.mark.parametrize("phase", slow_among(PHASES, {"read", "number", "search", "write"}))
def test_a_worker_that_is_killed_is_replaced(files: Path, phase: str) -> None:
    killed_and_replaced(files, PHASES[phase])


def killed_and_replaced(files: Path, place: str) -> None:
    """Kill a worker where it enters a function, and compare the run with one in which nobody dies."""
    whole = gravel_in(files, "whole", inside=True)
    whole.run()
    gravel = gravel_in(files)
    words = gravel.words("run", "--cluster", "local", "--workers", "3", "--backend", "cpu")
    done = subprocess.run(
        words,
        env=environment() | killed_once(place, files),
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert (files / "killed").exists(), said
    assert "Traceback" not in said
    assert re.search(r"(split|bfs|paths|check): .*(lost|died|again)", said), said
    assert outputs(gravel) == outputs(whole)
    assert gravel.verify()["damaged"] == {}
    assert not list((files / "cache" / "scratch").glob("*/*"))


def test_a_scratch_disk_that_is_full_is_told_and_pieces_stay(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, dtype: Any, length: int) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    gravel = gravel_in(files, inside=True)
    with monkeypatch.context() as patch:
        patch.setattr(from_files, "allocated", full)
        failed = gravel.run(expect=1)
    errors = [line for line in failed.stderr.splitlines() if line.startswith("error:")]
    assert len(errors) == 1
    assert "no space left" in errors[0].lower()
    gravel.run()
    split = gravel.records()[-1]["stages"][0]
    assert split["why"][-1] == "8 pieces: 8 cached, 0 read"


def test_a_file_that_vanishes_while_others_are_read_is_named(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = from_files.read_pieces

    def first_gone(*given: Any, **named: Any) -> Any:
        (files / "parts" / "part-5.txt").unlink()
        return reading(*given, **named)

    gravel = gravel_in(files, inside=True)
    with monkeypatch.context() as patch:
        patch.setattr(from_files, "read_pieces", first_gone)
        failed = gravel.run(expect=1)
    assert "part-5.txt" in failed.stderr
    gravel.run()  # seven files are a graph, too
    assert gravel.states()["split"] == "computed"


def test_a_file_that_changes_while_others_are_read_is_no_result(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = from_files.read_pieces

    def changed(*given: Any, **named: Any) -> Any:
        (files / "parts" / "part-5.txt").write_text("5 6\n")
        return reading(*given, **named)

    gravel = gravel_in(files, inside=True)
    with monkeypatch.context() as patch:
        patch.setattr(from_files, "read_pieces", changed)
        failed = gravel.run(expect=1)
    assert "part-5.txt" in failed.stderr
    assert "changed" in failed.stderr
    gravel.run()
    again = gravel_in(files, "fresh", inside=True)
    again.run()
    assert outputs(again) == outputs(gravel)
