"""A graph made, searched and checked by emulated GPUs, each of its own rank: what CPU ranks find."""

from __future__ import annotations

import ctypes
import sys
import threading
import types
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy
import pytest

from gravel.kernels.cuda.launch import Kernels
from gravel.kernels.partition.distributor import wires
from gravel.kernels.partition.distributor.cuda import RankBuilder
from gravel.stages.context import PlainContext
from gravel.stages.distribute import distribute
from gravel.stages.distributing.parameters import DistributeParameters
from gravel.stages.errors import StageError, VerificationFailed
from gravel.stages.partitioning import resident
from gravel.stages.ranks.distributed import MADE_ANEW
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traverse import traverse
from gravel.stages.verify import VerifyParameters, verify
from tests.emulation import fake_cupy, grid_kernels, strict_cupy
from tests.emulation.test_gpu_ranks import Workers

SOURCE = {"rmat": {"scale": 6, "edge_factor": 6, "seed": 5}}


def as_one(fake: Any, kind: Any = fake_cupy.Array) -> Any:
    """Add to the devices and their memory what callers use of NumPy, with arrays of one kind."""

    def turned(found: Any) -> Any:
        return found.view(kind) if isinstance(found, numpy.ndarray) else found

    # What was never written must not look like zero.
    fake.empty = lambda shape, dtype=float: turned(numpy.full(shape, 0x5A5A5A5A, numpy.int64).astype(dtype))
    fake.asnumpy = numpy.array
    functions = {name for name in strict_cupy.LIKE_NUMPY if not isinstance(getattr(numpy, name), numpy.ufunc)}
    for name in (*functions, "asarray", "ascontiguousarray", "searchsorted"):
        fake.__dict__[name] = lambda *given, _name=name, **named: turned(
            getattr(numpy, _name)(*given, **named)
        )
    fake.cuda.runtime.memcpy = lambda to, source, size, kind: ctypes.memmove(to, source, size)
    fake.get_default_memory_pool = lambda: types.SimpleNamespace(
        free_all_blocks=lambda: None, total_bytes=lambda: 0, free_bytes=lambda: 0
    )
    return fake


def emulate(monkeypatch: pytest.MonkeyPatch, cupy: Any) -> None:
    """Let ranks be made, searched and checked on emulated GPUs."""
    resident.RESIDENT.clear()
    monkeypatch.setattr(fake_cupy.Array, "__module__", "cupy")
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(grid_kernels, "BLOCKS", 64)
    for module in ("csr.cuda", "partition.distributor.rows_cuda", "cuda.launch"):
        monkeypatch.setattr(f"gravel.kernels.{module}.load", grid_kernels.load)
    monkeypatch.setattr(
        "gravel.kernels.partition.distributor.rows_cuda.blocks_for", lambda items, block, most: 2
    )
    monkeypatch.setattr("gravel.kernels.cuda.blocks_for", lambda items, block, most: 2)
    monkeypatch.setitem(Kernels.__init__.__kwdefaults__, "block", 64)
    made = RankBuilder.__init__
    made_with = lambda self, *given: made(self, *given, block=64)  # noqa: E731
    monkeypatch.setattr("gravel.kernels.partition.distributor.cuda.RankBuilder.__init__", made_with)
    monkeypatch.setattr("gravel.kernels.partition.distributor.program.ON_DEVICE", ())
    monkeypatch.setattr("gravel.kernels.cuda.wake.wake", lambda *_: None)
    monkeypatch.setattr(wires, "HALF", 1 << 14)
    for module in (
        "gravel.kernels.partition.cuda.mapping.process_id",
        "gravel.kernels.partition.distributor.wires.process_id",
    ):
        monkeypatch.setattr(module, threading.get_ident)


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    emulate(monkeypatch, as_one(fake_cupy.module()))
    launching = "gravel.kernels.partition.cuda.launching"
    monkeypatch.setattr(f"{launching}.load", fake_cupy.load)
    monkeypatch.setattr(f"{launching}.resident_blocks", lambda *_: fake_cupy.BLOCKS)
    monkeypatch.setattr("gravel.kernels.partition.cuda.compact_ids.load", grid_kernels.load)


