"""The GPU's verifier of strong components against the CPU's, and the memory that it states."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.strong_components import strong_components
from gravel.kernels.verify.cuda.memory import GraphSize, plan_strong_components
from gravel.kernels.verify.cuda.resources import Resources
from gravel.kernels.verify.strong_components import check_strong_components as check_on_host
from tests.kernels.cuda_case import fast_csr, names, rmat
from tests.kernels.strong_components.test_strong_components import chain_of_cycles, random_graphs
from tests.kernels.verify.damage import HUBS, ZOO, damaged_components
from tests.kernels.verify.test_cuda import _peak

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")

ROOM = 8 << 30


def check(rows: Any, *, place: Any = lambda array: array, seed: int = 0, **options: Any) -> None:
    from gravel.kernels.verify.cuda.strong_components import check_strong_components

    right = strong_components(*rows).component.astype(numpy.int64)
    for name, labels in damaged_components(right, seed):
        found = check_strong_components(*map(place, (*rows, labels)), Resources(ROOM, **options))
        assert found == check_on_host(*rows, labels), name
        assert all(each.passed for each in found) is (not name), name


@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize("graph", [*ZOO, HUBS, rmat(12), rmat(17)], ids=names)
def test_every_damage_is_found_as_the_cpu_finds_it(graph: Any, index: Any) -> None:
    rows = fast_csr(graph, symmetric=False, index=index)
    check(rows)
    check(rows, place=cupy.asarray)


def test_random_graphs_and_cycles_in_a_chain() -> None:
    for seed, rows in enumerate(random_graphs()):
        check(rows, seed=seed)
    for count, length in ((2000, 2), (3, 5000), (400, 50)):
        check(chain_of_cycles(count, length, count))


@pytest.mark.parametrize("block", [32, 64, 128, 256, 512, 1024])
def test_every_block(block: int) -> None:
    check(fast_csr(rmat(12), symmetric=False), block=block)


@pytest.mark.parametrize("scale", [15, 18])
def test_the_memory_is_what_is_stated(scale: int) -> None:
    from gravel.kernels.verify.cuda.strong_components import check_strong_components

    rows = fast_csr(rmat(scale, 8), symmetric=False)
    labels = strong_components(*rows).component
    planned = plan_strong_components(GraphSize(1 << scale, len(rows[1]), 4), 4, ROOM)
    assert planned is not None
    peak = _peak(lambda: check_strong_components(*rows, labels, Resources(ROOM)))
    assert peak <= planned.device_bytes <= 1.2 * peak + (8 << 20)
