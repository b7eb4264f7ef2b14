"""Arrays onto the device: read, copied into pinned memory and sent in pieces, by several threads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from queue import SimpleQueue
from types import TracebackType
from typing import Any

from gravel.kernels.arrays import backend_of
from gravel.kernels.placement.pinned import Host, Pinned, PinnedRefused, buffer, pin
from gravel.kernels.verify.cuda.memory import MAX_THREADS, STAGE_BYTES

DIRECT_BYTES = 1 << 20
"""An array of at most so many bytes is sent as it is."""


@dataclass(frozen=True)
class Job:
    """Fill a device array of one axis with as many elements of `array` from `first` on.

    `array` has one axis, too, or is read by `array[low:high]`.
    """

    array: Any
    out: Any
    first: int = 0

    def read(self, start: int, stop: int) -> Any:
        """Read elements that go to this range of the device array."""
        return self.array[self.first + start : self.first + stop]


class Sending:
    """Pieces that are on their way."""

    def __init__(self, futures: Sequence[Future[None]] = ()) -> None:
        self._futures = futures

    def wait(self) -> None:
        """Return when all have come; raises what reading raised."""
        for future in self._futures:
            future.result()

    def stop(self) -> None:
        """Return when none is under way any more."""
        for future in self._futures:
            future.cancel()
        wait(self._futures)


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
        """Do one job; returns when all has come."""
        self.start([Job(array, out, first)]).wait()

    def brought(self, array: Any) -> Any:
        """Give an array on the device: itself, or a copy of one that lies elsewhere."""
        import cupy

        if backend_of(array) == "cuda":
            return array
        out = cupy.empty(len(array), array.dtype)
        self.send(array, out)
        return out

    def start(self, jobs: Iterable[Job]) -> Sending:
        """Begin to send; what the current stream does by now is awaited, since it may still read there."""
        import cupy

        large: list[Job] = []
        for job in jobs:
            if backend_of(job.array) == "cuda":
                job.out[...] = job.read(0, len(job.out))
            elif job.out.nbytes > DIRECT_BYTES:
                large.append(job)
            elif len(job.out):
                job.out.set(_contiguous(job.read(0, len(job.out)), job.out.dtype))
        if not large:
            return Sending()
        cupy.cuda.get_current_stream().synchronize()
        device, pool = cupy.cuda.Device().id, self._started()
        return Sending(
            [
                pool.submit(self._send_piece, device, job, start, STAGE_BYTES // job.out.itemsize)
                for job in large
                for start in range(0, len(job.out), STAGE_BYTES // job.out.itemsize)
            ]
        )

    def _send_piece(self, device: int, job: Job, start: int, step: int) -> None:
        import cupy

        stop = min(start + step, len(job.out))
        stage, stream = self._stages.get()
        try:
            with cupy.cuda.Device(device):
                values = stage[: (stop - start) * job.out.itemsize].view(job.out.dtype)
                values[...] = job.read(start, stop)
                job.out[start:stop].set(values, stream=stream)
                stream.synchronize()
        finally:
            self._stages.put((stage, stream))

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
