"""Shortest paths on CUDA over rows in the order of weights, on CPU threads: distances and trees."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.sssp import prepare
from gravel.kernels.sssp.cuda import by_weight
from tests.emulation import grid_kernels, strict_cupy
from tests.emulation.test_sssp import check
from tests.kernels.sssp.test_by_weight import both_ways, skewed, with_one_way_zeros
from tests.kernels.sssp_case import as_floats, distances, random_graph, special, weighted

pytestmark = pytest.mark.usefixtures("on_cpu")

DIRECTED = [*special(150), *map(random_graph, range(0, 48, 5))]
SYMMETRIC = list(map(both_ways, DIRECTED))


@pytest.mark.parametrize("graph", SYMMETRIC, ids=str)
def test_distances_and_tree(graph: Any) -> None:
    check(graph, by_weight=True, symmetric=True)


@pytest.mark.parametrize("graph", SYMMETRIC[::3], ids=str)
@pytest.mark.parametrize("share", [0.0, 2.0])
def test_pulls_at_once_and_never(graph: Any, share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_weight, "PULL_FROM", share)
    for width in (0.3, 1e12):
        check(graph, by_weight=True, symmetric=True, width=width, sources=[0])


@pytest.mark.parametrize(("dtype", "index"), [(numpy.uint32, numpy.uint32), (numpy.float32, numpy.uint64)])
def test_a_skewed_graph(dtype: Any, index: Any) -> None:
    check(skewed(dtype, 600, 5000), index=index, by_weight=True, symmetric=True, sources=[0, 300])


@pytest.mark.parametrize("graph", [*DIRECTED[3:6], *map(random_graph, range(8))], ids=str)
def test_directed_graphs_are_searched_as_they_are(graph: Any) -> None:
    check(graph, by_weight=True)


@pytest.mark.parametrize("dtype", [numpy.uint32, numpy.float32])
def test_arcs_of_no_length_that_lead_one_way(dtype: Any) -> None:
    for options in ({}, {"by_weight": True}):
        assert searched(with_one_way_zeros(dtype), (0, 0, 7), **options)[1] == [False] * 3


def test_minus_zero_is_zero() -> None:
    graph = skewed(numpy.float32, 600, 5000)
    graph.weights[graph.weights < 0.3] = -0.0
    check(graph, sources=[0, 300])
    check(graph, by_weight=True, symmetric=True, sources=[0, 300])


def test_rows_are_ordered() -> None:
    graph = skewed(numpy.float32, 300, 4000)
    placed = [strict_cupy.on_device(each) for each in graph.rows]
    search = prepare(*placed, block=grid_kernels.THREADS, by_weight=True, symmetric=True)
    ordered = search._ordered
    assert ordered is not None
    columns, weights = ordered._columns.get(), ordered._weights.get()
    least = weights.view(numpy.uint32) & ordered._mask
    for u in range(300):
        row = slice(graph.row_offsets[u], graph.row_offsets[u + 1])
        assert (numpy.diff(least[row].astype(numpy.int64)) >= 0).all()
        before = sorted(zip(graph.columns[row], graph.weights[row], strict=True))
        assert sorted(zip(columns[row], weights[row], strict=True)) == before


def searched(graph: Any, sources: Any, **options: Any) -> Any:
    """Search from each source after the other; returns the search and whether each was by weight."""
    placed = [strict_cupy.on_device(each) for each in graph.rows]
    search = prepare(*placed, block=grid_kernels.THREADS, **options)
    by = []
    for source in sources:
        found = search.run(source)
        by.append(search.ran.options["by_weight"])
        numpy.testing.assert_array_equal(as_floats(found.distance.get()), distances(graph, source))
    return search, by


def test_the_first_search_decides() -> None:
    search, by = searched(skewed(), (0, 0, 1), symmetric=True)
    assert by == [False, True, True]
    assert search.prepare_milliseconds > 0
    assert search.ran.options["width"] == search._ordered_width


@pytest.mark.parametrize("dtype", [numpy.uint32, numpy.float32])
def test_the_rule_counts_as_its_twin(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, found = skewed(dtype, 3000, 60_000), []
    for module in ("cpu.by_weight", "cuda.delta_stepping"):
        name = f"gravel.kernels.sssp.{module}.is_share_of_most"
        monkeypatch.setattr(name, lambda *given: found.append([int(each) for each in given[1:]]))
    for width in (0.01, 0.3, 50.0):
        prepare(*graph.rows, width=width).run(5)
        searched(graph, [5], width=width, symmetric=True)
        assert found[-1] == found[-2]


def test_long_paths_directed_graphs_and_little_memory_are_left_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ring = [(v, (v + 1) % 500) for v in range(500)]
    path = both_ways(weighted("ring", 500, ring, numpy.full(500, 7, numpy.uint32)))
    one_way = skewed()
    one_way.weights[numpy.flatnonzero(one_way.heads != one_way.columns)[0]] += 1
    for graph, symmetric in ((path, True), (one_way, False)):
        assert searched(graph, (0, 1, 2), width=0.5, symmetric=symmetric)[1] == [False] * 3
    monkeypatch.setattr("gravel.kernels.sssp.cuda.delta_stepping.free_bytes", lambda: 1000)
    assert searched(skewed(), (0, 1, 2), symmetric=True)[1] == [False] * 3
