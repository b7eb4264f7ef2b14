"""Afforest's kernel, on CPU threads, against SciPy: two blocks that race, over small graphs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy
import pytest

from gravel.kernels.components.buffers import COUNTERS, HUB, TILE
from gravel.kernels.components.cuda import afforest as small
from gravel.kernels.components.cuda.afforest_tiles import GIANTS, MAX_TRACED
from gravel.kernels.csr import build
from gravel.kernels.layouts import columns_as_rows
from gravel.kernels.order import apply, permutation
from tests.emulation import strict_cupy
from tests.emulation.kernel_library import Launch, library
from tests.kernels.components.test_afforest import graph_of
from tests.kernels.cuda_case import ZOO, fast_csr, names
from tests.zoo import scipy_components

BLOCKS, BLOCK = 2, 512
GIANT, NO_GIANT = 32, (1 << 64) - 1  # as in sweep.cuh


def hubs_apart() -> Any:
    """Two stars, neither of them a majority, each with a row that is split over the grid; and a long path."""
    n = 4 * HUB
    stars = [(i % 2, i) for i in range(2, 2 * HUB + 500)]
    return graph_of("hubs_apart", n, stars + [(i, i + 1) for i in range(2 * HUB + 600, n - 1)])


def device(array: numpy.ndarray) -> Any:
    return SimpleNamespace(data=SimpleNamespace(ptr=array.ctypes.data), array=array)


def afforest(csr: Any, symmetric: bool, *, rounds: int, probes: int, giant: int, counters: Any = None) -> Any:
    offsets, columns = csr
    n, dtype = len(offsets) - 1, columns.dtype
    component = numpy.full(n, 12345, dtype)
    arguments = (
        device(offsets),
        device(columns),
        *(numpy.uint64(number) for number in (n, symmetric, rounds, probes, giant)),
        device(component),
        device(numpy.full(n // 32 + 1, 0xDEADBEEF, numpy.uint32)),
        device(numpy.zeros(n // 8 + TILE, dtype)),
        device(numpy.zeros(len(columns) // HUB + 1, dtype)),
        device(numpy.zeros(COUNTERS, numpy.uint64) if counters is None else counters),
        device(numpy.zeros(MAX_TRACED, numpy.uint64)),
    )
    vertex = "u32" if dtype == numpy.uint32 else "u64"
    Launch(
        library("kernels/components/cuda/afforest_tiles.cu", (("BLOCK", BLOCK), ("VERTEX", vertex))),
        BLOCKS,
        BLOCK,
        arguments,
    ).wait()
    return component


@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
@pytest.mark.parametrize("graph", [*ZOO, hubs_apart()], ids=names)
def test_labels(graph: Any, symmetric: bool) -> None:
    for index, rounds, probes, giant in (
        (numpy.uint32, 4, 2, GIANTS["sampled"]),
        (numpy.uint32, 2, 0, 0),
        (numpy.uint64, 1, 0, GIANTS["first"]),
    ):
        csr = fast_csr(graph, symmetric=symmetric, index=index)
        found = afforest(csr, symmetric, rounds=rounds, probes=probes, giant=giant)
        numpy.testing.assert_array_equal(found, scipy_components(*csr), err_msg=f"{index} {rounds} {probes}")


def test_a_large_component_that_first_neighbours_do_not_show() -> None:
    """After Cuthill-McKee a first neighbour is that of many: hooks make as many trees as there are such."""
    rng = numpy.random.default_rng(1)
    n = 30_000
    source, target = rng.integers(0, n, (2, 8 * n)).astype(numpy.uint32)
    offsets, columns, _ = build(source, target, n)
    csr = apply(offsets, columns, permutation("rcm", offsets, columns))
    counters = numpy.zeros(COUNTERS, numpy.uint64)
    found = afforest(csr, True, rounds=1, probes=0, giant=GIANTS["sampled"], counters=counters)
    numpy.testing.assert_array_equal(found, scipy_components(*csr))
    first, second = counters[GIANT : GIANT + 2].tolist()
    assert first == NO_GIANT
    assert 0 < second < NO_GIANT


@pytest.mark.parametrize("rounds", [0, 1, 2])
@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
def test_labels_of_small_graphs(on_cpu: None, symmetric: bool, rounds: int) -> None:
    for graph in (*ZOO, hubs_apart()):
        csr = fast_csr(graph, symmetric=symmetric)
        placed = [strict_cupy.on_device(array) for array in csr]
        found = (
            small.prepare(columns_as_rows(*placed), symmetric=symmetric, rounds=rounds, block=256)
            .run()
            .component
        )
        numpy.testing.assert_array_equal(found.get(), scipy_components(*csr), err_msg=graph.name)
