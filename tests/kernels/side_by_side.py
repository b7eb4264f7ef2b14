"""Devices that share a GPU, so that one GPU runs what several do: each has a stream and a part of the blocks.

Their launches run at the same time, meet by the flags that devices meet by, and read each other's memory as
that of peers is read. What this cannot tell is how memory behaves between GPUs, and how fast it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import pytest

# Streams that share one of the GPU's queues, of which there are 8 otherwise, run one after the other.
os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")

WHERE = "gravel.kernels.partition.cuda.launching"
"""Where it is asked how many blocks run at once, and launches begin."""


@contextmanager
def sharing(devices: int) -> Iterator[tuple[int, ...]]:
    """Let so many devices of a search share the current GPU; gives what to pass as `devices`."""
    import cupy

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"{WHERE}.resident_blocks", _part_of(devices))
        patch.setattr(f"{WHERE}.DeviceLaunch._begin", _in_own_stream())
        yield (cupy.cuda.Device().id,) * devices


def _part_of(devices: int) -> Any:
    from gravel.kernels.cuda import resident_blocks

    return lambda *asked: resident_blocks(*asked) // devices


def _in_own_stream() -> Any:
    import cupy

    from gravel.kernels.partition.cuda.launching import DeviceLaunch

    start = DeviceLaunch._begin
    streams: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

    def started(self: Any, *arguments: Any) -> Any:
        if self not in streams:
            # Not one that ignores the default stream, in which all else is done.
            streams[self] = cupy.cuda.Stream()
        with streams[self]:
            return start(self, *arguments)

    return started
