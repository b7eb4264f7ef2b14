"""Ranges of rows put together are the partition; the census counts what a partition then has; the model."""

from __future__ import annotations

import itertools
import math

import numpy
import pytest

from kernels.partition import partition, predict, storage, take_census
from kernels.partition.census import LARGEST, Division
from kernels.partition.chunks import delegate_words, index_delegates, split_rows
from kernels.partition.model import Machine, choose_threshold, grown
from tests.kernels.cuda_case import fast_csr, rmat
from tests.zoo import ZooGraph, zoo

ZOO = list(zoo())


@pytest.mark.parametrize("graph", ZOO, ids=lambda graph: graph.name)
def test_ranges_add_up_to_the_partition(graph: ZooGraph) -> None:
    random = numpy.random.default_rng(4)
    n = graph.vertex_count
    for symmetric, ranks, threshold in itertools.product((True, False), (1, 3, 4), (0, 3, 10**6)):
        offsets, columns = graph.csr(symmetric=symmetric)
        whole = partition(offsets, columns, ranks=ranks, threshold=threshold)
        above = numpy.diff(offsets) > threshold
        index = index_delegates(delegate_words(above), numpy.diff(offsets)[above])
        cuts = sorted({0, n, *random.integers(0, n + 1, 4).tolist()})
        for low, high in ((0, ranks), (ranks - 1, ranks)):
            shares = [
                split_rows(
                    offsets[a : b + 1],
                    columns[offsets[a] : offsets[b]],
                    a,
                    index,
                    ranks=ranks,
                    low=low,
                    high=high,
                )
                for a, b in itertools.pairwise(cuts)
            ]
            for rank in range(low, high):
                for name in ("nn", "nd", "dn", "dd") if shares else ():
                    part = whole.parts[rank].subgraph(name)
                    mine = [share[rank - low] for share in shares]
                    lengths = numpy.concatenate([share.lengths[name] for share in mine])
                    found = numpy.concatenate([share.columns[name] for share in mine])
                    assert numpy.array_equal(lengths, numpy.diff(part.row_offsets.astype(numpy.int64)))
                    assert numpy.array_equal(found, part.column_indices)
                    assert found.dtype == part.column_indices.dtype


def test_the_census_foretells_every_partition() -> None:
    graph = rmat(10)
    for symmetric in (True, False):
        offsets, columns = fast_csr(graph, symmetric=symmetric)
        census = take_census(offsets, columns)
        assert census.largest == numpy.diff(offsets).max()
        for threshold in (0, 1, 5, 17, 60, 10**6):
            told = storage(partition(offsets, columns, ranks=3, threshold=threshold))
            division = census.at(threshold)
            assert division.delegates == told["delegates"]
            assert division.nn == told["nn_arcs"]
            assert division.mixed == told["nd_arcs"] + told["dn_arcs"]
            assert division.dd == told["dd_arcs"]
            assert division.arcs == len(columns)
        curve = census.curve()
        assert [each.threshold for each in curve[:6]] == [0, 1, 2, 3, 4, 6]
        assert curve[-1].delegates == 0
        assert curve[-1].nn == len(columns)


def test_large_degrees_count_as_the_largest() -> None:
    hub = LARGEST + 500
    offsets = numpy.concatenate(([0, hub], numpy.full(hub, hub))).astype(numpy.int64)
    census = take_census(offsets, numpy.arange(1, hub + 1, dtype=numpy.uint32))
    assert census.largest == LARGEST
    assert census.at(LARGEST - 1).delegates == 1
    assert census.at(LARGEST + 10).delegates == 0


DIVISION = Division(threshold=64, delegates=1 << 20, nn=40_000_000, mixed=300_000_000, dd=700_000_000)


def test_the_model_counts_what_the_paper_does() -> None:
    facts = {"vertices": 1 << 26}
    alone = predict(DIVISION, ranks=1, **facts)
    assert (alone.masks, alone.vertices, alone.barriers) == (0, 0, 0)
    machine = Machine(link_bandwidth=1e9, levels=5, mask_levels=3, link_latency=1e-3)
    four = predict(DIVISION, ranks=4, machine=machine, **facts)
    assert math.isclose(four.masks, 3 * 3 * (1 << 17) / 1e9)
    assert math.isclose(four.vertices, 40_000_000 / 4 * 3 / 4 * 4 / 1e9)
    assert math.isclose(four.barriers, 10e-3)
    assert four.local < predict(DIVISION, ranks=1, machine=machine, **facts).local
    # Every message leaves the host where a host has one rank.
    spread = predict(DIVISION, ranks=4, hosts=4, machine=Machine(host_bandwidth=1e9), **facts)
    assert math.isclose(spread.masks, 4 * 2 * 2 * (1 << 17) / 1e9)
    assert math.isclose(spread.vertices, 40_000_000 / 4 * 3 / 4 * 4 / 1e9)
    assert math.isclose(alone.gteps(DIVISION.arcs), DIVISION.arcs / 2e9 / alone.seconds)
    with pytest.raises(ValueError, match="6 ranks do not make 4 equal hosts"):
        predict(DIVISION, ranks=6, hosts=4, **facts)


def test_weak_scaling_costs_the_masks_first() -> None:
    seconds = []
    for ranks in (1, 8, 64, 1024):
        hosts = max(1, ranks // 8)
        found = predict(grown(DIVISION, ranks), vertices=ranks << 26, ranks=ranks, hosts=hosts)
        assert math.isclose(found.vertices > 0, ranks > 1)
        seconds.append(found.masks)
    assert seconds == sorted(seconds)


def test_the_fastest_threshold_is_chosen_among_those_that_fit() -> None:
    offsets, columns = fast_csr(rmat(13, 16), symmetric=True)
    census = take_census(offsets, columns)
    vertices = len(offsets) - 1
    slow_links = Machine(link_bandwidth=1e6)
    for machine in (Machine(), slow_links, Machine(looked_at=1.0)):
        chosen = choose_threshold(census, 4, machine=machine)
        time = predict(census.at(chosen), vertices=vertices, ranks=4, machine=machine).seconds
        division = census.at(chosen)
        assert division.delegates <= vertices / 16
        for other in census.curve():
            fits = other.delegates <= vertices / 16 and other.nn <= 0.1 * other.arcs
            if fits and division.nn <= 0.1 * division.arcs:
                there = predict(other, vertices=vertices, ranks=4, machine=machine).seconds
                assert time <= 1.02 * there
    # A bound on the mask counts in bits.
    small = choose_threshold(census, 4, mask_bytes=8)
    assert census.at(small).delegates <= 64
    assert choose_threshold(census, 1) >= 0
