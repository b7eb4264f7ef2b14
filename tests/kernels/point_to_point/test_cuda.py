"""Pairs on a GPU: lengths and paths, which are those of the CPU."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.csr.reversed import reversed_rows
from gravel.kernels.point_to_point import prepare
from tests.kernels.point_to_point.point_to_point_case import check, lost_in_rounding, pairs_of, unweighted
from tests.kernels.sssp_case import random_graph, special, weighted

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")


def on_gpu(rows: Any) -> list[Any]:
    return [None if each is None else cupy.asarray(each) for each in rows]


@pytest.mark.parametrize("graph", [*special(), *map(random_graph, range(96)), *lost_in_rounding()], ids=str)
def test_lengths_and_paths_are_those_of_the_cpu(graph: Any) -> None:
    pairs = pairs_of(graph)
    for lengths in (graph.weights, None):
        rows = graph.row_offsets, graph.columns, lengths
        back = reversed_rows(*rows)
        expected = prepare(*rows, reverse=back).run(*pairs)
        for options in ({}, {"block": 64}, {"at_once": 1}):
            found = prepare(*on_gpu(rows), reverse=on_gpu(back), **options).run(*pairs)
            check(graph if lengths is not None else unweighted(graph), *pairs, found)
            numpy.testing.assert_array_equal(found.length, expected.length)
            numpy.testing.assert_array_equal(found.vertices, expected.vertices)


@pytest.mark.parametrize("dtype", [numpy.uint32, numpy.float32])
def test_thousands_of_pairs(dtype: Any) -> None:
    rng = numpy.random.default_rng(5)
    n, m = 200_000, 600_000
    ends = rng.integers(0, n, (m, 2))
    ends[:20_000, 0] = 7
    drawn = rng.integers(1, 100, m).astype(dtype)
    graph = weighted("large", n, numpy.concatenate([ends, ends[:, ::-1]]), numpy.concatenate([drawn, drawn]))
    pairs = rng.integers(0, n, (2, 2000))
    expected, found = prepare(*graph.rows).run(*pairs), prepare(*on_gpu(graph.rows)).run(*pairs)
    numpy.testing.assert_array_equal(found.length, expected.length)
    numpy.testing.assert_array_equal(found.offsets, expected.offsets)
    numpy.testing.assert_array_equal(found.vertices, expected.vertices)
