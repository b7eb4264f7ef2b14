"""How devices synchronise: by flags in each other's memory, with an abort flag and a time limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from gravel.kernels.buffers import Buffer
from gravel.kernels.partition.cuda.table import Slab

MOST_DEVICES = 16
"""In `kernels/partition/device_barrier.cuh` too."""

_LINE = 16  # words of 8 bytes, so that what is polled has cache lines of its own


class DeviceBarrier:
    """One device's words, in its memory: arrivals, released, abort and a flag of each device.

    It serves any number of launches, all with the same number of blocks.
    """

    def __init__(self) -> None:
        self.slab = Slab([Buffer("words", "u8", 3 * _LINE + MOST_DEVICES)])
        self.words = self.slab.arrays["words"]
        self.reset()

    @property
    def pointer(self) -> int:
        """Where the words begin."""
        return self.slab.pointer

    def reset(self) -> None:
        """Forget all barriers; every device has to, while none of them searches."""
        self.words.fill(0)

    @property
    def aborted(self) -> bool:
        """Whether the last search was given up."""
        return bool(self.words[2 * _LINE] != 0)

    def described(self, pointers: Sequence[int], device: int, time_limit: float) -> Any:
        """Make the kernel's `Barrier` for the n-th device; `pointers` are to all devices' words."""
        import cupy

        if len(pointers) > MOST_DEVICES:
            raise ValueError(f"{len(pointers)} devices are too many; at most {MOST_DEVICES} synchronise")
        own = pointers[device]
        flags, aborts = numpy.zeros(MOST_DEVICES, numpy.uint64), numpy.zeros(MOST_DEVICES, numpy.uint64)
        for place, pointer in enumerate(pointers):
            aborts[place] = pointer + 8 * 2 * _LINE
            flags[place] = pointer + 8 * 3 * _LINE
        first = numpy.array([own, own + 8 * _LINE], numpy.uint64)
        last = numpy.array([len(pointers), device, int(time_limit * 1e9)], numpy.uint64)
        return cupy.asarray(numpy.concatenate((first, flags, aborts, last)))
