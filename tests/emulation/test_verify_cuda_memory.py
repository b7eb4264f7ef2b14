"""Arrays that the GPU's verifier is given, and memory that it takes of an emulated device."""

from __future__ import annotations

import sys
from typing import Any

import numpy
import pytest

from gravel.kernels.buffers import exact
from gravel.kernels.verify.cuda import bfs, memory
from gravel.kernels.verify.cuda.memory import Batch
from gravel.kernels.verify.cuda.resources import Resources
from tests.emulation.strict_cupy import on_device
from tests.emulation.verify_case import FORMS, GRID, ROOM, SKEWED, Pool, Stored, check_all, emulate
from tests.kernels.verify.damage import HUBS, csr_of, damaged, search


@pytest.fixture(autouse=True)
def pool(monkeypatch: pytest.MonkeyPatch) -> Pool:
    return emulate(monkeypatch)


def test_arrays_on_the_device_are_used_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    csr = csr_of(SKEWED, symmetric=True)
    answers = [labels for _, labels in damaged(csr, 3, seed=9)]

    def refuse(*_: object) -> None:
        raise AssertionError("copied from the host")

    monkeypatch.setattr("gravel.kernels.verify.cuda.upload._contiguous", refuse)
    for form in FORMS:
        check_all(csr, 3, answers, form, place=on_device)


def test_stored_arrays_are_read_in_slices() -> None:
    csr = csr_of(GRID, symmetric=True)
    answers = [labels for _, labels in damaged(csr, 3, seed=9)]
    for form in FORMS:
        check_all(csr, 3, answers, form, place=Stored)


def test_large_arrays_come_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    pinned: list[int] = []

    class Host:
        def register(self, address: int, size: int) -> None:
            pinned.append(size)

        def unregister(self, address: int) -> None:
            pinned.pop()

    monkeypatch.setattr("gravel.kernels.placement.pinned.CudaHost", Host)
    monkeypatch.setattr("gravel.kernels.verify.cuda.upload.DIRECT_BYTES", 64)
    monkeypatch.setattr("gravel.kernels.verify.cuda.upload.STAGE_BYTES", 1 << 10)
    emulated: Any = sys.modules["cupy"]

    class Device:
        def __init__(self, number: int = 3) -> None:
            self.id = number
            assert number == 3

        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(emulated.cuda, "Device", Device)
    csr = csr_of(SKEWED, symmetric=True)
    answers = [labels for _, labels in damaged(csr, 3, seed=9)]
    for form in FORMS:
        check_all(csr, 3, answers, form, place=Stored, threads=3)
    assert not pinned


def test_what_does_not_fit_is_refused_with_the_numbers() -> None:
    csr = csr_of(GRID, symmetric=True)
    d, p = search(csr, 0)
    with pytest.raises(MemoryError, match=r"needs at least [\d,]+ bytes, and 1,000 are free"):
        list(bfs.check_searches(*csr, [0], d[None], p[None], symmetric=True, resources=Resources(1000)))


def test_what_does_not_belong_to_the_graph_is_refused() -> None:
    csr = csr_of(GRID, symmetric=True)
    d, p = search(csr, 0)
    for labels, reason in (
        ((None, None), "neither"),
        ((d[None, :7], None), "distance has shape"),
        ((None, p[None].astype(float)), "labels are integers"),
    ):
        with pytest.raises(ValueError, match=reason):
            list(bfs.check_searches(*csr, [0], *labels, symmetric=True, resources=Resources(ROOM)))
    with pytest.raises(ValueError, match="source 221 is not in the graph"):
        list(bfs.check_searches(*csr, [221], d[None], symmetric=True, resources=Resources(ROOM)))


def test_batches_are_as_large_as_what_is_free() -> None:
    graph = memory.GraphSize(1 << 20, 1 << 24, 4)
    labels = memory.LabelSize(64, 4, 4)
    room, words = 1 << 34, []
    while (batch := memory.plan_searches(graph, labels, True, room)) is not None:
        assert batch.device_bytes <= room
        words.append((batch.words, batch.arcs))
        room = batch.device_bytes - (1 if batch.arcs is None else 1 << 22)
    assert [each for each, arcs in words if arcs is None] == [16, 8, 4, 2, 1]
    assert words[5][1] is not None
    assert memory.plan_searches(memory.GraphSize(1 << 31, 1, 4), labels, True, 1 << 60) is None
    # Rows that are on the device already are not cut.
    resident = memory.GraphSize(1 << 20, 1 << 24, 4, resident=True)
    batch = memory.plan_searches(resident, labels, True, 1 << 34)
    assert batch is not None
    assert batch.device_bytes < (1 << 34)


@pytest.mark.parametrize("arcs", [None, 2700], ids=["whole", "in parts"])
@pytest.mark.parametrize("searches", [1, 64])
@pytest.mark.parametrize("form", FORMS, ids=["both", "distance", "predecessor"])
@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
def test_the_memory_is_what_is_stated(
    pool: Pool, form: tuple[bool, bool], searches: int, arcs: int | None, symmetric: bool
) -> None:
    csr = csr_of(HUBS, symmetric=symmetric)
    d, p = search(csr, 0)
    labels = [numpy.stack([each] * searches) if has else None for each, has in zip((d, p), form, strict=True)]
    # What the names of offenders take belongs to it.
    for array, wrong in zip(labels, (2, 7), strict=True):
        if array is not None:
            array[-1, 7] = wrong
    graph = memory.GraphSize(len(d), len(csr[1]), 4)
    sizes = memory.LabelSize(searches, *(4 * has for has in form))
    planned = memory.plan_searches(graph, sizes, symmetric, ROOM)
    assert planned is not None
    stated = exact(memory.searches(graph, sizes, symmetric, planned.words))
    stated += exact(memory.rows(graph, arcs)) - memory.MARGIN
    batch = Batch(planned.words, arcs, 0)
    list(
        bfs.check_searches(
            *csr, [0] * searches, *labels, symmetric=symmetric, resources=Resources(ROOM, batch=batch)
        )
    )
    # The counts of each search and what lists of rows and offenders take.
    assert pool.peak <= stated + 400 * searches + 40_000
    # A part has fewer rows than there is room for.
    assert stated <= (1.2 if arcs is None else 1.4) * pool.peak
    assert pool.used == 0
