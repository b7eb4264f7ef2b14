"""The kernels that verify strong components, on emulated blocks: they find what the CPU's verifier finds."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.verify.cuda.memory import MARGIN, GraphSize, plan_strong_components
from gravel.kernels.verify.cuda.resources import Resources
from gravel.kernels.verify.cuda.strong_components import check_strong_components
from gravel.kernels.verify.strong_components import RULES
from gravel.kernels.verify.strong_components import check_strong_components as check_on_host
from tests.emulation import grid_kernels
from tests.emulation.strict_cupy import on_device
from tests.emulation.verify_case import ROOM, Pool, Stored, emulate
from tests.kernels.cuda_case import names
from tests.kernels.strong_components.test_strong_components import (
    both_rows,
    chain_of_cycles,
    expected,
    random_graphs,
)
from tests.kernels.verify.damage import damaged_components
from tests.zoo import ZooGraph, zoo


@pytest.fixture(autouse=True)
def pool(monkeypatch: pytest.MonkeyPatch) -> Pool:
    return emulate(monkeypatch)


def labels_of(rows: Any) -> Any:
    return expected(*rows).astype(numpy.int64)


def check(rows: Any, labels: Any, place: Any = lambda array: array, **options: Any) -> set[str]:
    """Hold the checks against the CPU's; returns the rules that are broken."""
    found = check_strong_components(*map(place, (*rows, labels)), Resources(ROOM, **options))
    assert found == check_on_host(*rows, labels)
    return {each.name for each in found if not each.passed}


@pytest.mark.parametrize("graph", list(zoo()), ids=names)
def test_every_damage_is_found_as_the_cpu_finds_it(graph: ZooGraph) -> None:
    rows = both_rows(graph)[:2]
    if not graph.vertex_count:
        assert not check(rows, labels_of(rows))
        return
    for name, labels in damaged_components(labels_of(rows), seed=graph.vertex_count):
        assert bool(check(rows, labels)) is bool(name), name


def test_random_graphs_with_loops_and_parallel_arcs() -> None:
    for seed, rows in enumerate(random_graphs()):
        for name, labels in damaged_components(labels_of(rows), seed):
            assert bool(check(rows, labels)) is bool(name), name


def test_every_rule_is_broken_by_some_damage() -> None:
    broken: set[str] = set()
    for rows in (chain_of_cycles(3, 4, 2), chain_of_cycles(40, 5, 1)):
        for _, labels in damaged_components(labels_of(rows), seed=3):
            broken |= check(rows, labels)
    assert broken == set(RULES)


def two_hubs() -> Any:
    """A hub has arcs to 4,999 vertices, each of these has one to another vertex, and that has one back."""
    leaves = 4999
    offsets = numpy.concatenate([[0], leaves + numpy.arange(leaves + 2)])
    columns = numpy.concatenate([1 + numpy.arange(leaves), numpy.full(leaves, leaves + 1), [0]])
    return offsets, columns.astype(numpy.uint32)


def cut(rows: Any, arc: int) -> Any:
    """Leave one arc out."""
    offsets, columns = rows
    return offsets - (numpy.arange(len(offsets)) > numpy.searchsorted(offsets, arc, "right") - 1), (
        numpy.delete(columns, arc)
    )


def check_each_arc() -> None:
    """One arc of a long row is missing, of which a leaf is reached, or reaches the hub, alone."""
    rows = two_hubs()
    labels = expected(*rows)
    assert not check(rows, labels)
    for arc in (0, 31, 32, 2047, 2048, 4095, 4096, 4998):
        assert check(cut(rows, arc), labels) == {"from_label"}
    last = len(rows[1])
    for leaf in (0, 1, 4997, 4998):
        assert check(cut(rows, last - 5000 + leaf), labels) == {"to_label"}


def test_each_arc_of_a_long_row_counts() -> None:
    check_each_arc()


def test_labels_of_many_members_are_removed_with_all_their_arcs() -> None:
    """Every vertex of one component has an arc to the next, whose number of entering arcs must come to 0."""
    n = 300
    cycle = numpy.stack([numpy.arange(n), (numpy.arange(n) + 1) % n])
    onward = numpy.stack([numpy.arange(n), numpy.full(n, n)])
    ends = numpy.concatenate([cycle, onward], axis=1)
    columns = ends[1][numpy.lexsort(ends[::-1])].astype(numpy.uint32)
    offsets = numpy.append(numpy.arange(0, 2 * n + 1, 2), 2 * n)
    labels = expected(offsets, columns)
    assert not check((offsets, columns), labels)
    back = offsets + (numpy.arange(n + 2) > n), numpy.append(columns, numpy.uint32(0))
    assert check(back, labels) == {"acyclic"}


@pytest.mark.parametrize("block", [32, 64, 128])
def test_every_block(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(grid_kernels, "THREADS", 128)
    rows = chain_of_cycles(20, 7, block)
    for _, labels in damaged_components(labels_of(rows), seed=block):
        check(rows, labels, block=block)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "uint8", "uint32", "uint64"])
def test_labels_of_every_type(dtype: str) -> None:
    offsets, columns = chain_of_cycles(6, 4, 1)
    rows = offsets, columns.astype(numpy.uint64)
    for name, labels in damaged_components(labels_of(rows), seed=1):
        if name != "a label below 0" or dtype.startswith("int"):
            check(rows, labels.astype(dtype))


@pytest.mark.parametrize("place", [on_device, Stored])
def test_arrays_on_the_device_and_stored_ones(place: Any) -> None:
    rows = two_hubs()
    labels = expected(*rows)
    assert not check(rows, labels, place)
    labels[77] = 77
    assert check(rows, labels, place)


def test_labels_of_another_graph_and_too_little_memory_are_refused() -> None:
    rows = chain_of_cycles(3, 4, 2)
    labels = expected(*rows)
    with pytest.raises(ValueError, match="component has shape"):
        check_strong_components(*rows, labels[:4], Resources(ROOM))
    with pytest.raises(MemoryError, match=r"needs at least [\d,]+ bytes, and 9 are free"):
        check_strong_components(*rows, labels, Resources(9))


def dense() -> Any:
    columns = numpy.random.default_rng(1).integers(0, 400, 200 * 400).astype(numpy.uint32)
    return numpy.arange(0, len(columns) + 1, 200), columns


@pytest.mark.parametrize("rows", [chain_of_cycles(2000, 2, 1), dense()], ids=["sparse", "dense"])
def test_the_memory_is_what_is_stated(pool: Pool, rows: Any) -> None:
    labels = expected(*rows)
    planned = plan_strong_components(GraphSize(len(labels), len(rows[1]), 4), 4, ROOM)
    assert planned is not None
    stated = planned.device_bytes - MARGIN
    assert not check(rows, labels)
    assert pool.peak <= stated + 2000
    assert stated <= 1.2 * pool.peak
    assert pool.used == 0
