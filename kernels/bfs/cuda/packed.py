"""Launches of a kernel whose arguments stay packed, for a host that starts one for every level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class PackedKernel:
    """A kernel with its arguments in place; all are device arrays or unsigned 64-bit integers.

    CuPy packs arguments anew for every launch, which takes longer than a small level of a search.

    Parameters
    ----------
    kernel : of a `cupy.RawModule`, on the current device.
    arguments : those that never change; the last `changing` ones are given at each launch.
    cooperative : whether all blocks must run at the same time.

    """

    def __init__(self, kernel: Any, arguments: Sequence[Any], changing: int, *, cooperative: bool) -> None:
        import numpy

        fixed = [argument if isinstance(argument, int) else argument.data.ptr for argument in arguments]
        self._kept = kernel, arguments
        self._function = kernel.kernel.ptr
        self._cooperative = cooperative
        self._values = numpy.array([*fixed, *([0] * changing)], numpy.uint64)
        self._changing = self._values[len(fixed) :]
        first = self._values.ctypes.data
        self._addresses = numpy.arange(first, first + self._values.nbytes, 8, dtype=numpy.uint64)
        self._packed = self._addresses.ctypes.data

    def launch(self, blocks: int, block: int, numbers: Sequence[int]) -> None:
        """Start `blocks` blocks of `block` threads on the current stream."""
        import cupy
        from cupy_backends.cuda.api import driver

        self._changing[:] = numbers
        sizes = blocks, 1, 1, block, 1, 1, 0
        stream = cupy.cuda.get_current_stream().ptr
        if self._cooperative:
            driver.launchCooperativeKernel(self._function, *sizes, stream, self._packed)
        else:
            driver.launchKernel(self._function, *sizes, stream, self._packed, 0)
