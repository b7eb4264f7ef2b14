"""The library on an emulated GPU, whose arrays refuse to be read on the host unasked."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy
import pytest

from tests.emulation import strict_cupy
from tests.gravel.device_case import CASES, Case
from tests.gravel.samples import random_edges

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="emulated kernels are compiled with g++")


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    strict_cupy.install(monkeypatch)
    return Case(random_edges(vertices=150, edges=300), tmp_path)


@pytest.mark.parametrize("name", CASES)
def test_a_graph_on_the_device(case: Case, name: str) -> None:
    CASES[name](case)


def test_what_the_arrays_refuse() -> None:
    there = strict_cupy.on_device([1, 2])
    for read in (numpy.asarray, numpy.array, numpy.ascontiguousarray, lambda array: there + array.get()):
        with pytest.raises(TypeError, match=r"Implicit conversion|Unsupported type"):
            read(there)
    with pytest.raises(TypeError, match="Unsupported type"):
        there[:] = numpy.array([3, 4])
    with pytest.raises(AssertionError, match="host memory"):
        strict_cupy.load("kernels/order/renumber.cu", VERTEX="u32").get_function("invert")(
            (1,), (1,), (numpy.zeros(3),)
        )
