"""Delegates with other numbers on devices: the same arcs, the busiest first, and only where there is room."""

from __future__ import annotations

import sys

import numpy
import pytest

from gravel.kernels.bfs.query import Query
from gravel.kernels.partition import PartitionSearch, partition
from gravel.kernels.partition.cuda import CudaPartitionSearch, by_degree
from gravel.kernels.partition.layout import RankGraph, row_lengths
from gravel.kernels.partition.options import SearchOptions
from tests.kernels.cuda_case import fast_csr, rmat

pytestmark = pytest.mark.usefixtures("cupy_on_cpu")


def arcs_of(part: RankGraph, name: str, numbers: numpy.ndarray) -> numpy.ndarray:
    """Give a subgraph's arcs by the numbers that `numbers` gives delegates, in ascending order."""
    subgraph = part.subgraph(name)
    tails = numpy.repeat(numpy.arange(len(subgraph.row_offsets) - 1), row_lengths(subgraph))
    heads = numpy.asarray(subgraph.column_indices).astype(numpy.int64)
    tails = numbers[tails] if name[0] == "d" else tails
    heads = numbers[heads] if name[1] == "d" else heads
    return numpy.sort(tails.astype(numpy.int64) << 32 | heads)


@pytest.mark.parametrize("at_once", [1 << 27, 50])
def test_arcs_stay_and_rows_are_sorted(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_degree, "ARCS_AT_ONCE", at_once)
    whole = partition(*fast_csr(rmat(9), symmetric=True), ranks=2, threshold=12)
    numbers = by_degree.numbers_by_degree(whole.parts[0])
    assert numbers.dtype == numpy.uint32
    assert sorted(numbers.tolist()) == list(range(len(whole.delegates)))
    busy = row_lengths(whole.parts[0].dn) + row_lengths(whole.parts[0].dd)
    assert (numpy.diff(busy[numpy.argsort(numbers)]) <= 0).all()
    same = numpy.arange(len(numbers))
    for part in whole.parts:
        found = by_degree.renumbered(part, numbers)
        assert found.nn is part.nn
        for name in ("nd", "dn", "dd"):
            arcs = arcs_of(found, name, same)
            assert numpy.array_equal(arcs, arcs_of(part, name, numbers))
            tails = numpy.repeat(
                numpy.arange(len(found.subgraph(name).row_offsets) - 1), row_lengths(found.subgraph(name))
            )
            heads = numpy.asarray(found.subgraph(name).column_indices).astype(numpy.int64)
            assert numpy.array_equal(arcs, tails << 32 | heads)
        for name, mask in (("dn", found.dn_source_mask), ("dd", found.dd_source_mask)):
            bits = numpy.unpackbits(numpy.asarray(mask).view(numpy.uint8), bitorder="little")[: len(numbers)]
            assert numpy.array_equal(bits != 0, row_lengths(found.subgraph(name)) > 0)


@pytest.mark.parametrize("free", [0, 1 << 40])
def test_without_room_the_numbers_stay(free: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["cupy"].cuda.runtime, "memGetInfo", lambda: (free, 1 << 40))
    offsets, columns = fast_csr(rmat(8), symmetric=True)
    whole = partition(offsets, columns, ranks=3, threshold=12)
    search = CudaPartitionSearch(
        whole, Query(symmetric=True, output="distance"), SearchOptions(barrier_seconds=60.0), devices=(0, 1)
    )
    assert (search._numbers is None) == (free == 0)
    source = int(numpy.argmax(numpy.diff(offsets)))
    wanted = PartitionSearch(whole, Query(symmetric=True)).run(source)
    assert numpy.array_equal(search.run(source).distance, wanted.distance)
