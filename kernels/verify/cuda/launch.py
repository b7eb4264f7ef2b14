"""Launches of this package's kernels on the current device."""

from __future__ import annotations

from typing import Any

from gravel.kernels.cuda import blocks_for, load

BLOCK = 256

SHARED_BYTES = 48 << 10
"""Shared memory of a block that needs no asking."""


class Kernels:
    """The kernels of a file, each launched with a thread, or more, for each of so many items."""

    def __init__(self, path: str, block: int = BLOCK, **macros: object) -> None:
        self._module = load(path, **macros)
        self.block, self.macros = block, macros

    def run(self, name: str, threads: int, *arguments: Any, shared: int = 0) -> None:
        """Launch a kernel, unless there is nothing to do; `shared` is bytes of shared memory for a block."""
        if threads <= 0:
            return
        kernel = self._module.get_function(name)
        if shared > SHARED_BYTES:
            kernel.max_dynamic_shared_size_bytes = shared
        grid = blocks_for(threads, self.block, most=1 << 14)
        kernel((grid,), (self.block,), arguments, shared_mem=shared)


def kind_of(dtype: Any) -> int:
    """Say how `integers.cuh` reads labels of a dtype; raises ValueError for what is no integer."""
    import numpy

    dtype = numpy.dtype(dtype)
    if dtype.kind not in "iu":
        raise ValueError(f"labels are integers; found {dtype}")
    unsigned = dtype.kind == "u" and dtype.itemsize < 8
    return int(dtype.itemsize) | (16 if unsigned else 0)


def release_pool() -> None:
    """Give back to the device what CuPy's pool keeps and nobody uses."""
    import cupy

    cupy.get_default_memory_pool().free_all_blocks()


def free_bytes() -> int:
    """Count what the device has left, with what CuPy's pool keeps and nobody uses."""
    import cupy

    free = cupy.cuda.runtime.memGetInfo()[0]
    return int(free) + int(cupy.get_default_memory_pool().free_bytes())
