"""What searches of whole graphs on CUDA need, on CPU threads: CuPy, launches, pinned memory and the clock."""

from __future__ import annotations

import ctypes
import sys
import types
from collections.abc import Sequence
from typing import Any

import numpy
import pytest

from tests.emulation import grid_kernels, strict_cupy


class Packed:
    """Stands for `gravel.kernels.bfs.cuda.packed.PackedKernel`."""

    def __init__(self, kernel: Any, arguments: Sequence[Any], changing: int, *, cooperative: bool) -> None:
        self._kernel, self._arguments, self._changing = kernel, tuple(arguments), changing
        self.launches: list[int] = []

    def launch(self, blocks: int, block: int, numbers: Sequence[int]) -> None:
        assert len(numbers) == self._changing
        self.launches.append(blocks)
        self._kernel((blocks,), (block,), (*self._arguments, *numbers))


class Pinned(numpy.ndarray):
    """Pinned host memory, with its address."""

    @property
    def ptr(self) -> int:
        return int(self.ctypes.data)


def _copy(target: int, source: int, size: int, *_: Any) -> None:
    ctypes.memmove(target, source, size)


def install(patch: pytest.MonkeyPatch) -> None:
    """Let every strategy of `gravel.kernels.bfs` for graphs in device memory run on CPU threads."""
    fake: Any = strict_cupy.module()
    for name in ("ascontiguousarray", "diff"):
        setattr(fake, name, lambda given, name=name: strict_cupy.on_device(getattr(numpy, name)(given)))
    device = types.SimpleNamespace(
        synchronize=lambda: None,
        attributes={"ClockRate": 1, "MultiProcessorCount": grid_kernels.BLOCKS, "L2CacheSize": 1 << 20},
    )
    fake.cuda.Device = lambda: device
    fake.cuda.get_current_stream = lambda: types.SimpleNamespace(ptr=0, synchronize=lambda: None)
    fake.cuda.alloc_pinned_memory = lambda size: numpy.zeros(size, numpy.uint8).view(Pinned)
    fake.cuda.runtime = types.SimpleNamespace(
        memcpyAsync=_copy, memcpyDeviceToHost=2, memGetInfo=lambda: (1 << 30, 1 << 30)
    )
    patch.setitem(sys.modules, "cupy", fake)
    for module in (
        "cooperative",
        "flex",
        "persistent",
        "host_rows",
        "kept_lines",
        "row_sources",
        "kernel_rows",
    ):
        patch.setattr(f"gravel.kernels.bfs.cuda.{module}.load", strict_cupy.load)
    for module in ("cooperative", "flex", "host_rows"):
        patch.setattr(f"gravel.kernels.bfs.cuda.{module}.resident_blocks", lambda *_: grid_kernels.BLOCKS)
        patch.setattr(f"gravel.kernels.bfs.cuda.{module}.event_milliseconds", lambda work: work() or 1.0)
    patch.setattr("gravel.kernels.bfs.cuda.persistent.shared_bytes", lambda: grid_kernels.SHARED_BYTES)
    patch.setattr("gravel.kernels.bfs.cuda.host_rows.in_host_memory", lambda array: True)
    patch.setattr("gravel.kernels.bfs.cuda.flex.PackedKernel", Packed)
