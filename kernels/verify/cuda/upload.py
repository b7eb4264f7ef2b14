"""Arrays onto the device: read, copied into pinned memory and sent in pieces, by several threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from types import TracebackType
from typing import Any

from gravel.kernels.placement.pinned import Host, Pinned, PinnedRefused, buffer, pin
from gravel.kernels.strategy import backend_of
from gravel.kernels.verify.cuda.memory import MAX_THREADS, STAGE_BYTES

DIRECT_BYTES = 1 << 20
"""An array of at most so many bytes is sent as it is."""


class Uploads:
    """Threads that each have a pinned buffer and a stream; use it in a `with` block.

    A stored array is decoded by the thread that sends the piece. `notes` says what the system refused: pieces
    are then sent from ordinary memory.
    """

    def __init__(self, threads: int, *, host: Host | None = None) -> None:
        self._threads = max(1, min(threads, MAX_THREADS))
        self._host = host
        self._pool: ThreadPoolExecutor | None = None
        self._stages: SimpleQueue[tuple[Any, Any]] = SimpleQueue()
        self._pinned: list[Pinned] = []
        self.notes: list[str] = []

    def __enter__(self) -> Uploads:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()
        self._pinned.clear()

    def send(self, array: Any, out: Any, first: int = 0) -> None:
        """Fill a device array of one axis with as many elements of `array` from `first` on.

        `array` has one axis, too, or is read by `array[low:high]`. Returns when all have come.
        """
        if backend_of(array) == "cuda":
            out[...] = array[first : first + len(out)]
            return
        if out.nbytes <= DIRECT_BYTES:
            if len(out):
                out.set(_contiguous(array[first : first + len(out)], out.dtype))
            return
        import cupy

        # What is written here may be memory that kernels of this stream still read.
        cupy.cuda.get_current_stream().synchronize()
        step = STAGE_BYTES // out.itemsize
        device: int = cupy.cuda.Device().id

        def send_piece(start: int) -> None:
            stop = min(start + step, len(out))
            stage, stream = self._stages.get()
            try:
                with cupy.cuda.Device(device):
                    values = stage[: (stop - start) * out.itemsize].view(out.dtype)
                    values[...] = array[first + start : first + stop]
                    out[start:stop].set(values, stream=stream)
                    stream.synchronize()
            finally:
                self._stages.put((stage, stream))

        for _ in self._started().map(send_piece, range(0, len(out), step)):
            pass

    def _started(self) -> ThreadPoolExecutor:
        if self._pool is None:
            import cupy
            import numpy

            for _ in range(self._threads):
                stage = buffer(STAGE_BYTES, numpy.uint8)
                try:
                    self._pinned.append(pin(stage, self._host))
                except PinnedRefused as error:
                    self.notes = [f"the system refuses pinned memory ({error}), so labels come more slowly"]
                self._stages.put((stage, cupy.cuda.Stream(non_blocking=True)))
            self._pool = ThreadPoolExecutor(self._threads)
        return self._pool


class Row:
    """One row of an array of two axes, read by slices."""

    def __init__(self, array: Any, row: int) -> None:
        self._array, self._row = array, row

    def __getitem__(self, wanted: slice) -> Any:
        return self._array[self._row, wanted]


def _contiguous(values: Any, dtype: Any) -> Any:
    import numpy

    return numpy.ascontiguousarray(values, dtype)
