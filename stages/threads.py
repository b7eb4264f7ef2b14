"""Items on threads of this process, results in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

AHEAD = 2
"""Items in flight per thread: one that runs and one that waits for it."""


def map_threads(function: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """Apply a function to each item on so many threads, yielding results in order.

    Kernels have one thread in each. An item that is the only one is worked on here, where they have all.
    """
    rest = iter(items)
    first = list(islice(rest, 2))
    if len(first) < 2 or threads < 2:
        yield from map(function, chain(first, rest))
        return
    from gravel.kernels.threads import set_threads

    items = chain(first, rest)
    with ThreadPoolExecutor(threads, "gravel-map", initializer=set_threads, initargs=(1,)) as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) >= threads * AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
