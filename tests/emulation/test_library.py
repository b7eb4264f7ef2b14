"""The library on an emulated GPU, whose arrays refuse to be read on the host unasked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest
from numba.core.errors import TypingError

from gravel.kernels.bfs.cuda.taken import taken
from gravel.kernels.level_sizes import level_sizes
from gravel.kernels.level_statistics import level_sums
from gravel.kernels.level_statistics_cuda import ROOM
from gravel.kernels.relabel_cuda import LabelsBack
from tests.emulation import strict_cupy
from tests.gravel.device_case import CASES, Case
from tests.gravel.samples import random_edges
from tests.parameters import slow_among


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    strict_cupy.install(monkeypatch)
    return Case(random_edges(vertices=150, edges=300), tmp_path)


@pytest.mark.parametrize("name", slow_among(CASES, {"measured as elias_fano"}))
def test_a_graph_on_the_device(case: Case, name: str) -> None:
    CASES[name](case)


@pytest.mark.parametrize(
    ("asked", "refusal"),
    [
        ("numpy.asarray(there)", "Implicit conversion"),
        ("numpy.ascontiguousarray(there)", "Implicit conversion"),
        ("numpy.array([there, there])", "Implicit conversion"),
        ("there + here", "Unsupported type"),
        ("numpy.searchsorted(here, there)", "no implementation"),
        ("there.__setitem__(slice(None), here)", "Unsupported type"),
        ("kernel((1,), (1,), (here,))", "host memory"),
        ("level_sums(there, here, here, here, here)", "non-precise type pyobject"),
    ],
)
def test_what_the_arrays_refuse(asked: str, refusal: str) -> None:
    kernel = strict_cupy.load("kernels/order/renumber.cu", VERTEX="u32").get_function("invert")
    here = numpy.array([1, 2])
    known = {"numpy": numpy, "here": here, "there": strict_cupy.on_device(here), "kernel": kernel}
    # As code of a stage would: tests may read the arrays.
    with pytest.raises((TypeError, AssertionError, TypingError), match=refusal):
        eval(compile(asked, "stage.py", "eval"), known | {"level_sums": level_sums})
    numpy.testing.assert_array_equal(known["there"], here)


def test_the_order_is_uploaded_once(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    prepare = LabelsBack.__init__

    def counted(self: LabelsBack, *given: object, **named: Any) -> None:
        made.append(self)
        prepare(self, *given, **named)

    monkeypatch.setattr(LabelsBack, "__init__", counted)
    graph = case.graph().reorder("degree")
    found = [graph.bfs(int(source)).distance.array for source in case.ends[0][:3]]
    assert len(made) == 1
    assert len({each.data.ptr for each in found}) == 3


@pytest.mark.parametrize("depth", [0, 5, ROOM - 1, ROOM, 3 * ROOM])
def test_levels_are_counted(monkeypatch: pytest.MonkeyPatch, depth: int) -> None:
    strict_cupy.install(monkeypatch)
    random = numpy.random.default_rng(depth)
    distance = numpy.concatenate([numpy.full(9, -1), numpy.arange(depth + 1), random.integers(-1, 4, 500)])
    distance[distance > depth] = -1
    distance = random.permutation(distance).astype(numpy.int32)
    assert level_sizes(strict_cupy.on_device(distance)) == level_sizes(distance)
    keys = strict_cupy.on_device(numpy.stack([distance + 7, distance], axis=1))
    numpy.testing.assert_array_equal(taken(keys[:, 1]).get(), distance)
    assert level_sizes(strict_cupy.on_device(numpy.full(5, -1, numpy.int32))) == []
