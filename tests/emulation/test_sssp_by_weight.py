"""Shortest paths on CUDA over rows in the order of weights, on CPU threads: distances and trees."""

from __future__ import annotations

import shutil
from typing import Any

import numpy
import pytest

from gravel.kernels.sssp import prepare
from gravel.kernels.sssp.cuda import by_weight
from tests.emulation import grid_kernels, strict_cupy
from tests.emulation.test_sssp import check, on_cpu
from tests.kernels.sssp_case import random_graph
from tests.kernels.test_sssp_by_weight import DIRECTED, SYMMETRIC, skewed

__all__ = ["on_cpu"]

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="emulated kernels are compiled with g++")


@pytest.fixture(autouse=True)
def ordered_on_cpu(on_cpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    module = "gravel.kernels.sssp.cuda.by_weight"
    monkeypatch.setattr(f"{module}.load", strict_cupy.load)
    monkeypatch.setattr(f"{module}.resident_blocks", lambda *_: grid_kernels.BLOCKS)


@pytest.mark.parametrize("graph", SYMMETRIC, ids=str)
def test_distances_and_tree(graph: Any) -> None:
    check(graph, by_weight=True)


@pytest.mark.parametrize("graph", SYMMETRIC[::3], ids=str)
@pytest.mark.parametrize("share", [0.0, 2.0])
def test_pulls_at_once_and_never(graph: Any, share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_weight, "PULL_FROM", share)
    for width in (0.3, 1e12):
        check(graph, by_weight=True, width=width, sources=[0])


@pytest.mark.parametrize("dtype", [numpy.uint32, numpy.float32])
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
def test_a_skewed_graph(dtype: Any, index: Any) -> None:
    check(skewed(dtype, 600, 5000), index=index, by_weight=True, sources=[0, 300])


@pytest.mark.parametrize("graph", [*DIRECTED[3:6], *map(random_graph, range(8))], ids=str)
def test_directed_graphs_are_searched_as_they_are(graph: Any) -> None:
    check(graph, by_weight=True)


def test_rows_are_ordered_and_known_to_be_symmetric() -> None:
    graph = skewed(numpy.float32, 300, 4000)
    placed = [strict_cupy.on_device(each) for each in graph.rows]
    search = prepare(*placed, block=grid_kernels.THREADS, by_weight=True)
    ordered = search._ordered
    assert ordered is not None
    columns, weights = ordered._columns.get(), ordered._weights.get()
    least = weights.view(numpy.uint32) & ordered._mask
    for u in range(300):
        row = slice(graph.row_offsets[u], graph.row_offsets[u + 1])
        assert (numpy.diff(least[row].astype(numpy.int64)) >= 0).all()
        before = sorted(zip(graph.columns[row], graph.weights[row], strict=True))
        assert sorted(zip(columns[row], weights[row], strict=True)) == before
