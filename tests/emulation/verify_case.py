"""What tests of the GPU verifier share: an emulated device with a memory, and the CPU verifier beside it."""

from __future__ import annotations

import sys
import weakref
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

from gravel.kernels.verify import Check, check_bfs
from gravel.kernels.verify.cuda import bfs
from gravel.kernels.verify.cuda.resources import Resources
from tests.emulation import strict_cupy
from tests.kernels.verify.damage import ZOO, search

GRID = next(graph for graph in ZOO if graph.name == "grid_13x17")
TAIL = next(graph for graph in ZOO if graph.name == "tail_on_clique")
SKEWED = next(graph for graph in ZOO if graph.name == "skewed_random")
ROOM = 1 << 40
FORMS = ((True, True), (True, False), (False, True))
"""Which of distance and predecessor an answer has."""


class Pool:
    """Memory of an emulated device: what is taken now, the most that was, and what there is."""

    def __init__(self) -> None:
        self.used = self.peak = 0
        self.limit = 1 << 40

    def taken(self, shape: Any, dtype: Any, value: int) -> Any:
        count = int(numpy.prod(shape))
        size = count * numpy.dtype(dtype).itemsize
        if self.used + size > self.limit:
            raise MemoryError(f"out of memory allocating {size:,} bytes")

        class Memory(bytearray):
            pass

        memory = Memory(bytes([value]) * size)
        self.used += size
        self.peak = max(self.peak, self.used)
        weakref.finalize(memory, self._give, size)
        array = numpy.frombuffer(memory, dtype) if size else numpy.empty(0, dtype)
        return strict_cupy.Array(array.reshape(shape))

    def _give(self, size: int) -> None:
        self.used -= size

    def free_bytes(self) -> int:
        return 0

    def free_all_blocks(self) -> None:
        pass


def emulate(monkeypatch: pytest.MonkeyPatch) -> Pool:
    strict_cupy.install(monkeypatch)
    fake: Any = sys.modules["cupy"]
    fake.ascontiguousarray = lambda values: values if values.flags.c_contiguous else values.copy()
    pool = Pool()
    # What was never written must not look like zero.
    fake.empty = lambda shape, dtype: pool.taken(shape, dtype, 0x5A)
    fake.zeros = lambda shape, dtype: pool.taken(shape, dtype, 0)
    fake.get_default_memory_pool = lambda: pool
    fake.cuda.runtime = SimpleNamespace(memGetInfo=lambda: (pool.limit - pool.used, pool.limit))
    return pool


class Stored:
    """An array that is read in slices alone, as stored ones are."""

    def __init__(self, array: Any) -> None:
        self._array, self.shape, self.dtype = array, array.shape, array.dtype

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, wanted: Any) -> Any:
        return self._array[wanted].copy()


def check_all(
    csr: Any, source: int, answers: Any, form: tuple[bool, bool] = (True, True), **options: Any
) -> list[list[Check]]:
    """Check all answers as searches from one source, and hold them against the CPU's verifier."""
    given = [
        numpy.stack([answer[which] for answer in answers]) if form[which] else None for which in range(2)
    ]
    graph = {name: options.pop(name) for name in ("max_depth", "is_sorted") if name in options}
    symmetric = options.pop("symmetric", True)
    place = options.pop("place", lambda array: array)
    device = [None if array is None else place(array) for array in given]
    arrays = tuple(map(place, csr))
    found = list(
        bfs.check_searches(
            *arrays,
            [source] * len(answers),
            *device,
            symmetric=symmetric,
            resources=Resources(ROOM, **options),
            **graph,
        )
    )
    for number, checks in enumerate(found):
        one = [None if array is None else array[number] for array in given]
        assert checks == check_bfs(*csr, source, *one, symmetric=symmetric, **graph), number
    return found


def refused(checks: list[Check]) -> bool:
    return any(not check.passed for check in checks)


def check_each_arc(csr: Any, hub: int, places: Any) -> None:
    """Search from single neighbours of a vertex: its predecessor is then to be found at one arc alone."""
    sources = csr[1][csr[0][hub] :][list(places)].tolist()
    labels = [numpy.stack(each) for each in zip(*(search(csr, source) for source in sources), strict=True)]
    for form in FORMS:
        given = [each if has else None for each, has in zip(labels, form, strict=True)]
        found = list(bfs.check_searches(*csr, sources, *given, symmetric=True, resources=Resources(ROOM)))
        assert not any(map(refused, found))
        # An unreached neighbour, or one too far away, at this arc alone.
        for wrong in (-1, 3):
            broken = [each.copy() if has else None for each, has in zip(labels, form, strict=True)]
            if broken[0] is None:
                continue
            others = numpy.roll(sources, 1)
            broken[0][numpy.arange(len(sources)), others] = wrong
            for number, checks in enumerate(
                bfs.check_searches(*csr, sources, *broken, symmetric=True, resources=Resources(ROOM))
            ):
                one = [None if each is None else each[number] for each in broken]
                assert checks == check_bfs(*csr, sources[number], *one, symmetric=True)
                assert refused(checks)
