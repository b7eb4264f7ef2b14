"""The kernels that verify components, on emulated blocks: what they find is what the CPU's verifier finds."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.verify import check_components, check_parts
from gravel.kernels.verify.cuda import components
from gravel.kernels.verify.cuda.memory import MARGIN, Batch, GraphSize, plan_components
from gravel.kernels.verify.cuda.resources import Resources
from tests.emulation import grid_kernels
from tests.emulation.strict_cupy import on_device
from tests.emulation.verify_case import ROOM, Pool, Stored, emulate
from tests.kernels.cuda_case import names
from tests.kernels.verify.damage import COMPONENT_DAMAGES, HUBS, ZOO, csr_of, damaged_components
from tests.zoo import ZooGraph, scipy_components, zoo

PARTS = next(graph for graph in ZOO if graph.name == "two_parts")
SKEWED = next(graph for graph in ZOO if graph.name == "skewed_random")
EMPTY = next(graph for graph in zoo() if not graph.vertex_count)


@pytest.fixture(autouse=True)
def pool(monkeypatch: pytest.MonkeyPatch) -> Pool:
    return emulate(monkeypatch)


def check(csr: Any, labels: Any, symmetric: bool, place: Any = lambda array: array, **options: Any) -> bool:
    """Hold both checks against the CPU's; returns whether the labels are right."""
    arrays = tuple(map(place, (*csr, labels)))
    resources = Resources(ROOM, **options)
    expected = check_components(*csr, labels, symmetric=symmetric)
    assert components.check_components(*arrays, resources, symmetric=symmetric) == expected
    found = components.check_parts(*arrays, resources, symmetric=symmetric)
    assert found == check_parts(*csr, labels, symmetric=symmetric)
    return all(each.passed for each in expected)


@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
@pytest.mark.parametrize("graph", [*ZOO, EMPTY, HUBS], ids=names)
def test_every_damage_is_found_as_the_cpu_finds_it(graph: ZooGraph, symmetric: bool) -> None:
    csr = csr_of(graph, symmetric=symmetric) if graph.vertex_count else graph.csr()
    right = scipy_components(*csr)
    if not graph.vertex_count:
        assert check(csr, right, symmetric)
        return
    for name, labels in damaged_components(right, seed=graph.vertex_count):
        assert check(csr, labels, symmetric) is (not name), name


def test_all_damages_are_there() -> None:
    seen: set[str] = set()
    for graph in (PARTS, SKEWED):
        for seed in range(4):
            right = scipy_components(*csr_of(graph, symmetric=True))
            seen |= {name for name, _ in damaged_components(right, seed)}
    assert seen - {""} == set(COMPONENT_DAMAGES)


def check_each_arc() -> None:
    """One leaf of a hub has another label: a row disagrees at one arc alone."""
    csr = csr_of(HUBS, symmetric=True)
    right = scipy_components(*csr)
    for place in (0, 31, 32, 2047, 2048, 2597, 2598):
        labels = right.copy()
        leaf = int(csr[1][place])
        labels[leaf] = leaf
        assert not check(csr, labels, True)


def test_each_arc_of_a_row_counts() -> None:
    check_each_arc()


@pytest.mark.parametrize("block", [32, 64, 128])
def test_every_block(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(grid_kernels, "THREADS", 128)
    csr = csr_of(SKEWED, symmetric=True)
    for _, labels in damaged_components(scipy_components(*csr), seed=block):
        check(csr, labels, True, block=block)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "uint8", "uint32", "uint64"])
def test_labels_of_every_type(dtype: str) -> None:
    csr = csr_of(PARTS, symmetric=True, index=numpy.uint64)
    for name, labels in damaged_components(scipy_components(*csr), seed=1):
        if name != "a label below 0" or dtype.startswith("int"):
            check(csr, labels.astype(dtype), True)


@pytest.mark.parametrize("place", [on_device, Stored])
def test_arrays_on_the_device_and_stored_ones(place: Any) -> None:
    csr = csr_of(HUBS, symmetric=True)
    labels = scipy_components(*csr).astype(numpy.uint32)
    assert check(csr, labels, True, place)
    labels[77] = 77
    assert not check(csr, labels, True, place)


def test_rows_that_come_in_parts() -> None:
    csr = csr_of(HUBS, symmetric=True)
    for name, labels in damaged_components(scipy_components(*csr), seed=3):
        assert check(csr, labels, True, batch=Batch(0, 2700, 0)) is (not name)


def test_labels_of_another_graph_and_too_little_memory_are_refused() -> None:
    csr = csr_of(PARTS, symmetric=True)
    labels = scipy_components(*csr)
    with pytest.raises(ValueError, match="component has shape"):
        components.check_components(*csr, labels[:4], Resources(ROOM))
    with pytest.raises(MemoryError, match=r"needs at least [\d,]+ bytes, and 9 are free"):
        components.check_components(*csr, labels, Resources(9))


@pytest.mark.parametrize("arcs", [None, 2700], ids=["whole", "in parts"])
def test_the_memory_is_what_is_stated(pool: Pool, arcs: int | None) -> None:
    csr = csr_of(HUBS, symmetric=True)
    labels = scipy_components(*csr).astype(numpy.uint32)
    labels[7] = 7
    planned = plan_components(GraphSize(len(labels), len(csr[1]), 4), 4, ROOM)
    assert planned is not None
    stated = planned.device_bytes - MARGIN - (4 * (len(csr[1]) - arcs) if arcs else 0)
    resources = Resources(ROOM, batch=Batch(0, arcs, 0))
    components.check_components(*csr, labels, resources, symmetric=True)
    assert pool.peak <= stated + 2000
    assert stated <= (1.3 if arcs else 1.2) * pool.peak
    assert pool.used == 0
