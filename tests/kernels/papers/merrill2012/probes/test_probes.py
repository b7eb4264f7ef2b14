"""Gathers and look-ups alone: the twins against what NumPy says of each level, the GPU against the twins."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.papers.merrill2012.probes import COUPLED, GATHERS, LOOKUPS, SCHEDULES, prepare
from gravel.kernels.papers.merrill2012.probes.gather_cpu import ARCS, SECTORS, SLOTS, gather_level
from gravel.kernels.papers.merrill2012.probes.levels import Levels, levels_of
from tests.kernels.cuda_case import ZOO, fast_csr, names, on_device, rmat
from tests.zoo import ZooGraph, scipy_distances

EMPTY = numpy.empty(0, numpy.uint32)


def case(graph: ZooGraph, *, symmetric: bool = True, index: Any = numpy.uint32) -> tuple[Any, Any, Levels]:
    """Columns, distances from the vertex with most neighbours, and their levels."""
    offsets, columns = fast_csr(graph, symmetric=symmetric, index=index)
    distance = scipy_distances(offsets, columns, int(numpy.diff(offsets).argmax()))
    return columns, distance, levels_of(distance, offsets)


def edges_of(columns: Any, levels: Levels, level: int) -> Any:
    rows = levels.ranges[levels.vertex_begin[level] : levels.vertex_begin[level + 1]]
    return numpy.concatenate([columns[begin:end] for begin, end in rows])


def check(columns: Any, distance: Any, levels: Levels, *, repeats: int = 1, **options: Any) -> None:
    """Every part reads every arc, finds every vertex, and lets no visited one pass."""
    probes = prepare(columns, levels, len(distance), **options)
    host = columns if isinstance(columns, numpy.ndarray) else columns.get()
    edges = [edges_of(host, levels, level) for level in range(levels.count)]
    sums = [int(each.astype(numpy.uint64).sum()) + len(each) for each in edges]
    distinct, checksums = probes.distinct()
    assert distinct.tolist() == [len(numpy.unique(each)) for each in edges]
    assert checksums.tolist() == sums
    for name in GATHERS:
        for schedule in SCHEDULES:
            timed = probes.gather(name, schedule=schedule, repeats=repeats)
            assert timed.counts.tolist() == sums, (name, schedule)
            assert (timed.milliseconds >= 0).all()
    fresh = levels.fresh_counts
    # What a look-up may at most take for fresh: arcs to vertices that were not labelled when the level began.
    unlabelled = [int((distance[each] == level + 1).sum()) for level, each in enumerate(edges)]
    for name in LOOKUPS:
        counts = probes.look_up(name, repeats=repeats).counts.astype(numpy.int64)
        assert (counts >= fresh).all(), name
        if name == "atomic":
            assert counts.tolist() == fresh.tolist()
        if name != "bitmask":  # which labels visited vertices again
            assert (counts <= unlabelled).all(), name
            numpy.testing.assert_array_equal(probes.labels(), distance)
    for name in COUPLED:
        for schedule in SCHEDULES:
            counts = probes.couple(name, schedule=schedule, repeats=repeats).counts.astype(numpy.int64)
            numpy.testing.assert_array_equal(probes.labels(), distance)
            assert (counts >= fresh).all()
            assert (counts <= unlabelled).all()


@pytest.mark.parametrize("graph", ZOO, ids=names)
def test_every_part_does_its_work(graph: ZooGraph) -> None:
    check(*case(graph))


def test_directed_graphs() -> None:
    check(*case(next(graph for graph in ZOO if graph.name == "skewed_random"), symmetric=False))


def test_levels_are_listed_in_order() -> None:
    graph = next(graph for graph in ZOO if graph.name == "skewed_random")
    _, distance, levels = case(graph)
    reached = numpy.flatnonzero(distance >= 0)
    assert levels.vertices.tolist() == reached[numpy.argsort(distance[reached], kind="stable")].tolist()
    assert levels.vertex_counts.tolist() == numpy.bincount(distance[reached]).tolist()
    assert levels.arc_counts.sum() == (levels.ranges[:, 1] - levels.ranges[:, 0]).sum()


def gathered(name: str, lengths: list[int], *, block: int = 64, sector: int = 8) -> dict[str, int]:
    ends = numpy.cumsum(lengths)
    ranges = numpy.stack([ends - lengths, ends], axis=1).astype(numpy.int64)
    counts = numpy.zeros(4, numpy.uint64)
    gather_level(ranges, EMPTY, GATHERS[name], block, 4 * block, sector, counts)
    assert counts[ARCS] == sum(lengths)
    return {"slots": int(counts[SLOTS]), "sectors": int(counts[SECTORS])}


def test_lanes_and_sectors_are_counted_as_the_paper_explains_them() -> None:
    # 32 rows of one arc: one load of full lanes reads 4 sectors, or 32 loads of one lane each.
    ones = [1] * 32
    assert gathered("serial", ones) == {"slots": 32, "sectors": 4}
    assert gathered("warp", ones) == {"slots": 32 * 32, "sectors": 32}
    assert gathered("scan", ones) == {"slots": 64, "sectors": 4}
    assert gathered("scan_warp_cta", ones) == gathered("scan", ones)
    # One row of 320 arcs among 31 empty ones keeps a warp for 320 steps, or lists 320 offsets alone.
    hub = [320] + [0] * 31
    assert gathered("serial", hub) == {"slots": 320 * 32, "sectors": 320}
    assert gathered("warp", hub) == {"slots": 320, "sectors": 40}
    assert gathered("scan", hub) == {"slots": 320 + 32 * 320, "sectors": 40}
    assert gathered("scan_warp_cta", hub) == {"slots": 320, "sectors": 40}
    # 40 arcs are for a warp, with 24 lanes of its second load idle.
    assert gathered("scan_warp_cta", [40]) == {"slots": 64, "sectors": 5}


def test_each_filter_lets_no_more_pass_than_the_one_before_it() -> None:
    for name in ("grid_13x17", "skewed_random", "complete_40", "star_last_hub"):
        columns, distance, levels = case(next(graph for graph in ZOO if graph.name == name))
        probes = prepare(columns, levels, len(distance))
        passed = [int(probes.look_up(each, repeats=1).counts.sum()) for each in LOOKUPS]
        assert passed == sorted(passed, reverse=True)
        assert passed[-1] == len(levels.vertices) - 1


def test_an_unfit_block_is_refused() -> None:
    columns, distance, levels = case(ZOO[0])
    with pytest.raises(ValueError, match="multiple of 32"):
        prepare(columns, levels, len(distance), block=100)


@pytest.mark.gpu
@pytest.mark.parametrize("block", [32, 64, 256, 1024])
@pytest.mark.parametrize("graph", ZOO, ids=names)
def test_cuda_parts(graph: ZooGraph, block: int) -> None:
    columns, distance, levels = case(graph)
    check(*on_device(columns), distance, levels, block=block)


@pytest.mark.gpu
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize("symmetric", [True, False])
def test_cuda_parts_on_hubs(symmetric: bool, index: Any) -> None:
    columns, distance, levels = case(rmat(14), symmetric=symmetric, index=index)
    check(*on_device(columns), distance, levels, repeats=3)


@pytest.mark.gpu
def test_more_levels_than_are_launched_ahead_and_the_floor() -> None:
    columns, distance, levels = case(next(graph for graph in ZOO if graph.name == "path_1000"))
    probes = prepare(*on_device(columns), levels, len(distance))
    assert 0 < probes.floor_milliseconds < 0.1
    timed = probes.gather("serial", schedule="oversubscribed", repeats=5)
    assert len(timed.milliseconds) == levels.count
    assert (timed.milliseconds > 0).all()
