"""partition on an emulated GPU: what the CPU makes, at once and in ranges, and where memory is short."""

from __future__ import annotations

import itertools
import re
import sys
from typing import Any

import numpy
import pytest

import gravel.stages.partition as stage
from gravel.kernels.partition import chunks_cuda
from gravel.kernels.partition.distributor import buffers
from gravel.stages.artifacts import Ordering
from gravel.stages.context import PlainContext
from gravel.stages.partition import STAGE, PartitionParameters, partition
from gravel.stages.partitioning import on_device as on_device_module
from gravel.stages.stage import Extent
from tests.emulation import grid_kernels, strict_cupy
from tests.emulation.strict_cupy import on_device
from tests.emulation.verify_case import Pool, Stored, emulate
from tests.kernels.cuda_case import rmat
from tests.stages.preparing_case import (
    ASKED,
    ROOM,
    Keeping,
    divided,
    divided_on_cpu,
    graph_of,
    machine,
    placed,
    same_partition,
    words,
)
from tests.zoo import zoo

ZOO = list(zoo())
SKEWED = rmat(9)
FEW = [ZOO[0], *ZOO[-2:], SKEWED]


@pytest.fixture(autouse=True)
def pool(monkeypatch: pytest.MonkeyPatch) -> Pool:
    made = emulate(monkeypatch)
    monkeypatch.setattr(chunks_cuda, "BLOCK", grid_kernels.THREADS)
    # What is counted for large graphs would be all of a small one.
    monkeypatch.setattr(on_device_module, "LEAST_ARCS", 16)
    monkeypatch.setattr(buffers, "TILE_ARCS", chunks_cuda.BLOCK * chunks_cuda.ROUNDS)
    return made


