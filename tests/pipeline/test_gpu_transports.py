"""A rank on each worker of dask-cuda, over peer memory and over NCCL, and one that is killed."""

from __future__ import annotations

import dataclasses
import functools
import os
import signal
from pathlib import Path
from typing import Any

import numpy
import pytest

from gravel.stages.traverse import STAGE, traverse
from tests.directions import same_levels
from tests.pipeline.test_gpu_rank_groups import outputs, run
from tests.pipeline.workers.test_local_cluster import children

pytestmark = pytest.mark.gpu

WORKFLOW = """
workflow: transports
stages:
  edges: {stage: ingest, source: {rmat: {scale: 14, edge_factor: 16, seed: 5}}}
  graph: {stage: symmetrize, input: edges}
  split: {stage: partition, input: graph, ranks: RANKS, threshold: 32}
  peer:
    stage: traverse
    input: split
    sources: {random: 4}
    backend: cuda
    transport: peer
    tuning: {predecessors: smallest}
  nccl:
    stage: traverse
    input: split
    sources: {random: 4}
    backend: cuda
    transport: nccl
    tuning: {predecessors: smallest}
  check: {stage: verify, graph: graph, traversal: nccl}
  both:  {stage: report, inputs: [peer, nccl, check]}
"""

FLAG = "GRAVEL_TEST_LOST_NCCL_RANK"


@pytest.fixture
def gpus() -> int:
    cupy = pytest.importorskip("cupy")
    pytest.importorskip("dask_cuda")
    from gravel.kernels.partition.nccl import why_not

    if (problem := why_not()) is not None:
        pytest.skip(problem)
    return int(cupy.cuda.runtime.getDeviceCount())


def test_transports_find_the_same(tmp_path: Path, gpus: int) -> None:
    root = run(tmp_path, WORKFLOW, gpus)
    (peer, one), (nccl, other) = outputs(root, "peer"), outputs(root, "nccl")
    assert numpy.array_equal(peer.distance, nccl.distance)
    assert numpy.array_equal(peer.predecessor, nccl.predecessor)
    assert (one.backend, other.backend) == ("cuda", "cuda")
    for mine, theirs in zip(one.searches, other.searches, strict=True):
        assert same_levels(mine["ranks"], theirs["ranks"])
        assert max(theirs["ranks"]["visit"]) > 0
    (report,) = outputs(root, "both")
    assert any("peer against nccl, level by level" in section["title"] for section in report.sections)


def search_losing_a_rank(function: Any, group: Any, task: Any) -> Any:
    from gravel.kernels.partition.nccl import NcclRank

    flag, tell, calls = Path(os.environ[FLAG]), NcclRank._tell, [0]

    def dies(self: Any, events: Any) -> Any:
        calls[0] += 1
        if group.rank == 1 and calls[0] == 3 and not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return tell(self, events)

    NcclRank._tell = dies  # type: ignore[method-assign]
    try:
        return function(group, task)
    finally:
        NcclRank._tell = tell  # type: ignore[method-assign]


def traverse_losing_a_rank(context: Any, parameters: Any, **inputs: Any) -> Any:
    group = context.rank_group
    context.rank_group = lambda function, tasks: group(
        functools.partial(search_losing_a_rank, function), tasks
    )
    return traverse(context, parameters, **inputs)


def test_a_killed_rank_costs_a_retry(tmp_path: Path, gpus: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if gpus < 2:
        pytest.skip("two ranks take two GPUs")
    monkeypatch.setenv(FLAG, str(tmp_path / "lost"))
    monkeypatch.setattr(
        "gravel.stages.traverse.STAGE", dataclasses.replace(STAGE, run=traverse_losing_a_rank)
    )
    root = run(tmp_path, WORKFLOW, 2)
    assert (tmp_path / "lost").exists()
    (peer, _), (nccl, _) = outputs(root, "peer"), outputs(root, "nccl")
    assert numpy.array_equal(peer.distance, nccl.distance)
    assert children() == []
