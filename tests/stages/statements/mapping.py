"""A context that maps on as many threads as a worker does, with as many items in flight."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from gravel.pipeline.workers.on_worker import AHEAD
from gravel.stages.context import PlainContext
from gravel.stages.stage import Machine

Item = TypeVar("Item")
Result = TypeVar("Result")


class MappingContext(PlainContext):
    """`PlainContext` with the threads of `gravel.pipeline.workers.on_worker`, and ranks that have workers."""

    def __init__(self, machine: Machine, *, reserved: int = 0) -> None:
        super().__init__(machine)
        self.reserved = reserved

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Apply the function on the machine's threads, and yield in order."""
        from gravel.kernels.jit import set_threads

        threads = self.machine.threads
        with ThreadPoolExecutor(threads, initializer=set_threads, initargs=(1,)) as pool:
            waiting: deque[Future[Result]] = deque()
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) >= threads * AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
