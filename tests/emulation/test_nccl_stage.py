"""traverse with `transport: nccl`: a rank on each emulated GPU, and what is said where that cannot be."""

from __future__ import annotations

import socket
import sys
import threading
import time
import types
from typing import Any

import numpy
import pytest

from gravel.kernels.partition.nccl import communicator
from gravel.kernels.partition.nccl.communicator import NcclCommunicator, NcclMissing, connect, why_not
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.rank_group import RankGroupBroken, run_in_threads
from gravel.stages.ranks import rank
from gravel.stages.traversal.parameters import TraverseParameters
from tests.emulation import fake_cupy, lazy_cupy
from tests.emulation.fake_nccl import Network
from tests.emulation.test_gpu_ranks import GPU, Workers
from tests.stages.ranks.test_searches import search, split


class Gpus(Workers):
    """Ranks that send over an emulated network."""

    def __init__(self, reserved: int) -> None:
        super().__init__(reserved)
        self.network = Network(max(1, reserved))


@pytest.fixture(autouse=True)
def emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", lazy_cupy.module(1))
    monkeypatch.setattr("gravel.kernels.cuda.wake.wake", lambda *_: None)
    monkeypatch.setattr("gravel.kernels.partition.nccl.launching.load", lazy_cupy.load)
    monkeypatch.setattr(
        "gravel.kernels.partition.nccl.launching.resident_blocks", lambda *_: fake_cupy.BLOCKS
    )


def carried_by(context: Gpus, monkeypatch: pytest.MonkeyPatch) -> None:
    def connected(group: Any, **_: Any) -> Any:
        return context.network.connect(group)

    monkeypatch.setattr("gravel.kernels.partition.nccl.rank.connect", connected)