@pytest.mark.parametrize("ranks", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_gpus_find_what_cpu_ranks_do(gpus: None, ranks: int) -> None:
    parameters = DistributeParameters(source=SOURCE, ranks=ranks, threshold=8)
    asked = {"sources": {"random": 2, "seed": 1}}
    context = Workers(ranks)
    graph, _ = distribute(context, parameters)
    assert {held.backend for held in resident.RESIDENT.values()} == {"cuda"}
    smallest = TraverseParameters(tuning={"predecessors": "smallest"}, **asked)
    labels, measured = traverse(context, smallest, input=graph)
    kept, told = traverse(context, TraverseParameters(output="checks", **asked), input=graph)
    for run in (measured, told):
        assert run.backend == "cuda"
        assert MADE_ANEW not in run.notes
    assert verify(context, VerifyParameters(), graph=graph, traversal=kept).checks
    assert verify(context, VerifyParameters(), graph=graph, traversal=labels).checks
    # The CPU takes the ranks from the GPUs.
    on_cpu, expected = traverse(context, TraverseParameters(backend="cpu", **asked), input=graph)
    assert MADE_ANEW not in expected.notes
    assert {held.backend for held in resident.RESIDENT.values()} == {"cpu"}
    for found in (labels, kept):
        assert numpy.array_equal(found.sources, on_cpu.sources)
    assert numpy.array_equal(labels.distance, on_cpu.distance)
    assert numpy.array_equal(labels.predecessor, on_cpu.predecessor)
    for mine, theirs in zip(told.searches, expected.searches, strict=True):
        assert mine["levels"] == theirs["levels"]
    resident.RESIDENT.clear()
    again, _ = distribute(PlainContext(), parameters)
    assert again == graph


@pytest.mark.parametrize("ranks", [1, 3])
def test_components_are_those_of_cpu_ranks(gpus: None, ranks: int) -> None:
    source = {"uniform": {"vertices": 90, "edges": 60, "seed": 3}}
    context = Workers(ranks)
    graph, _ = distribute(context, DistributeParameters(source=source, ranks=ranks, threshold=3))
    labels, measured = traverse(context, TraverseParameters(algorithm="components"), input=graph)
    asked = TraverseParameters(algorithm="components", output="checks")
    kept, told = traverse(context, asked, input=graph)
    for run in (measured, told):
        assert run.backend == "cuda"
        assert MADE_ANEW not in run.notes
        assert (run.searches[0]["exchange"]["rounds"] > 0) == (ranks > 1)
    assert len(verify(context, VerifyParameters(), graph=graph, traversal=kept).checks) == 4
    assert len(verify(context, VerifyParameters(), graph=graph, traversal=labels).checks) == 4
    wrong = numpy.array(labels.component)
    wrong[89] = 0 if wrong[89] else 89
    with pytest.raises(VerificationFailed, match=r"edges_agree|connected"):
        verify(context, VerifyParameters(), graph=graph, traversal=replace(labels, component=wrong))
    assert {held.backend for held in resident.RESIDENT.values()} == {"cuda"}
    asked = TraverseParameters(algorithm="components", backend="cpu")
    on_cpu, expected = traverse(context, asked, input=graph)
    assert numpy.array_equal(labels.component, on_cpu.component)
    assert labels.component.dtype == on_cpu.component.dtype
    assert next(note for note in told.notes if " components" in note) in expected.notes


def test_gpus_that_are_no_peers_are_told(gpus: None) -> None:
    class OneDevice(Workers):
        def rank_group(self, function: Any, ranks: Sequence[Any]) -> list[Any]:
            if function.__name__ == "find_as_rank":
                return PlainContext.rank_group(self, function, ranks)
            return super().rank_group(function, ranks)

    context = OneDevice(2)
    source = {"path": {"vertices": 12}}
    graph, _ = distribute(context, DistributeParameters(source=source, ranks=2, threshold=3))
    with pytest.raises(StageError, match="several ranks share a GPU"):
        traverse(context, TraverseParameters(algorithm="components"), input=graph)