@pytest.mark.parametrize("asked", ASKED, ids=words)
def test_the_gpu_divides_as_the_cpu_does(asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    members = [*ZOO, SKEWED] if asked in (ASKED[4], ASKED[7]) else FEW
    for member, symmetric in itertools.product(members, (True, False)):
        graph = graph_of(member, symmetric)
        expected = divided_on_cpu(graph, **asked)
        context: PlainContext = (PlainContext if symmetric else Keeping)(machine("cuda"))
        same_partition(divided(context, graph, **asked), expected)
        # Ranges of few arcs, on a device that the whole graph does not fit.
        with monkeypatch.context() as small:
            small.setattr(on_device_module, "RANGE_ARCS", 256)
            small.setattr(on_device_module, "PIECE_ROWS", 64)
            small.setattr(on_device_module, "whole_bytes", lambda size: ROOM + 1)
            context = Keeping(machine("cuda"))
            same_partition(divided(context, graph, **asked), expected)


@pytest.mark.parametrize("place", [on_device, Stored], ids=["on the device", "stored"])
@pytest.mark.parametrize("whole", [True, False])
def test_arrays_wherever_they_are(place: Any, whole: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of(SKEWED, index=numpy.uint64)
    there = placed(graph, place)
    if not whole:
        monkeypatch.setattr(on_device_module, "RANGE_ARCS", 512)
        monkeypatch.setattr(on_device_module, "whole_bytes", lambda size: ROOM + 1)
    for asked in ({"ranks": 2, "threshold": 5}, {"ranks": 2, "scheme": "striped"}):
        found = divided(PlainContext(machine("cuda")), there, **asked)
        same_partition(found, divided_on_cpu(graph, **asked))


def test_results_stay_on_the_device() -> None:
    found = partition(
        Keeping(machine("cuda")), PartitionParameters(ranks=2, threshold=5), input=graph_of(SKEWED)
    )
    assert all(type(array) is strict_cupy.Array for array in found.arrays.values())
    found = partition(
        PlainContext(machine("cuda")), PartitionParameters(ranks=2, threshold=5), input=graph_of(SKEWED)
    )
    assert all(type(array) is numpy.ndarray for array in found.arrays.values())


@pytest.mark.parametrize("asked", [{"scheme": "striped"}, {"threshold": 5}], ids=["striped", "delegates"])
def test_ranges_shrink_where_there_is_less_room_than_stated(
    asked: dict[str, Any], pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = graph_of(SKEWED)
    expected = divided_on_cpu(graph, ranks=2, **asked)
    # Counts of degrees take as much for any graph.
    fixed = 3 * 8 * 65536 + 2048 if "threshold" in asked else 0
    logs = []
    for limit, told in ((1 << 40, 0), (fixed + 30_000, 0), (fixed + 12_000, 1 << 40), (1000, 0)):
        pool.limit = limit
        # Another program takes what was free a moment ago.
        free = sys.modules["cupy"].cuda.runtime
        monkeypatch.setattr(free, "memGetInfo", lambda told=told: (told or pool.limit - pool.used, 1 << 40))
        context = PlainContext(machine("cuda"))
        same_partition(partition(context, PartitionParameters(ranks=2, **asked), input=graph), expected)
        assert not pool.used
        logs.append(context.messages)
    assert not logs[0]
    assert re.search("bytes are free; the graph is divided [0-9,]+ arcs at a time", logs[1][0])
    assert not any("smaller" in line for line in logs[1])
    assert sum("ranges become smaller" in line for line in logs[2]) > 1
    assert not any("the CPU divides" in line for line in logs[2])
    assert "the CPU divides the graph: out of " in logs[3][-1]


def test_a_row_that_does_not_fit_is_left_to_the_cpu(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_device_module, "PIECE_ROWS", 16)
    star = graph_of(next(graph for graph in ZOO if graph.name == "star_300"))
    pool.limit = 2000
    context = PlainContext(machine("cuda"))
    found = partition(context, PartitionParameters(ranks=2, scheme="striped"), input=star)
    same_partition(found, divided_on_cpu(star, ranks=2, scheme="striped"))
    assert "bytes are free, for row 0 alone" in context.messages[-1]


def test_a_device_that_is_too_small_leaves_it_to_the_cpu() -> None:
    graph = graph_of(SKEWED)
    context = PlainContext(machine("cuda", 1000))
    parameters = PartitionParameters(ranks=2, threshold=5)
    same_partition(partition(context, parameters, input=graph), divided_on_cpu(graph, ranks=2, threshold=5))
    assert "the CPU divides the graph: partition needs" in context.messages[0]
    extent = Extent(kind="Graph", vertices=graph.vertex_count, arcs=graph.arc_count)
    need = STAGE.estimate(parameters, {"input": (extent,)}, machine("cuda", 1000))
    assert need.device_bytes == 0
    assert need.note == "on the CPU: partition needs 3 MiB of GPU memory, and 0 MiB are free"
    assert need.host_bytes == STAGE.estimate(parameters, {"input": (extent,)}, machine("cpu")).host_bytes


@pytest.mark.parametrize("asked", [*ASKED[:1], *ASKED[5:]], ids=words)
def test_no_more_is_taken_than_stated(
    asked: dict[str, Any], pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = 0 if "scheme" in asked else 4 * 8 * 65536
    graph = graph_of(rmat(13))
    parameters = PartitionParameters(**asked)
    extent = Extent(kind="Graph", vertices=graph.vertex_count, arcs=graph.arc_count)
    expected = divided_on_cpu(graph, **asked)
    stated = []
    for room in (ROOM, counts + 800_000, counts + 500_000):
        need = STAGE.estimate(parameters, {"input": (extent,)}, machine("cuda", room))
        pool.peak = 0
        context = PlainContext(machine("cuda", room))
        same_partition(partition(context, parameters, input=graph), expected)
        assert pool.peak <= need.device_bytes <= room
        assert not any("memory" in line for line in context.messages)
        stated.append((need.device_bytes, pool.peak))
    assert stated[0] > stated[1] > stated[2] > (0, 0)
    print(stated)


def test_tiles_are_stated_as_large_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert buffers.TILE_ARCS == chunks_cuda.BLOCK * chunks_cuda.ROUNDS
    assert max(stage.RANKS_AT_ONCE, stage.STRIPES_AT_ONCE) <= chunks_cuda.MAX_RANKS


def test_facts_of_the_graph_are_kept() -> None:
    graph = graph_of(SKEWED)
    permutation = numpy.arange(graph.vertex_count, dtype=numpy.uint32)
    ordering = Ordering(**{**vars(graph), "loop_count": 2}, permutation=permutation, method="x")
    stored = partition(Keeping(machine("cuda")), PartitionParameters(ranks=2, threshold=9), input=ordering)
    assert stored.permutation is permutation
    assert (stored.loop_count, stored.ranks, stored.threshold) == (2, 2, 9)
