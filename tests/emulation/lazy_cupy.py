"""CuPy's streams and events on emulated kernels, as lazily and as out of order as events allow.

What a thread enqueues waits until the thread looks at an event; then any operations run whose turn it may be,
in an order drawn at random, until the event has come. An operation that is nowhere told to wait for another
may so come before it or after it, and never runs while another one does.
"""

from __future__ import annotations

import random
import threading
import types
from collections.abc import Callable
from typing import Any

import numpy

from tests.emulation import fake_cupy
from tests.emulation.kernel_library import Launch, library


class Operation:
    def __init__(self, act: Callable[[], None], needs: list[Operation], stream: Stream) -> None:
        self.act, self.needs, self.stream, self.ended = act, needs, stream, False


class Queue(threading.local):
    """What one thread has enqueued."""

    seed = 0

    def __init__(self) -> None:
        self.waiting: list[Operation] = []
        self.current: Stream | None = None
        self.random = random.Random(f"{Queue.seed} {threading.current_thread().name}")

    def run_until(self, wanted: Operation | None) -> None:
        # A stream that is held back as long as others have anything to do shows what does not wait for it.
        held = self.random.choice([each.stream for each in self.waiting]) if self.waiting else None
        while wanted is not None and not wanted.ended:
            ready = [each for each in self.waiting if all(need.ended for need in each.needs)]
            chosen = self.random.choice([each for each in ready if each.stream is not held] or ready)
            self.waiting.remove(chosen)
            chosen.act()
            chosen.ended = True


queue = Queue()


class Stream:
    ptr = 0
    null = types.SimpleNamespace(synchronize=lambda: None)

    def __init__(self, non_blocking: bool = False, priority: int | None = None) -> None:
        assert non_blocking
        self.last: Operation | None = None
        self._also: list[Operation] = []

    def enqueue(self, act: Callable[[], None], *needs: Operation | None) -> Operation:
        found = [each for each in (self.last, *self._also, *needs) if each is not None and not each.ended]
        self.last = Operation(act, found, self)
        self._also.clear()
        queue.waiting.append(self.last)
        return self.last

    def wait_event(self, event: Event) -> None:
        if event.after is not None:
            self._also.append(event.after)

    def __enter__(self) -> Stream:
        queue.current = self
        return self

    def __exit__(self, *_: object) -> None:
        queue.current = None


class Event:
    def __init__(self) -> None:
        self.after: Operation | None = None

    def record(self, stream: Stream) -> None:
        # Waits that the stream was told of come before the event too.
        self.after = stream.enqueue(lambda: None)

    @property
    def done(self) -> bool:
        queue.run_until(self.after)
        return True


def elapsed(start: Event, end: Event) -> float:
    for event in (start, end):
        assert event.after is not None, "timed, and never recorded"
        assert event.after.ended, "timed before it has come"
    return 1.0


class Pointer(fake_cupy.Pointer):
    def __add__(self, offset: int) -> Pointer:
        return Pointer(self.ptr + offset, self.owner)

    def memset_async(self, value: int, size: int, stream: Stream) -> None:
        stream.enqueue(lambda: self._bytes(size).fill(value))

    def copy_from_device_async(self, source: Pointer, size: int, stream: Stream) -> None:
        stream.enqueue(lambda: numpy.copyto(self._bytes(size), source._bytes(size)))

    def _bytes(self, size: int) -> Any:
        return self.owner.reshape(-1).view(numpy.ndarray).view(numpy.uint8)[:size]


class Array(fake_cupy.Array):
    @property
    def data(self) -> Pointer:  # type: ignore[override]
        return Pointer(self.ctypes.data, self)

    def get(self, stream: Stream | None = None, out: Any = None, blocking: bool = True) -> Any:
        if stream is None:
            return numpy.array(self)
        assert not blocking
        assert (out.shape, out.dtype) == (self.shape, self.dtype)
        stream.enqueue(lambda: numpy.copyto(out, self))
        return out

    def set(self, values: Any, stream: Stream | None = None) -> None:
        if stream is None:
            self[...] = values
        else:
            stream.enqueue(lambda: numpy.copyto(self, values))


class Memory(fake_cupy.Memory):
    def at(self, pointer: int, count: int, dtype: Any) -> Array:
        return super().at(pointer, count, dtype).view(Array)


class Kernel:
    def __init__(self, path: str, name: str, macros: dict[str, object]) -> None:
        self._library, self._name = library(path, tuple(sorted(macros.items()))), name

    def __call__(self, grid: Any, block: Any, arguments: Any) -> None:
        assert queue.current is not None
        blocks, kept = min(grid[0], fake_cupy.BLOCKS), tuple(arguments)

        def run() -> None:
            Launch(self._library, blocks, fake_cupy.THREADS, kept, self._name).wait()

        queue.current.enqueue(run)


def load(path: str, **macros: object) -> Any:
    """Stand for `gravel.kernels.cuda.load`."""
    return types.SimpleNamespace(get_function=lambda name: Kernel(path, name, macros))


def module(seed: int) -> types.ModuleType:
    """Make the module that stands for `cupy`; the seed draws the order of operations."""
    Queue.seed = seed
    fake: Any = fake_cupy.module()
    for name in ("asarray", "empty", "zeros"):
        make = getattr(fake, name)
        setattr(fake, name, lambda *given, make=make: make(*given).view(Array))
    # What the host writes later must not have been taken by reference.
    fake.asarray = lambda values: numpy.array(values, order="C").view(Array)
    fake.cuda.Stream, fake.cuda.Event, fake.cuda.Memory = Stream, Event, Memory
    fake.cuda.get_elapsed_time = elapsed
    fake.cuda.alloc_pinned_memory = lambda size: bytearray(b"\x5a" * size)
    return fake
