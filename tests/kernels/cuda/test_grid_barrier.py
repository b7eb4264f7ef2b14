"""Protocols between blocks on a GPU, many times; the tests of the same name in emulation need none."""

from typing import Any

import numpy
import pytest

from gravel.kernels.cuda import load, resident_blocks
from tests.kernels.cuda_case import fast_csr, on_device, rmat
from tests.zoo import scipy_distances

pytestmark = pytest.mark.gpu

LITMUS = "tests/emulation/litmus"
ROUNDS = 20_000


def run(name: str, words: int, block: int, most: int | None = None, **macros: str) -> int:
    """Run a litmus kernel on as many blocks as fit, and give how often a block saw what it must not."""
    import cupy

    kernel = load(f"{LITMUS}/{name}.cu", **macros).get_function("litmus")
    resident = resident_blocks(kernel, block)
    blocks = resident if most is None else min(most, resident)
    wrong = cupy.zeros(1, cupy.uint64)
    arguments: tuple[Any, ...] = (
        cupy.zeros(words, cupy.uint64),
        cupy.zeros(blocks * block, cupy.uint64),
        wrong,
        numpy.uint64(ROUNDS),
    )
    kernel((blocks,), (block,), arguments)
    return int(wrong.get()[0])


@pytest.mark.parametrize("block", [32, 256, 1024])
def test_a_grid_barrier_holds(block: int) -> None:
    assert run("grid_barrier", 1, block) == 0


@pytest.mark.parametrize("blocks", [2, 16, 128])
@pytest.mark.parametrize(("name", "macros"), [("team", {}), ("team_rows", {"LAYOUT": "csr"})])
def test_a_team_holds(name: str, macros: dict[str, str], blocks: int) -> None:
    assert run(name, 2 * 128, 256, blocks, **macros) == 0


@pytest.mark.parametrize("strategy", ["persistent", "direction_optimizing", "linear_queue", "two_phase"])
def test_searches_come_to_the_same_each_time(strategy: str) -> None:
    from gravel.kernels.bfs import prepare

    side = 300
    vertices = numpy.arange(side * side).reshape(side, side)
    ends = [(vertices[:, :-1], vertices[:, 1:]), (vertices[:-1], vertices[1:])]
    pairs = numpy.concatenate([numpy.stack([a.ravel(), b.ravel()]) for a, b in ends], axis=1)
    both = numpy.concatenate([pairs, pairs[::-1]], axis=1)
    order = numpy.lexsort((both[1], both[0]))
    offsets = numpy.zeros(side * side + 1, numpy.int64)
    numpy.cumsum(numpy.bincount(both[0], minlength=side * side), out=offsets[1:])
    lattice = offsets, both[1][order].astype(numpy.uint32)
    for csr in (lattice, fast_csr(rmat(12, 16), symmetric=True)):
        search = prepare(*on_device(*csr), strategy=strategy, symmetric=True, output="distance")
        wanted = scipy_distances(*csr, 1)
        for _ in range(200):
            numpy.testing.assert_array_equal(search.run(1).distance.get(), wanted)
