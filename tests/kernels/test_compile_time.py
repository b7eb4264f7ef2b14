"""Who waits for a kernel is told of it while it is compiled, and which were compiled."""

from __future__ import annotations

from pathlib import Path

import pytest

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
