"""A graph over 1, 2, 3, 4 and 7 workers of a local cluster: equal to one rank, and a rank that is killed."""

from __future__ import annotations

import dataclasses
import functools
import os
import re
import signal
from pathlib import Path
from typing import Any

import numpy
import pytest

from gravel.pipeline.cli import main
from gravel.pipeline.records.past_runs import find_run
from gravel.pipeline.store.cache import Cache
from gravel.stages.ranks.components import find_as_rank
from gravel.stages.ranks.rank import search_as_rank
from gravel.stages.traversal.workers import search_share
from gravel.stages.traverse import STAGE, traverse
from tests.pipeline.workers.test_local_cluster import children

WORKFLOW = """
workflow: ranks
matrix: {ranks: [1, 2, 3, 4, 7]}
stages:
  edges: {stage: ingest, source: {rmat: {scale: 10, edge_factor: 8, seed: 5}}}
  graph: {stage: symmetrize, input: edges}
  split: {stage: partition, input: graph, ranks: "${ranks}", threshold: 16}
  bfs:   {stage: traverse, input: split, algorithm: bfs, sources: {random: 4, seed: 3}}
  check: {stage: verify, graph: graph, traversal: bfs}
"""

MORE = """
  parts: {stage: traverse, input: split, algorithm: components}
  parts_check: {stage: verify, graph: graph, traversal: parts}
  dealt: {stage: traverse, input: graph, sources: {random: 4, seed: 3}, sources_over: workers}
"""

FLAG = "GRAVEL_TEST_LOST_RANK"


def gravel(*words: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main.main(list(words))
    return int(stop.value.code or 0)


def outputs(root: Path, entry: str = "bfs") -> dict[str, tuple[Any, Any]]:
    """Traversal and measurement by key."""
    _, record = find_run(root, None)
    cache = Cache(root)
    return {
        stage["key"]: tuple(cache.open(name) for name in stage["outputs"])
        for stage in record["stages"]
        if stage["key"].startswith(entry)
    }


@pytest.mark.parametrize("ranks", [[1, 3], pytest.param([1, 2, 3, 4, 7], marks=pytest.mark.slow)], ids=str)
def test_any_number_of_workers_finds_the_same(tmp_path: Path, ranks: list[int]) -> None:
    file, root = tmp_path / "ranks.yaml", tmp_path / "cache"
    file.write_text(WORKFLOW)
    common = ["--cache", str(root), "--cluster", "local", "--backend", "cpu", "--workers", str(max(ranks))]
    some = [word for count in ranks for word in ("--where", f"ranks={count}")]
    assert gravel("run", str(file), *common, *some) == 0
    found = outputs(root)
    assert len(found) == len(ranks)
    (single,) = [traversal for key, (traversal, _) in found.items() if "=1" in key]
    for key, (traversal, measurement) in found.items():
        ranks = int(key.split("ranks=")[1].rstrip("]"))
        assert numpy.array_equal(traversal.distance, single.distance)
        assert numpy.array_equal(traversal.predecessor, single.predecessor)
        if ranks > 1:
            assert f"each of {ranks} ranks on its own worker" in measurement.reason
    assert children() == []


class LosesARank:
    """A rank group's end whose rank 1 is killed at one of the values that it sends, once."""

    def __init__(self, group: Any, flag: Path, at: int) -> None:
        self._group, self.rank, self.size, self.sent = group, group.rank, group.size, 0
        self._flag, self._at = flag, at

    def __getattr__(self, name: str) -> Any:
        return getattr(self._group, name)

    def send(self, to: int, number: int, value: Any) -> None:
        self.sent += 1
        if self.rank == 1 and self.sent == self._at and not self._flag.exists():
            self._flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        self._group.send(to, number, value)


def search_losing_a_rank(function: Any, group: Any, task: Any) -> Any:
    assert function in (search_as_rank, find_as_rank, search_share)
    return function(LosesARank(group, Path(os.environ[FLAG] + function.__name__), 5), task)


def traverse_losing_a_rank(context: Any, parameters: Any, **inputs: Any) -> Any:
    group = context.rank_group
    context.rank_group = lambda function, tasks: group(
        functools.partial(search_losing_a_rank, function), tasks
    )
    return traverse(context, parameters, **inputs)


def start_losing_ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *only: str) -> Path:
    file, root = tmp_path / "ranks.yaml", tmp_path / "cache"
    file.write_text(WORKFLOW.replace("[1, 2, 3, 4, 7]", "[3]").rstrip() + MORE)
    monkeypatch.setenv(FLAG, str(tmp_path / "lost_"))
    monkeypatch.setattr(
        "gravel.stages.traverse.STAGE", dataclasses.replace(STAGE, run=traverse_losing_a_rank)
    )
    common = ["--cache", str(root), "--cluster", "local", "--backend", "cpu", "--workers", "3"]
    assert gravel("run", str(file), *common, *only) == 0
    assert children() == []
    return root


def was_lost_and_tried_again(root: Path, entry: str, function: Any) -> None:
    assert (root.parent / f"lost_{function.__name__}").exists()
    ((_, measurement),) = outputs(root, entry).values()
    assert "each of 3 ranks on its own worker" in measurement.reason
    _, record = find_run(root, None)
    (attempts,) = [stage["attempts"] for stage in record["stages"] if stage["key"].startswith(entry)]
    assert attempts == 2


def test_a_killed_rank_costs_a_retry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = start_losing_ranks(tmp_path, monkeypatch, "--only", "check")
    was_lost_and_tried_again(root, "bfs", search_as_rank)


@pytest.mark.slow
def test_each_kind_of_rank_group_survives_a_killed_rank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = start_losing_ranks(tmp_path, monkeypatch)
    was_lost_and_tried_again(root, "bfs", search_as_rank)
    was_lost_and_tried_again(root, "parts[", find_as_rank)
    # Sources over workers, each with the whole graph, find what its ranks do.
    ((traversal, measurement),) = outputs(root, "dealt").values()
    ((over_ranks, _),) = outputs(root).values()
    assert numpy.array_equal(traversal.distance, over_ranks.distance)
    assert [search["worker"] for search in measurement.searches] == [0, 1, 2, 0]
    (note,) = [note for note in measurement.notes if "dealt to 3 workers" in note]
    assert len(set(re.findall(r"process (\d+)", note))) == 3
