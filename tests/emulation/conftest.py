"""The stand-in for CuPy, for the tests of this folder."""

from __future__ import annotations

import shutil
import sys
from typing import Any

import pytest

from tests.emulation import fake_cupy, grid_kernels, strict_cupy


@pytest.fixture(autouse=True)
def compiler() -> None:
    if shutil.which("g++") is None:
        pytest.skip("emulated kernels are compiled with g++")


@pytest.fixture
def on_cpu(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let all that runs on one GPU run on CPU threads; gives what stands for CuPy."""
    strict_cupy.install(monkeypatch)
    return sys.modules["cupy"]


@pytest.fixture
def cupy_on_cpu(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let `gravel.kernels.partition.cuda` run on emulated devices."""
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy.module())
    monkeypatch.setattr("gravel.kernels.cuda.wake.wake", lambda *_: None)
    launches = ("partition.cuda.launching", "papers.pan2018.links.peer")
    for launch in (
        *(f"gravel.kernels.{name}" for name in launches),
        "tests.benchmarks.reductions_side_by_side",
    ):
        monkeypatch.setattr(f"{launch}.load", fake_cupy.load)
        monkeypatch.setattr(f"{launch}.resident_blocks", lambda *_: fake_cupy.BLOCKS)
    monkeypatch.setattr("gravel.kernels.cuda.load", grid_kernels.load)  # which checkpoints are found with
    for module in ("cuda.launch", "partition.cuda.compact_ids"):
        monkeypatch.setattr(f"gravel.kernels.{module}.load", grid_kernels.load)
