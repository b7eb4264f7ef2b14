"""The kernels that verify searches, on emulated blocks: what they find is what the CPU's verifier finds."""

from __future__ import annotations

import shutil
import sys
from typing import Any

import numpy
import pytest

from gravel.kernels.verify import Check, check_bfs
from gravel.kernels.verify.cuda import bfs, memory
from gravel.kernels.verify.cuda.memory import Batch
from tests.emulation import grid_kernels, numpy_as_cupy
from tests.emulation.grid_kernels import on_device
from tests.kernels.cuda_case import LONG_PATH, names
from tests.kernels.verify_damage import DAMAGES, HUBS, ZOO, csr_of, damaged, search
from tests.zoo import ZooGraph

GRID = next(graph for graph in ZOO if graph.name == "grid_13x17")
SKEWED = next(graph for graph in ZOO if graph.name == "skewed_random")
ROOM = 1 << 40
FORMS = ((True, True), (True, False), (False, True))
"""Which of distance and predecessor an answer has."""


def emulate(monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("g++") is None:
        pytest.skip("emulated kernels are compiled with g++")
    fake: Any = numpy_as_cupy.module()
    fake.ascontiguousarray = lambda values: numpy.ascontiguousarray(values).view(grid_kernels.Array)
    fake.zeros_like = lambda values: numpy.zeros_like(values)
    monkeypatch.setitem(sys.modules, "cupy", fake)
    monkeypatch.setattr("gravel.kernels.verify.cuda.launch.load", grid_kernels.load)


@pytest.fixture(autouse=True)
def emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    emulate(monkeypatch)


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
            *arrays, [source] * len(answers), *device, symmetric=symmetric, room=ROOM, **graph, **options
        )
    )
    for number, checks in enumerate(found):
        one = [None if array is None else array[number] for array in given]
        assert checks == check_bfs(*csr, source, *one, symmetric=symmetric, **graph), number
    return found


def refused(checks: list[Check]) -> bool:
    return any(not check.passed for check in checks)


@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
@pytest.mark.parametrize("graph", [*ZOO, HUBS], ids=names)
def test_every_damage_is_found_as_the_cpu_finds_it(graph: ZooGraph, symmetric: bool) -> None:
    csr = csr_of(graph, symmetric=symmetric)
    for source in sorted({0, graph.vertex_count // 2}):
        named = list(damaged(csr, source, seed=graph.vertex_count))
        answers = [labels for _, labels in named]
        for form in FORMS:
            found = check_all(csr, source, answers, form, symmetric=symmetric)
            assert not refused(found[0])
            if form == (True, True):
                wrong = [name for (name, _), checks in zip(named[1:], found[1:], strict=True) if not refused(checks)]
                assert not wrong
