"""A graph that only its ranks hold, on workers of dask-cuda: both transports, components, a killed rank."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy
import pytest

from gravel.stages.ranks.distributed import MADE_ANEW
from gravel.stages.traverse import STAGE
from tests.directions import same_levels
from tests.pipeline.test_gpu_rank_groups import outputs, run
from tests.pipeline.test_gpu_transports import FLAG, traverse_losing_a_rank
from tests.pipeline.workers.test_local_cluster import children

pytestmark = pytest.mark.gpu

SPLIT = """
workflow: distributed
stages:
  split:
    stage: distribute
    source: {rmat: {scale: 14, edge_factor: 4, seed: 5}}
    ranks: RANKS
    threshold: 32
"""

SEARCHES = """
  peer:
    stage: traverse
    input: split
    sources: {random: 4}
    backend: cuda
    transport: peer
    tuning: {predecessors: smallest}
  any:   {stage: traverse, input: split, sources: {random: 4}, backend: cuda, transport: peer}
  tree:  {stage: verify, graph: split, traversal: any}
  nccl:  {stage: traverse, input: split, sources: {random: 4}, backend: cuda, transport: nccl}
  kept:  {stage: traverse, input: split, sources: {random: 4}, backend: cuda, transport: nccl, output: checks}
  grouped:
    stage: traverse
    input: split
    sources: {random: 4}
    backend: cuda
    transport: nccl
    tuning: {groups: RANKS, local_all_to_all: true}
  check: {stage: verify, graph: split, traversal: nccl}
  found: {stage: verify, graph: split, traversal: kept}
"""

COMPONENTS = """
  edges:  {stage: ingest, source: {rmat: {scale: 14, edge_factor: 4, seed: 5}}}
  graph:  {stage: symmetrize, input: edges}
  alone:  {stage: traverse, input: graph, algorithm: components, backend: cpu}
  parts:  {stage: traverse, input: split, algorithm: components, backend: cuda}
  sound:  {stage: verify, graph: split, traversal: parts}
  again:  {stage: verify, graph: graph, traversal: parts}
  quiet:  {stage: traverse, input: split, algorithm: components, backend: cuda, output: checks}
  passed: {stage: verify, graph: split, traversal: quiet}
"""


@pytest.fixture
def gpus() -> int:
    cupy = pytest.importorskip("cupy")
    pytest.importorskip("dask_cuda")
    return int(cupy.cuda.runtime.getDeviceCount())


@pytest.fixture
def nccl() -> None:
    from gravel.kernels.partition.nccl import why_not

    if (problem := why_not()) is not None:
        pytest.skip(problem)


def test_transports_find_the_same(tmp_path: Path, gpus: int, nccl: None) -> None:
    root = run(tmp_path, SPLIT + SEARCHES, gpus)
    peer, one = outputs(root, "peer")
    for entry in ("nccl", "grouped"):
        traversal, measured = outputs(root, entry)
        assert numpy.array_equal(peer.distance, traversal.distance)
        assert numpy.array_equal(peer.predecessor, traversal.predecessor)
        assert measured.backend == "cuda"
        assert measured.asked["transport"] == "nccl"
    _, measured = outputs(root, "nccl")
    for mine, theirs in zip(one.searches, measured.searches, strict=True):
        assert mine["levels"] == theirs["levels"]
        assert same_levels(mine["ranks"], theirs["ranks"])
        assert max(theirs["ranks"]["visit"]) > 0
    for entry in ("check", "found"):
        (verified,) = outputs(root, entry)
        assert len(verified.checks) == 7


def test_components_are_those_of_the_whole_graph(tmp_path: Path, gpus: int) -> None:
    root = run(tmp_path, SPLIT + COMPONENTS, gpus)
    (alone, _), (parts, measured) = outputs(root, "alone"), outputs(root, "parts")
    assert numpy.array_equal(alone.component, parts.component)
    assert measured.backend == "cuda"
    assert f"{len(numpy.unique(numpy.asarray(alone.component))):,} components" in measured.notes
    quiet, _ = outputs(root, "quiet")
    assert quiet.component is None
    for entry in ("sound", "again", "passed"):
        (verified,) = outputs(root, entry)
        assert len(verified.checks) == 4
    if gpus > 1:
        assert f"each of {gpus} ranks on its own worker" in measured.reason
        assert measured.searches[0]["exchange"]["rounds"] > 0


def test_a_killed_rank_costs_a_retry(tmp_path, gpus, nccl, monkeypatch) -> None:
    if gpus < 2:
        pytest.skip("two ranks take two GPUs")
    monkeypatch.setenv(FLAG, str(tmp_path / "lost"))
    monkeypatch.setattr(
        "gravel.stages.traverse.STAGE", dataclasses.replace(STAGE, run=traverse_losing_a_rank)
    )
    root = run(tmp_path, SPLIT + SEARCHES, 2)
    assert (tmp_path / "lost").exists()
    peer, _ = outputs(root, "peer")
    found: list[Any] = [outputs(root, entry) for entry in ("nccl", "grouped")]
    for traversal, _ in found:
        assert numpy.array_equal(peer.distance, traversal.distance)
    notes = [note for entry in ("nccl", "kept", "grouped") for note in outputs(root, entry)[1].notes]
    assert MADE_ANEW in notes
    assert children() == []
