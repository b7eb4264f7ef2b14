"""Arrays of devices between ranks: through peers' mailboxes, and by way of the host."""

from __future__ import annotations

import ctypes
import sys
import threading
from typing import Any

import numpy
import pytest

from gravel.kernels.exchange import Endpoint, drive, gather, swap
from gravel.kernels.partition.distributor import wires
from gravel.kernels.partition.distributor.wires import HostWire, PeerWire, cuda_wire
from gravel.stages.rank_group import run_in_threads
from tests.emulation import fake_cupy


class Array(fake_cupy.Array):
    """Counts as CuPy's."""


Array.__module__ = "cupy"


def on_device(values: Any) -> Array:
    return numpy.array(values).view(Array)


@pytest.fixture(autouse=True)
def _cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = fake_cupy.module()
    fake.asarray = on_device
    fake.ascontiguousarray = lambda array: numpy.ascontiguousarray(array).view(Array)
    fake.empty = lambda count, dtype: on_device(numpy.full(count, 77, dtype))
    fake.cuda.runtime.memcpy = lambda to, source, size, kind: ctypes.memmove(to, source, size)
    monkeypatch.setitem(sys.modules, "cupy", fake)
    monkeypatch.setattr(wires, "process_id", threading.get_ident)


def exchange(end: Any, rounds: int, length: int) -> Any:
    """Send a lot to and fro, and come to a number that depends on all of it."""
    total = numpy.zeros(length, numpy.int64)
    for turn in range(rounds):
        own = on_device(numpy.arange(length) * (end.rank + 1) + turn)
        parcels = {to: (own + to, own[: to + 1].astype(numpy.uint32)) for to in end.others}
        for sender, (first, second) in (yield from swap(end, parcels)).items():
            assert type(first) is type(second) is Array
            assert second.dtype == numpy.uint32
            assert numpy.array_equal(first, numpy.arange(length) * (sender + 1) + turn + end.rank)
            assert numpy.array_equal(second, (numpy.arange(length) * (sender + 1) + turn)[: end.rank + 1])
            total += numpy.array(first)
        told = yield from gather(end, (own, "plain", numpy.arange(3)))
        for sender, (array, word, plain) in enumerate(told):
            assert (word, type(plain)) == ("plain", numpy.ndarray)
            total += numpy.array(array) * sender
    return total


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("half", [64, 1 << 16])
def test_peers_and_hosts_carry_alike(ranks: int, half: int) -> None:
    def through(made: Any) -> Any:
        def run(group: Any, _: Any) -> Any:
            with fake_cupy.Device(group.rank):
                wire = made(group)
                found = drive(exchange(Endpoint(wire), 6, 40), wire)
                if isinstance(wire, PeerWire):
                    wire.close()
                return found

        return run_in_threads(run, [None] * ranks)

    for mine, theirs in zip(through(HostWire), through(lambda group: PeerWire(group, half)), strict=True):
        assert numpy.array_equal(mine, theirs)


def test_a_rank_that_cannot_map_sends_all_by_way_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    fake: Any = sys.modules["cupy"]

    def refuse(handle: bytes, flags: int) -> int:
        raise RuntimeError("invalid device ordinal")

    monkeypatch.setattr(fake.cuda.runtime, "ipcOpenMemHandle", refuse)

    def run(group: Any, _: Any) -> Any:
        with cuda_wire(group, 1 << 12) as wire:
            return type(wire), drive(exchange(Endpoint(wire), 2, 9), wire)

    assert {kind for kind, _ in run_in_threads(run, [None] * 3)} == {HostWire}


def test_one_rank_needs_no_mailbox() -> None:
    def run(group: Any, _: Any) -> Any:
        with cuda_wire(group) as wire:
            return type(wire), drive(exchange(Endpoint(wire), 1, 9), wire)

    assert [kind for kind, _ in run_in_threads(run, [None])] == [HostWire]
