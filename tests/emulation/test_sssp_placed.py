"""Shortest paths on an emulated GPU, with columns and weights in pinned host memory."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.placement.pinned import PinnedRefused
from gravel.kernels.sssp.buffers import ordered_bytes
from gravel.stages.artifacts import Graph
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.stage import Machine
from gravel.stages.traversal.buffers import extent_of
from gravel.stages.traversal.memory import estimate
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traverse import STAGE
from tests.emulation import grid_kernels
from tests.kernels.sssp.test_by_weight import skewed
from tests.kernels.verify.sssp_damage import hub_graph
from tests.stages.traverse_case import as_graph

GPU = Machine(backend="cuda", threads=2, host_memory=1 << 30, device_memory=1 << 30)
CPU = Machine(backend="cpu", threads=2, host_memory=1 << 30)
SOURCES = {"vertices": [0, 7, 1]}


@pytest.fixture(autouse=True)
def emulated(on_cpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gravel.stages.traversal.search.machine_name", lambda *_: "an emulated GPU")


def pinned_by(monkeypatch: pytest.MonkeyPatch, pin: Any) -> None:
    for module in ("pinned", "placed"):
        monkeypatch.setattr(f"gravel.kernels.placement.{module}.pin", pin)


def graph(dtype: Any, *, symmetric: bool = False) -> Graph:
    offsets, columns, weights = (skewed(dtype) if symmetric else hub_graph(dtype)).rows
    return as_graph(offsets, columns, symmetric=symmetric, weights=weights)


def asked(**more: Any) -> TraverseParameters:
    return TraverseParameters(algorithm="shortest_paths", sources=SOURCES, **more)


def run(machine: Machine, stored: Graph, **more: Any) -> Any:
    tuning = {"block": grid_kernels.THREADS} if machine is GPU else {}
    return STAGE.run(PlainContext(machine), asked(tuning=tuning, **more), input=stored)


@pytest.mark.parametrize("dtype", [numpy.uint32, numpy.float32])
def test_pinned_rows_give_the_same_paths(dtype: Any) -> None:
    stored = graph(dtype)
    wanted, _ = run(CPU, stored)
    for placement in ("device", "pinned"):
        found, measured = run(GPU, stored, placement=placement)
        numpy.testing.assert_array_equal(found.distance, wanted.distance)
        numpy.testing.assert_array_equal(found.predecessor, wanted.predecessor)
        assert ("pinned" in " ".join(measured.notes)) == (placement == "pinned")


def test_rows_that_do_not_fit_are_pinned() -> None:
    stored = graph(numpy.uint32)
    read = {"input": (extent_of(stored),)}
    whole = estimate(asked(), read, GPU)
    pinned = estimate(asked(placement="pinned"), read, GPU)
    assert whole.device_bytes - pinned.device_bytes == 8 * stored.arc_count
    limit = whole.device_bytes - 1
    _, measured = run(GPU, stored, device_memory=limit)
    assert measured.asked["placement"] == "pinned"
    _, measured = run(GPU, stored, device_memory=whole.device_bytes)
    assert measured.asked["placement"] == "device"
    refused = estimate(asked(device_memory=pinned.device_bytes - 1), read, GPU).refusal
    assert "no placement fits: pinned, the least, needs" in refused


def test_rows_are_ordered_by_weight_where_the_copy_fits() -> None:
    stored = graph(numpy.uint32, symmetric=True)
    read = {"input": (extent_of(stored),)}
    whole = estimate(asked(), read, GPU).device_bytes
    for limit, ordered in ((None, True), (whole, True), (whole - 1, False)):
        _, measured = run(GPU, stored, device_memory=limit)
        assert measured.ran["options"]["by_weight"] is ordered
        assert measured.asked["placement"] in ("auto", "device")
    least = estimate(asked(device_memory=whole - 1), read, GPU).device_bytes
    assert whole - least == ordered_bytes(stored.arc_count, 4)
    assert run(GPU, stored, placement="pinned")[1].ran["options"]["by_weight"] is False


def refuse(*_: Any) -> None:
    raise PinnedRefused("no locked memory")


def test_rows_go_to_the_device_where_the_system_does_not_pin(monkeypatch: pytest.MonkeyPatch) -> None:
    pinned_by(monkeypatch, refuse)
    stored = graph(numpy.uint32)
    wanted, _ = run(CPU, stored)
    found, measured = run(GPU, stored, placement="pinned")
    numpy.testing.assert_array_equal(found.distance, wanted.distance)
    assert any("the system refuses pinned memory (no locked memory)" in note for note in measured.notes)
    needed = estimate(asked(), {"input": (extent_of(stored),)}, GPU).device_bytes
    with pytest.raises(StageError, match="algorithm shortest_paths does not read streamed rows") as found:
        run(GPU, stored, device_memory=needed - 1)
    assert "backend: cpu" in (found.value.hint or "")


def test_weights_that_the_system_does_not_pin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gravel.kernels.placement.pinned.pin", refuse)
    with pytest.raises(StageError, match=r"the system does not pin the weights \(no locked memory\)"):
        run(GPU, graph(numpy.uint32), placement="pinned")
