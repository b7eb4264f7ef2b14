"""A distributed graph searched by emulated GPUs that send to each other: what CPU ranks find."""

from __future__ import annotations

import socket
from typing import Any

import numpy
import pytest

from gravel.stages.artifacts import DistributedGraph
from gravel.stages.context import PlainContext
from gravel.stages.distribute import distribute
from gravel.stages.distributing.parameters import DistributeParameters
from gravel.stages.errors import StageError
from gravel.stages.partitioning import resident
from gravel.stages.rank_group import RankGroupBroken
from gravel.stages.ranks.distributed import MADE_ANEW
from gravel.stages.stage import Extent, Machine
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traverse import STAGE, traverse
from gravel.stages.verify import VerifyParameters, verify
from tests.emulation import fake_cupy, lazy_cupy
from tests.emulation.fake_nccl import Network
from tests.emulation.test_distributed_gpu import SOURCE, as_one, emulate
from tests.emulation.test_gpu_ranks import Workers

ASKED: dict[str, Any] = {"sources": {"random": 2, "seed": 1}}


@pytest.fixture(autouse=True)
def gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    lazy = lazy_cupy.module(1)
    copied = lazy.asarray
    as_one(lazy, lazy_cupy.Array)
    lazy.asarray = copied
    emulate(monkeypatch, lazy)
    monkeypatch.setattr(lazy_cupy.Array, "__module__", "cupy")
    monkeypatch.setattr("gravel.kernels.partition.nccl.launching.load", lazy_cupy.load)
    monkeypatch.setattr(
        "gravel.kernels.partition.nccl.launching.resident_blocks", lambda *_: fake_cupy.BLOCKS
    )


def made(context: PlainContext, ranks: int) -> DistributedGraph:
    return distribute(context, DistributeParameters(source=SOURCE, ranks=ranks, threshold=8))[0]


def carried_by(network: Network, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Let ranks connect over a network; returns where the communicators will be."""
    communicators: list[Any] = []

    def connected(group: Any, **_: Any) -> Any:
        communicators.append(network.connect(group))
        return communicators[-1]

    monkeypatch.setattr("gravel.kernels.partition.nccl.rank.connect", connected)
    return communicators


@pytest.mark.parametrize(
    ("ranks", "tuning"), [(1, {}), (2, {}), (2, {"groups": 2, "local_all_to_all": True})]
)
def test_ranks_that_send_find_what_the_cpu_does(
    ranks: int, tuning: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    context = Workers(ranks)
    graph = made(context, ranks)
    communicators = carried_by(Network(ranks), monkeypatch)
    asked = {**ASKED, "transport": "nccl", "tuning": tuning}
    labels, measured = traverse(context, TraverseParameters(**asked), input=graph)
    kept, told = traverse(context, TraverseParameters(output="checks", **asked), input=graph)
    # One for each rank and traversal, all of them ended.
    assert len(communicators) == 2 * ranks
    assert all(each.closed for each in communicators)
    for run in (measured, told):
        assert run.backend == "cuda"
        assert run.asked["transport"] == "nccl"
        assert MADE_ANEW not in run.notes
    for traversal in (labels, kept):
        assert len(verify(context, VerifyParameters(), graph=graph, traversal=traversal).checks) == 7
    assert not any(held.kept.get("searcher") for held in resident.RESIDENT.values())
    on_cpu, expected = traverse(
        context, TraverseParameters(backend="cpu", tuning=tuning, **ASKED), input=graph
    )
    assert numpy.array_equal(labels.distance, on_cpu.distance)
    assert numpy.array_equal(labels.predecessor, on_cpu.predecessor)
    for mine, theirs in zip(told.searches, expected.searches, strict=True):
        assert mine["levels"] == theirs["levels"]
        for name in ("normal", "delegates", "backward"):
            assert mine["ranks"][name] == theirs["ranks"][name]
        if not tuning:
            assert mine["ranks"]["vertex_bytes"] == theirs["ranks"]["vertex_bytes"]


def test_auto_takes_nccl_between_hosts_and_peers_say_no(monkeypatch: pytest.MonkeyPatch) -> None:
    context = Workers(2)
    monkeypatch.setattr(socket, "gethostname", lambda: f"host{fake_cupy.Device().id}")
    graph = made(context, 2)
    network = Network(2)
    carried_by(network, monkeypatch)
    with pytest.raises(StageError, match=r"\(host0, host1\), which takes NCCL, and rank 0 has none"):
        traverse(context, TraverseParameters(**ASKED), input=graph)
    with pytest.raises(StageError, match="transport peer is for one"):
        traverse(context, TraverseParameters(transport="peer", **ASKED), input=graph)
    with pytest.raises(StageError, match="the ranks are on several hosts"):
        traverse(context, TraverseParameters(algorithm="components"), input=graph)
    assert not network.operations[0]
    monkeypatch.setattr("gravel.kernels.partition.nccl.why_not", lambda: None)
    found, _ = traverse(context, TraverseParameters(output="distance", **ASKED), input=graph)
    assert network.operations[0]
    on_cpu, _ = traverse(context, TraverseParameters(backend="cpu", **ASKED), input=graph)
    assert numpy.array_equal(found.distance, on_cpu.distance)


def test_a_rank_that_is_lost_breaks_the_rank_group(monkeypatch: pytest.MonkeyPatch) -> None:
    context = Workers(2)
    graph = made(context, 2)
    asked = TraverseParameters(transport="nccl", **ASKED)
    communicators = carried_by(Network(2, lost=(1, 6), patience=0.3), monkeypatch)
    with pytest.raises(RankGroupBroken, match="given up"):
        traverse(context, asked, input=graph)
    assert all(each.closed for each in communicators)
    # The ranks are still there, and connect anew.
    carried_by(Network(2), monkeypatch)
    _, measured = traverse(context, asked, input=graph)
    assert MADE_ANEW not in measured.notes


def test_what_cannot_be_is_said() -> None:
    context = Workers(2)
    graph = made(context, 2)
    with pytest.raises(StageError, match="transport nccl needs NCCL on every rank, and rank 0 has none"):
        traverse(context, TraverseParameters(transport="nccl", **ASKED), input=graph)
    asked = TraverseParameters(transport="nccl", tuning={"reduction_algorithm": "tree"}, **ASKED)
    with pytest.raises(StageError, match="reduction_algorithm tree and transport nccl do not go together"):
        traverse(context, asked, input=graph)
    asked = TraverseParameters(transport="peer", tuning={"groups": 3}, **ASKED)
    with pytest.raises(StageError, match="2 ranks do not make 3 equal groups"):
        traverse(context, asked, input=graph)
    _, measured = traverse(context, TraverseParameters(backend="cpu", transport="nccl", **ASKED), input=graph)
    assert any("transport nccl is for ranks on GPUs, and was left out" in note for note in measured.notes)


def test_what_comes_takes_room() -> None:
    graph = Extent("DistributedGraph", 1 << 28, 1 << 33, ranks=2, normal_arcs=1 << 33)
    gpus = Machine(backend="cuda", threads=8, host_memory=1 << 39, device_memory=140 << 30)
    peer, nccl = (
        STAGE.estimate(TraverseParameters(output="checks", transport=each), {"input": (graph,)}, gpus)
        for each in ("peer", "nccl")
    )
    assert nccl.device_bytes == peer.device_bytes + 8 * (1 << 33) // 2
