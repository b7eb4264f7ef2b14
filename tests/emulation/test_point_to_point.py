"""Pairs on emulated blocks: lengths and paths, which are those of the CPU."""

from __future__ import annotations

import functools
from typing import Any

import numpy
import pytest

from gravel.kernels.point_to_point import prepare
from gravel.kernels.point_to_point.cuda import bytes_of_pair
from tests.emulation import grid_kernels, strict_cupy
from tests.kernels.point_to_point import point_to_point_case
from tests.kernels.point_to_point.point_to_point_case import lost_in_rounding
from tests.kernels.sssp_case import random_graph, special, weighted
from tests.parameters import slow_among

pytestmark = pytest.mark.usefixtures("on_cpu")
RANDOM = [*range(3, 48, 4)]
GRAPHS = [*special(150), *map(random_graph, RANDOM)]


def placed(rows: Any, index: Any) -> Any:
    offsets, columns, weights = rows
    there = [offsets, columns.astype(index)] + ([] if weights is None else [weights])
    return [*map(strict_cupy.on_device, there)] + ([None] if weights is None else [])


compare = functools.partial(
    point_to_point_case.compare, place=strict_cupy.on_device, on_device={"block": grid_kernels.THREADS}
)


@pytest.mark.parametrize("graph", GRAPHS, ids=str)
def test_lengths_and_paths_are_those_of_the_cpu(graph: Any) -> None:
    compare(graph, graph.weights)
    compare(graph, None)


@pytest.mark.parametrize("graph", lost_in_rounding()[:40], ids=str)
def test_weights_that_are_lost_in_rounding(graph: Any) -> None:
    compare(graph, graph.weights)


@pytest.mark.parametrize("number", slow_among(RANDOM, {*RANDOM[2:]}))
def test_columns_of_64_bits_and_any_width(number: int) -> None:
    graph = random_graph(number)
    compare(graph, graph.weights, index=numpy.uint64)
    for width in (1e-9, 1.0, 1e12):
        compare(graph, graph.weights, width=width)


def test_long_rows_and_paths_that_need_more_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gravel.kernels.point_to_point.cuda.USUAL_PATH", 1)
    monkeypatch.setattr("gravel.kernels.point_to_point.cuda.LAUNCHED", 7)
    rng = numpy.random.default_rng(1)
    hub = [(3, v) for v in range(1000, 6000)] + [(v, v + 1) for v in range(5999, 6400)]
    pairs = [*hub, *((v, u) for u, v in hub)]
    graph = weighted("hub", 6500, pairs, rng.integers(0, 4, len(pairs)).astype(numpy.uint32))
    compare(graph, graph.weights)
    compare(graph, None, at_once=1)


@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize("lengths", [True, False], ids=["weights", "hops"])
def test_a_pair_takes_what_it_states(lengths: bool, index: Any) -> None:
    graph = random_graph(3)
    rows = placed((graph.row_offsets, graph.columns, graph.weights if lengths else None), index)
    there = prepare(*rows, reverse=rows, block=grid_kernels.THREADS, at_once=2)
    word = there._arena[0].dtype.itemsize
    stated = bytes_of_pair(len(graph.row_offsets) - 1, len(graph.columns), numpy.dtype(index).itemsize, word)
    assert sum(int(each.nbytes) for each in there._arena) == there.at_once * stated


def test_what_is_refused() -> None:
    graph = random_graph(0)
    rows = placed(graph.rows, numpy.uint32)
    with pytest.raises(ValueError, match="block is 33"):
        prepare(*rows, block=33)