@pytest.mark.parametrize("ranks", [1, 2])
def test_ranks_that_send_find_what_the_cpu_does(ranks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = split("two_parts", ranks)
    wanted, told = search(PlainContext(), stored)
    context = Gpus(ranks if ranks > 1 else 0)
    carried_by(context, monkeypatch)
    groups = {"groups": 2, "local_all_to_all": True} if ranks > 1 else {}
    found, measured = search(context, stored, backend="cuda", transport="nccl", tuning=groups)
    assert numpy.array_equal(found.distance, wanted.distance)
    assert numpy.array_equal(found.predecessor, wanted.predecessor)
    assert measured.backend == "cuda"
    assert measured.asked["transport"] == "nccl"
    for mine, theirs in zip(measured.searches, told.searches, strict=True):
        assert mine["levels"] == theirs["levels"]
        assert mine["ranks"]["normal"] == theirs["ranks"]["normal"]
        assert len(mine["ranks"]["reduce"]) == len(theirs["ranks"]["reduce"])
    assert not rank.RESIDENT


@pytest.mark.parametrize(("ranks", "groups"), [(1, 1), (2, 1), (2, 2)])
def test_the_settings_of_pan_2018_are_used_over_nccl(
    ranks: int, groups: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = split("two_parts", ranks)
    wanted, _ = search(PlainContext(), stored)
    context = Gpus(ranks if ranks > 1 else 0)
    carried_by(context, monkeypatch)
    paper = {"paper": "pan2018", "tuning": {"groups": groups}, "output": "distance"}
    found, measured = search(context, stored, backend="cuda", transport="nccl", **paper)
    assert numpy.array_equal(found.distance, wanted.distance)
    used = measured.ran["options"]
    assert (used["message_bytes"], used["changed_only"], used["groups"]) == (4 << 20, False, groups)
    assert used["reduction"] == "blocking"
    assert "reduction_algorithm" not in used
    assert "not used over NCCL: nn_directed" in measured.notes


def test_auto_takes_nccl_between_hosts_and_peers_say_no(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = split("two_parts", 2)
    context = Gpus(2)
    carried_by(context, monkeypatch)
    monkeypatch.setattr(socket, "gethostname", lambda: f"host{fake_cupy.Device().id}")
    with pytest.raises(StageError, match=r"\(host0, host1\), which takes NCCL, and rank 0 has none"):
        search(context, stored, backend="cuda")
    with pytest.raises(StageError, match="transport peer is for one"):
        search(context, stored, backend="cuda", transport="peer")
    monkeypatch.setattr("gravel.kernels.partition.nccl.why_not", lambda: None)
    found, _ = search(context, stored, backend="cuda")
    assert context.network.operations[0]
    assert numpy.array_equal(found.distance, search(PlainContext(), stored)[0].distance)


def test_what_cannot_be_is_said() -> None:
    stored = split("two_parts", 2)
    with pytest.raises(StageError, match="NCCL takes a GPU for each rank; there are 2 ranks, and 1 GPUs"):
        search(PlainContext(GPU), stored, backend="cuda", transport="nccl")
    with pytest.raises(StageError, match="placement pinned and transport nccl do not go together"):
        search(Gpus(2), stored, backend="cuda", transport="nccl", placement="pinned")
    with pytest.raises(StageError, match="transport nccl needs NCCL on every rank, and rank 0 has none"):
        search(Gpus(2), stored, backend="cuda", transport="nccl")
    with pytest.raises(StageError, match="transport nccl needs NCCL"):
        search(PlainContext(GPU), split("two_parts", 1), backend="cuda", transport="nccl")
    _, measured = search(PlainContext(), stored, transport="nccl")
    assert any("transport nccl is for ranks on GPUs, and was left out" in note for note in measured.notes)
    with pytest.raises(ValueError, match="components take no transport"):
        TraverseParameters(algorithm="components", transport="nccl")


def test_a_rank_that_is_lost_breaks_the_rank_group(monkeypatch: pytest.MonkeyPatch) -> None:
    context = Gpus(2)
    context.network = Network(2, lost=(1, 6), patience=0.3)
    carried_by(context, monkeypatch)
    with pytest.raises(RankGroupBroken, match="given up"):
        search(context, split("two_parts", 2), backend="cuda", transport="nccl")
    assert not rank.RESIDENT
    context.network = Network(2)
    assert search(context, split("two_parts", 2), backend="cuda", transport="nccl")


class Raw:
    """Stands for `cupy.cuda.nccl.NcclCommunicator`."""

    def __init__(self, size: int, unique: bytes, rank: int) -> None:
        self.told = size, unique, rank
        self.error: Exception | None = None
        self.aborted = 0
        self.met: list[tuple[str, int]] = []

    def abort(self) -> None:
        self.aborted += 1

    def check_async_error(self) -> None:
        assert not self.aborted, "its memory is gone"
        if self.error is not None:
            raise self.error

    def allGather(self, *_: Any) -> None:
        if self.error is not None:
            raise self.error

    reduceScatter = allGather

    def send(self, _pointer: int, _count: int, _kind: int, other: int, _stream: int) -> None:
        self.met.append(("send", other))

    def recv(self, _pointer: int, _count: int, _kind: int, other: int, _stream: int) -> None:
        self.met.append(("recv", other))


class NcclError(RuntimeError):
    """Stands for that of `cupy.cuda.nccl`."""


class Never:
    done = False


def with_nccl(monkeypatch: pytest.MonkeyPatch, raw: Any) -> None:
    constants = {f"NCCL_{name}": 0 for name in ("INT32", "UINT32", "INT64", "UINT64", "MIN")}
    module: Any = types.ModuleType("cupy.cuda.nccl")
    vars(module).update(constants, available=True, NcclCommunicator=raw, get_unique_id=lambda: b"unique")
    vars(module).update(groupStart=lambda: None, groupEnd=lambda: None, NcclError=NcclError)
    cuda: Any = types.ModuleType("cupy.cuda")
    vars(cuda).update(vars(sys.modules["cupy"].cuda), nccl=module)
    monkeypatch.setitem(sys.modules, "cupy.cuda", cuda)
    monkeypatch.setitem(sys.modules, "cupy.cuda.nccl", module)


def test_ranks_connect_with_the_id_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    assert why_not() is not None
    with_nccl(monkeypatch, Raw)
    assert why_not() is None

    def one(group: Any, device: int) -> Any:
        with fake_cupy.Device(device):
            made: Any = connect(group, connect_limit=5.0)
            made.close()
            return made._raw

    raws = run_in_threads(one, [0, 1])
    assert [raw.told for raw in raws] == [(2, b"unique", 0), (2, b"unique", 1)]
    assert all(raw.aborted == 1 for raw in raws)
    # Each has met the other, since nothing could end a first message that waits later.
    assert [raw.met for raw in raws] == [[("send", 1), ("recv", 1)], [("send", 0), ("recv", 0)]]
    with pytest.raises(NcclMissing, match="ranks 0 and 1 are on the same GPU"):
        run_in_threads(one, [1, 1])

    ended = threading.Event()
    with_nccl(monkeypatch, lambda *_: ended.wait(5))
    with pytest.raises(RuntimeError, match="not all ranks connected over NCCL"):
        run_in_threads(lambda group, _: connect(group, connect_limit=0.1), [None])
    ended.set()
    # Not to be met by the CuPy that other tests see.
    for thread in threading.enumerate():
        if thread.name == "gravel-nccl-connect":
            thread.join(5)


def test_waiting_ends_when_another_rank_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    with_nccl(monkeypatch, Raw)
    monkeypatch.setattr(communicator, "LOOK", 0.01)
    late = NcclCommunicator(Raw(2, b"", 0), 0, 2, time_limit=0.1)
    with pytest.raises(RuntimeError, match="given up"):
        late.wait(Never())
    assert late._raw.aborted == 1
    with pytest.raises(RuntimeError, match="given up"):
        late.all_gather(None, None, None)
    lost = NcclCommunicator(Raw(2, b"", 0), 0, 2, time_limit=60.0)
    lost._raw.error = KeyError(6)
    with pytest.raises(RuntimeError, match="NCCL lost another rank"):
        lost.wait(Never())
    lost.close()
    assert lost._raw.aborted == 1
    failing = NcclCommunicator(Raw(2, b"", 0), 0, 2, time_limit=60.0)
    failing._raw.error = NcclError("internal error")
    one = numpy.zeros(1, numpy.uint32)
    array = types.SimpleNamespace(data=types.SimpleNamespace(ptr=0), dtype=one.dtype, size=1)
    with pytest.raises(RuntimeError, match="NCCL lost another rank"):
        failing.all_gather(array, array, types.SimpleNamespace(ptr=0))
    ended = NcclCommunicator(Raw(2, b"", 0), 0, 2, time_limit=0.05)
    with ended._calling():
        ended._end()
    assert ended._failure() is None
    quiet = NcclCommunicator(Raw(1, b"", 0), 0, 1, time_limit=0.05)
    quiet.rest()
    time.sleep(0.15)
    assert not quiet._raw.aborted
    quiet.close()
