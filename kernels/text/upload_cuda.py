"""Text on its way to the GPU: pinned buffers on the host, and copies beside the computation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy

from gravel.kernels.placement.pinned import Pinned, PinnedRefused, buffer, pin

ALIGNED = 64
"""Copies begin at a multiple of as many bytes, as the buffers do."""


class Uploaded(NamedTuple):
    """Text on the device, `text[first:end]`, once `ready` has come."""

    text: Any
    first: int
    end: int
    ready: Any

    def wait(self) -> None:
        """Let the current stream wait for it."""
        import cupy

        cupy.cuda.get_current_stream().wait_event(self.ready)


class TextBuffers:
    """Buffers of one size on the host, and `texts` on the device, which are used in turn.

    Raises what CuPy raises where the device has no room. A host buffer is pinned when it is first copied,
    since pages that are in use already are pinned faster; where the system refuses that, copies are slower.
    """

    def __init__(self, size: int, *, buffers: int, texts: int) -> None:
        import cupy

        self._texts = [cupy.empty(-(-size // ALIGNED) * ALIGNED, numpy.uint8) for _ in range(texts)]
        self._events = [cupy.cuda.Event(disable_timing=True) for _ in range(texts)]
        self._stream = cupy.cuda.Stream(non_blocking=True)
        # The memory of the device comes from a pool: what used it before must have ended.
        cupy.cuda.get_current_stream().synchronize()
        self.buffers = [buffer(-(-size // ALIGNED) * ALIGNED, numpy.uint8) for _ in range(buffers)]
        self._staging: Any = None
        self._pinned: dict[int, Pinned | None] = {}
        self._turn = 0

    def upload(self, host: Any, first: int, end: int) -> Uploaded:
        """Begin to copy `host[first:end]`, `host` being one of `buffers`.

        It must stay as it is until the copy is ready, and what was uploaded `texts` calls ago be used up.
        """
        self._pin(host)
        self._turn = (self._turn + 1) % len(self._texts)
        text, ready = self._texts[self._turn], self._events[self._turn]
        begin = first // ALIGNED * ALIGNED
        size = -(-(end - begin) // ALIGNED) * ALIGNED
        text[:size].set(host[begin : begin + size], stream=self._stream)
        ready.record(self._stream)
        return Uploaded(text[:size], first - begin, end - begin, ready)

    def wait(self) -> None:
        """Return when no copy is under way, so that the buffers may go."""
        self._stream.synchronize()

    def download(self, array: Any) -> Iterator[Any]:
        """Yield an array of the device in parts on the host; each is valid until the next is asked for.

        They lie in one more buffer, since the others may be filled meanwhile.
        """
        if self._staging is None:
            self._staging = buffer(len(self.buffers[0]), numpy.uint8)
            self._pin(self._staging)
        host = self._staging
        step = len(host) // array.dtype.itemsize
        for first in range(0, len(array), step):
            part = array[first : first + step]
            view = host[: part.nbytes].view(array.dtype)
            part.get(out=view)
            yield view

    def _pin(self, host: Any) -> None:
        address = host.ctypes.data
        if address not in self._pinned:
            try:
                self._pinned[address] = pin(host)
            except PinnedRefused:
                self._pinned[address] = None
