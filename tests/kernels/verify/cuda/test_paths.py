"""The GPU's verifier of shortest paths against the CPU's: right answers, and answers damaged in every way."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.sssp import sssp
from gravel.kernels.verify.cuda.memory import Batch
from gravel.kernels.verify.cuda.resources import Resources
from gravel.kernels.verify.sssp import check_sssp
from tests.kernels.sssp_case import random_graph, special, weighted
from tests.kernels.verify.sssp_damage import damaged, hub_graph

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")

HUBS = [hub_graph(dtype) for dtype in (numpy.uint32, numpy.float32)]
GRAPHS = [*special()[:6], *special()[7:], *HUBS, *map(random_graph, range(48))]


def check_all(
    graph: Any, source: int, answers: Any, *, tree: bool = True, place: Any = None, **options: Any
) -> list[bool]:
    """Check answers as searches from one source against the CPU's verifier; tells which are right."""
    from gravel.kernels.verify.cuda.sssp import check_paths

    place = place or (lambda array: array)
    distance = numpy.stack([d for d, _ in answers])
    predecessor = numpy.stack([p for _, p in answers]) if tree else None
    rows, labels = (
        map(place, graph.rows),
        (place(distance), None if predecessor is None else place(predecessor)),
    )
    found = list(
        check_paths(*rows, [source] * len(answers), *labels, resources=Resources(8 << 30, **options))
    )
    for number, checks in enumerate(found):
        above = None if predecessor is None else predecessor[number]
        assert checks == check_sssp(*graph.rows, source, distance[number], above), number
    return [all(check.passed for check in checks) for checks in found]


@pytest.mark.parametrize("graph", GRAPHS, ids=str)
def test_every_damage_is_found_as_the_cpu_finds_it(graph: Any) -> None:
    n = len(graph.row_offsets) - 1
    for source in sorted({0, n // 2}):
        answers = [labels for _, labels in damaged(graph, source, seed=n)]
        for place in (None, cupy.asarray):
            right = check_all(graph, source, answers, place=place)
            assert right[0]
            assert not any(right[1:])
            check_all(graph, source, answers, place=place, tree=False)


@pytest.mark.parametrize("block", [32, 128, 512])
def test_every_block_and_rows_in_parts(block: int) -> None:
    for graph in HUBS:
        answers = [labels for _, labels in damaged(graph, 0, seed=block)]
        check_all(graph, 0, answers, block=block)
        check_all(graph, 0, answers, block=block, batch=Batch(0, 2600, 0))


@pytest.mark.parametrize("dtype", [numpy.uint32, numpy.float32])
def test_a_large_graph(dtype: Any) -> None:
    rng = numpy.random.default_rng(3)
    n, m = 300_000, 3_000_000
    pairs = rng.integers(0, n, (m, 2))
    pairs[:200_000, 0] = 5
    graph = weighted("large", n, pairs, rng.integers(0, 256, m).astype(dtype))
    found = sssp(*graph.rows, 5)
    wrong = found.distance.copy()
    wrong[n // 2] += 1
    answers = [(found.distance, found.predecessor), (wrong, found.predecessor)]
    assert check_all(graph, 5, answers, place=cupy.asarray) == [True, False]
