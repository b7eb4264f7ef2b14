"""Ranges of rows put together are the partition; the census counts what a partition then has."""

from __future__ import annotations

import itertools

import numpy
import pytest

from gravel.kernels.partition import partition, take_census
from gravel.kernels.partition.census import LARGEST
from gravel.kernels.partition.chunks import split_rows
from gravel.kernels.partition.layout import packed_bits
from gravel.kernels.partition.shares import index_delegates
from gravel.kernels.partition.storage import storage
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
        index = index_delegates(packed_bits(above), numpy.diff(offsets)[above])
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
