"""Ranges of rows divided by emulated kernels: the shares and the counts of the CPU, bit by bit."""

from __future__ import annotations

import itertools
from typing import Any

import numpy
import pytest

from gravel.kernels.partition import census, census_cpu, chunks, chunks_cuda, shares
from gravel.kernels.partition.layout import packed_bits
from gravel.kernels.partition.stripes import stripe_rows
from tests.emulation import grid_kernels
from tests.emulation.strict_cupy import on_device
from tests.kernels.cuda_case import fast_csr, rmat
from tests.zoo import ZooGraph, zoo

ZOO = [graph for graph in zoo() if graph.vertex_count]
SKEWED = rmat(9)


@pytest.fixture(autouse=True)
def small_blocks(on_cpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks_cuda, "BLOCK", grid_kernels.THREADS)


def same(found: list[Any], expected: list[Any]) -> None:
    assert len(found) == len(expected)
    for mine, wanted in zip(found, expected, strict=True):
        for here, there in ((mine.lengths, wanted.lengths), (mine.columns, wanted.columns)):
            assert list(here) == list(there)
            for name, array in there.items():
                assert numpy.array_equal(here[name], array), name
                assert here[name].dtype == array.dtype, name


def cuts_of(n: int) -> list[tuple[int, int]]:
    cuts = sorted({0, n, *numpy.random.default_rng(4).integers(0, n + 1, 4).tolist()})
    return [(0, n), *itertools.pairwise(cuts)]


def indexed(offsets: Any, threshold: int, dtype: Any) -> tuple[Any, Any]:
    """List and index delegates, of rows in pieces."""

    def pieces() -> Any:
        n = len(offsets) - 1
        cuts = sorted({0, n // 3, n // 2, n})
        return [(first, on_device(offsets[first : last + 1])) for first, last in itertools.pairwise(cuts)]

    found: tuple[Any, Any] = chunks_cuda.index_delegates(pieces, len(offsets) - 1, threshold, dtype)
    return found


@pytest.mark.parametrize("graph", [*ZOO, SKEWED], ids=lambda graph: graph.name)
def test_shares_are_those_of_the_cpu(graph: ZooGraph) -> None:
    n = graph.vertex_count
    for symmetric, ranks, threshold in (
        *((True, 3, 0), (True, 4, 3), (True, 1, 10**6)),
        *((False, 4, 0), (False, 1, 3), (False, 3, 10**6)),
    ):
        offsets, columns = fast_csr(graph, symmetric=symmetric)
        lengths = numpy.diff(offsets)
        above = lengths > threshold
        host = shares.index_delegates(packed_bits(above), lengths[above])
        vertices, index = indexed(offsets, threshold, columns.dtype)
        assert numpy.array_equal(vertices, numpy.flatnonzero(above))
        assert vertices.dtype == columns.dtype
        for mine, wanted in zip(index, host, strict=True):
            assert numpy.array_equal(mine, wanted)
            assert mine.dtype == wanted.dtype
        for (first, last), (low, high) in itertools.product(cuts_of(n), ((0, ranks), (ranks - 1, ranks))):
            rows = offsets[first : last + 1], columns[offsets[first] : offsets[last]]
            asked = {"ranks": ranks, "low": low, "high": high}
            given = tuple(map(on_device, rows))
            same(
                chunks_cuda.split_rows(*given, first, index, **asked),
                chunks.split_rows(*rows, first, host, **asked),
            )
            same(chunks_cuda.split_rows(*given, first, None, **asked), stripe_rows(*rows, first, **asked))


@pytest.mark.parametrize("ranks", [2, 64, 65, 300])
def test_many_ranks_and_wide_vertices(ranks: int) -> None:
    offsets, columns = fast_csr(SKEWED, symmetric=True, index=numpy.uint64)
    lengths = numpy.diff(offsets)
    above = lengths > 9
    host = shares.index_delegates(packed_bits(above), lengths[above])
    index = chunks_cuda.DelegateIndex(*map(on_device, host))
    given = on_device(offsets), on_device(columns)
    for low in range(0, ranks, 64):
        asked = {"ranks": ranks, "low": low, "high": min(ranks, low + 64)}
        found = chunks_cuda.split_rows(*given, 0, index, **asked)
        same(found, chunks.split_rows(offsets, columns, 0, host, **asked))
    with pytest.raises(ValueError, match="65 ranks at once are too many"):
        chunks_cuda.split_rows(*given, 0, index, ranks=70, low=0, high=65)


@pytest.mark.parametrize("dtype", [numpy.uint32, numpy.uint64])
def test_counts_are_those_of_the_cpu(dtype: Any) -> None:
    for graph in (*ZOO, SKEWED):
        offsets, columns = fast_csr(graph, symmetric=False, index=dtype)
        degrees = census.capped(numpy.diff(offsets))
        mine = on_device(numpy.zeros(len(degrees), numpy.uint16))
        of_degree = on_device(numpy.ones(census.LARGEST + 1, numpy.int64))
        chunks_cuda.count_degrees(on_device(offsets), columns.dtype, mine, of_degree)
        assert numpy.array_equal(mine, degrees)
        whole = census_cpu.take_census(offsets, columns)
        assert numpy.array_equal(of_degree - 1, whole.of_degree)
        for first, last in cuts_of(graph.vertex_count):
            rows = offsets[first : last + 1], columns[offsets[first] : offsets[last]]
            ends = on_device(numpy.zeros((2, census.LARGEST + 1), numpy.int64))
            chunks_cuda.count_rows(*map(on_device, rows), first, mine, *ends)
            assert numpy.array_equal(ends, census_cpu.count_rows(*rows, first, degrees))
