"""The distributor's kernels on emulated blocks: what the CPU's side makes, bit by bit."""

from __future__ import annotations

import shutil
import sys
from typing import Any

import numpy
import pytest

from gravel.kernels.exchange import run_in_lock_step
from gravel.kernels.partition import choose_threshold, partition
from gravel.kernels.partition.distributor import EdgeSource, distribute_program
from gravel.kernels.partition.distributor import cuda as on_gpu
from tests.emulation import grid_kernels, numpy_as_cupy
from tests.kernels.partition.test_distributor import SOURCES, assert_same, whole_rows

BLOCK = 64


@pytest.fixture
def emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("g++") is None:
        pytest.skip("emulated kernels are compiled with g++")
    monkeypatch.setitem(sys.modules, "cupy", numpy_as_cupy.module())
    # Sorted tiles have a block each.
    monkeypatch.setattr(grid_kernels, "BLOCKS", 64)
    monkeypatch.setattr("gravel.kernels.csr.cuda.load", grid_kernels.load)
    monkeypatch.setattr("gravel.kernels.partition.distributor.rows_cuda.load", grid_kernels.load)
    monkeypatch.setattr(
        "gravel.kernels.partition.distributor.rows_cuda.blocks_for", lambda items, block, most: 2
    )
    monkeypatch.setattr("gravel.kernels.partition.distributor.source.ON_DEVICE", ())


def spread(source: EdgeSource, ranks: int, threshold: Any, sort_arcs: int) -> list[Any]:
    def program(end: Any) -> Any:
        builder = on_gpu.RankBuilder(source, ranks, end.rank, sort_arcs=sort_arcs, block=BLOCK)
        return distribute_program(end, builder, threshold=threshold, part_edges=700)

    return run_in_lock_step(program, ranks)


@pytest.mark.parametrize("ranks", [1, 2, 3, 7])
@pytest.mark.parametrize("source", SOURCES[:3], ids=lambda source: source.name)
def test_ranks_make_what_the_whole_graph_is_split_into(
    emulated: None, source: EdgeSource, ranks: int
) -> None:
    rows = whole_rows(source)
    for threshold, sort_arcs in ((3, 500), (16, 1 << 20)):
        whole = partition(rows.row_offsets, rows.column_indices, ranks=ranks, threshold=threshold)
        assert_same(spread(source, ranks, threshold, sort_arcs), whole)


def test_the_census_is_the_cpus(emulated: None) -> None:
    from gravel.kernels.partition import take_census

    rows = whole_rows(SOURCES[0])
    expected = take_census(rows.row_offsets, rows.column_indices)
    shares = spread(SOURCES[0], 3, lambda census: choose_threshold(census, 3), 800)
    for share in shares:
        assert numpy.array_equal(share.census.of_degree, expected.of_degree)
        assert numpy.array_equal(share.census.busier, expected.busier)
        assert numpy.array_equal(share.census.quieter, expected.quieter)


def test_wide_vertices(emulated: None, monkeypatch: pytest.MonkeyPatch) -> None:
    source = SOURCES[1]
    rows = whole_rows(source)
    wide = partition(rows.row_offsets, rows.column_indices.astype(numpy.uint64), ranks=2, threshold=8)
    monkeypatch.setattr(
        "gravel.kernels.partition.distributor.cuda.index_dtype", lambda _: numpy.dtype(numpy.uint64)
    )
    make = EdgeSource.make
    monkeypatch.setattr(
        EdgeSource, "make", lambda *given: tuple(each.astype(numpy.uint64) for each in make(*given))
    )
    assert_same(spread(source, 2, 8, 900), wide)


def test_too_many_ranks(emulated: None) -> None:
    with pytest.raises(ValueError, match="at most 1024 fit; use fewer"):
        on_gpu.RankBuilder(SOURCES[0], 1025, 0)
