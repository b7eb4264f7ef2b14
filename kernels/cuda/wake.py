"""Bringing a GPU up to speed before something short is measured on it."""

from __future__ import annotations

from collections.abc import Iterable

from gravel.kernels.cuda import load, multiprocessors

WAKE_MILLISECONDS = 2.0
"""Enough for a GPU that has been idle to reach its clocks (docs/tuning.md)."""


def wake(milliseconds: float = WAKE_MILLISECONDS) -> None:
    """Keep the current device busy for this long, so that what follows in its stream finds it awake."""
    import numpy

    nanoseconds = numpy.uint64(milliseconds * 1e6)
    load("kernels/cuda/wake.cu").get_function("wake")((multiprocessors(),), (256,), (nanoseconds,))


def wake_all(devices: Iterable[int]) -> None:
    """Keep several devices of this process busy for this long, so that what follows begins together."""
    import cupy

    for device in devices:
        with cupy.cuda.Device(device):
            wake()
