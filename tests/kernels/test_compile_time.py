"""Who waits for a kernel is told of it while it is compiled, and which were compiled."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from gravel.kernels import compile_time
from gravel.kernels.compile_time import COMPILE_TIME
from gravel.kernels.compiled import cache
from gravel.kernels.compiled.folder import Folder
from gravel.kernels.jit import serial


@serial
def add_one(value: int) -> int:
    return value + 1


@serial
def add_two(value: int) -> int:
    return int(add_one(value)) + 1


def test_a_kernel_is_named_when_its_compilation_begins_and_ends(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cache, "_folder", lambda: Folder(tmp_path / "compiled"))  # this user's may have them
    told: list[str | None] = []
    with COMPILE_TIME.listened(told.append) as names:
        assert add_two(1) == 3
    own = [f"{__name__}.{kernel}" for kernel in ("add_two", "add_one")]
    assert told == [*own, None]
    assert names == own
    with COMPILE_TIME.listened(told.append) as names:
        assert add_two(1) == 3
    assert len(told) == 3, "compiled already"
    assert names == []


@pytest.mark.parametrize(("seconds", "names"), [(0.0, []), (0.3, ["bfs/persistent.cu"])])
def test_a_kernel_that_takes_longer_than_loading_is_named(
    monkeypatch: pytest.MonkeyPatch, seconds: float, names: list[str]
) -> None:
    monkeypatch.setattr(compile_time, "LOADING_SECONDS", 0.1)
    told: list[str | None] = []
    before = COMPILE_TIME.seconds
    with COMPILE_TIME.listened(told.append) as kernels:
        with COMPILE_TIME.counted_for("bfs/persistent.cu"):
            time.sleep(seconds)
            assert told == names
        time.sleep(0.15)
    assert kernels == names
    assert told == [*names, *([None] if names else [])]
    assert COMPILE_TIME.seconds - before >= seconds


def test_nothing_of_cupy_is_replaced() -> None:
    root = Path(compile_time.__file__).parents[1]
    files = [file for room in ("kernels", "stages", "pipeline") for file in (root / room).rglob("*.py")]
    assert len(files) > 100
    assert [file for file in files if "cupy.cuda.compiler" in file.read_text()] == []


ANEW = """
from gravel.kernels.compile_time import COMPILE_TIME
from gravel.kernels.cuda import load

told = []
with COMPILE_TIME.listened(told.append):
    load("kernels/bfs/cuda/direction_optimizing.cu", VERTEX="u32", TREE=32, DEFER_ROWS=1)
print(told)
"""


@pytest.mark.gpu
def test_a_kernel_is_named_the_first_time_on_a_machine(tmp_path: Path) -> None:
    there = {**os.environ, "CUPY_CACHE_DIR": str(tmp_path)}
    run = partial(subprocess.run, [sys.executable, "-c", ANEW], env=there, stdout=subprocess.PIPE, text=True)
    told = [run().stdout.strip() for _ in range(2)]
    assert told == ["['bfs/cuda/direction_optimizing.cu', None]", "[]"]
