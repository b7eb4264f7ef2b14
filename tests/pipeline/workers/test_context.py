"""Batches of centralities on two processes of one thread each: the bits of one process, and one is killed."""

from __future__ import annotations

import dataclasses
import os
import signal
from pathlib import Path
from typing import Any

import numpy
import pytest

from gravel.pipeline.core.hardware import FAKE
from gravel.pipeline.store import checkpoints
from gravel.stages.centrality import STAGE, centrality
from gravel.stages.measuring import over_workers
from tests.parameters import slow_among
from tests.pipeline.workers.test_local_cluster import children
from tests.pipeline.workers.test_rendezvous import gravel, outputs

WORKFLOW = """
workflow: measured
parameters: {workers: 2}
stages:
  edges: {stage: ingest, source: {rmat: {scale: 10, edge_factor: 8, seed: 5}}}
  graph: {stage: symmetrize, input: edges}
  close: {stage: centrality, input: graph, measure: closeness, memory: 200kB, workers: "${workers}"}
  between: {stage: centrality, input: graph, measure: betweenness, workers: "${workers}"}
"""

KILLED, RANK = "GRAVEL_TEST_KILLED", "GRAVEL_TEST_KILLED_RANK"


def run(root: Path, cluster: str, workers: int, *more: str) -> int:
    file = root.with_suffix(".yaml")
    file.write_text(WORKFLOW)
    common = ["--cache", str(root), "--backend", "cpu", "--cluster", cluster, "--set", f"workers={workers}"]
    return gravel("run", str(file), *common, *more)


def values(root: Path) -> dict[str, bytes]:
    return {
        name: numpy.asarray(found.value[:]).tobytes()
        for name in ("close", "between")
        for found, _ in outputs(root, name).values()
    }


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    root = tmp_path_factory.mktemp("alone") / "cache"
    assert run(root, "inline", 1) == 0
    return values(root)


def test_two_workers_find_the_bits_of_one(tmp_path: Path, expected: dict[str, bytes]) -> None:
    root = tmp_path / "cache"
    assert run(root, "local", 2, "--workers", "2") == 0
    assert values(root) == expected
    for name in ("close", "between"):
        ((found, batches),) = outputs(root, name).values()
        assert len(set(batches.workers)) == 2
        assert {each["worker"] for each in batches.batches} == {0, 1}
        assert sum(each["sources"] for each in batches.batches) == found.sources or len(found.value)
    assert children() == []


def test_more_workers_than_there_are(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "cache"
    assert run(root, "local", 3, "--workers", "2") == 2
    told = "".join(capfd.readouterr())
    assert f"{root.with_suffix('.yaml')}:7:" in told
    for name in ("close", "between"):
        assert f"{name} needs 3 workers at the same time, and --workers starts 2" in told
    assert not list((root / "artifacts").glob("*/*"))
    assert run(tmp_path / "other", "inline", 3) == 1
    told = capfd.readouterr()
    assert "3 workers are asked for, and this process is the only one" in told.out + told.err


def find_and_die(item: Any) -> Any:
    """Search, but for the third time on one of the workers that ever lived."""
    token, _ = item
    flag = Path(os.environ[KILLED])
    if over_workers.RESIDENT[token].worker == int(os.environ[RANK]):
        with flag.open("a") as file:
            file.write(".")
        if flag.stat().st_size == 3:
            os.kill(os.getpid(), signal.SIGKILL)
    return over_workers.find(item)


def centrality_losing_a_worker(context: Any, parameters: Any, **inputs: Any) -> Any:
    checkpoints.INTERVAL, checkpoints.COST = 0.0, 0
    context.checkpoint()._due = 0.0
    mapped = context.map
    context.map = lambda function, items, **more: mapped(find_and_die, items, **more)
    return centrality(context, parameters, **inputs)


@pytest.mark.parametrize("rank", slow_among([0, 1], [0]))
def test_a_killed_worker_costs_some_batches(tmp_path, expected, monkeypatch, rank) -> None:
    monkeypatch.setenv(KILLED, str(tmp_path / "killed"))
    monkeypatch.setenv(RANK, str(rank))
    losing = dataclasses.replace(STAGE, run=centrality_losing_a_worker)
    monkeypatch.setattr("gravel.stages.centrality.STAGE", losing)
    root = tmp_path / "cache"
    assert run(root, "local", 2, "--workers", "2", "--only", "between") == 0
    ((found, batches),) = outputs(root, "between").values()
    assert numpy.asarray(found.value[:]).tobytes() == expected["between"]
    assert any(each["resumed"] for each in batches.batches)
    assert not all(each["resumed"] for each in batches.batches)
    assert children() == []


def test_a_plan_counts_gpus_too(tmp_path, capfd, monkeypatch) -> None:
    monkeypatch.setenv(FAKE, "2x4GiB")
    file = tmp_path / "plan.yaml"
    file.write_text(WORKFLOW)
    common = ["--cache", str(tmp_path / "cache"), "--backend", "cuda", "--set"]
    assert gravel("plan", str(file), *common, "workers=3") == 2
    told = "".join(capfd.readouterr())
    assert f"{file}:7:" in told
    assert "close needs 3 GPUs at the same time, and this machine has 2" in told
    assert gravel("plan", str(file), *common, "workers=2") == 0
