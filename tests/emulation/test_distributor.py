"""The distributor's kernels on emulated blocks: what the CPU's side makes, bit by bit."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.partition import partition
from gravel.kernels.partition.distributor import cuda as on_gpu
from gravel.kernels.partition.distributor.program import EdgeSource
from tests.emulation import grid_kernels
from tests.kernels.partition.test_distributor import SOURCES, assert_same, check_census, spread, whole_rows

BLOCK = 64


@pytest.fixture(autouse=True)
def emulated(on_cpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    # Sorted tiles have a block each.
    monkeypatch.setattr(grid_kernels, "BLOCKS", 64)
    monkeypatch.setattr(
        "gravel.kernels.partition.distributor.rows_cuda.blocks_for", lambda items, block, most: 2
    )
    monkeypatch.setattr("gravel.kernels.partition.distributor.program.ON_DEVICE", ())


def made(sort_arcs: int) -> dict[str, Any]:
    return {"part_edges": 700, "builder": on_gpu.RankBuilder, "sort_arcs": sort_arcs, "block": BLOCK}


@pytest.mark.parametrize("ranks", [1, 2, 3, 7])
@pytest.mark.parametrize("source", SOURCES[:3], ids=lambda source: source.name)
def test_ranks_make_what_the_whole_graph_is_split_into(source: EdgeSource, ranks: int) -> None:
    rows = whole_rows(source)
    for threshold, sort_arcs in ((3, 500), (16, 1 << 20)):
        whole = partition(rows.row_offsets, rows.column_indices, ranks=ranks, threshold=threshold)
        assert_same(spread(source, ranks, threshold, **made(sort_arcs)), whole)


def test_the_census_is_the_cpus() -> None:
    check_census(SOURCES[0], 3, **made(800))


def test_wide_vertices(monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert_same(spread(source, 2, 8, **made(900)), wide)


def test_too_many_ranks() -> None:
    with pytest.raises(ValueError, match="at most 1024 fit; use fewer"):
        on_gpu.RankBuilder(SOURCES[0], 1025, 0)
