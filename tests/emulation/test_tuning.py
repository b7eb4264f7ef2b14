"""The bench of `gravel doctor --tune` on emulated kernels: every constant's values are searched with."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from gravel.kernels.probes import tuning
from gravel.kernels.tuned.constants import CONSTANTS
from tests.emulation import grid_kernels, strict_cupy, test_direction_optimizing
from tests.kernels.cuda_case import fast_csr, rmat

pytestmark = test_direction_optimizing.pytestmark


@pytest.fixture
def on_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in: Callable[..., None] = inspect.unwrap(test_direction_optimizing.on_cpu)
    stand_in(monkeypatch)


def small(name: str) -> Any:
    arrays = fast_csr(rmat(8, 8), symmetric=True)
    return *(strict_cupy.on_device(array) for array in arrays), (0, 5)


@pytest.mark.usefixtures("on_cpu")
def test_searches_of_the_bench_have_the_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "graph_of", small)
    of = [each for each in CONSTANTS if each.strategy == "direction_optimizing" and each.graph != "grid"]
    for constant in of:
        for value in constant.values:
            given = {"block": grid_kernels.THREADS, constant.parameter: value}
            run = tuning.GpuBench().prepare(constant, given)
            assert run() > 0
