"""Items on threads of this process, results in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

AHEAD = 2
"""Items in flight per thread: one that runs and one that waits for it."""


def started_ahead(items: Iterable[Item], start: Callable[[Item], Result], ahead: int) -> Iterator[Result]:
    """Yield what `start` makes of each item, once it was called for so many of the following ones.

    An error of the items is raised after the last of them.
    """
    waiting: deque[Result] = deque()
    following, ended, broken = iter(items), False, None
    while True:
        while not ended and len(waiting) <= ahead:
            try:
                item = next(following)
            except StopIteration:
                ended = True
            except Exception as error:
                ended, broken = True, error
            else:
                waiting.append(start(item))
        if not waiting:
            break
        yield waiting.popleft()
    if broken is not None:
        raise broken


def in_order(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    threads: int,
    *,
    ahead: int | None = None,
    initializer: Callable[[], None] | None = None,
) -> Iterator[Result]:
    """Apply a function to each item on threads, `ahead` items (by default as many) beside the one awaited."""
    with ThreadPoolExecutor(max(1, threads), "gravel", initializer) as pool:
        try:
            for future in started_ahead(
                items, lambda item: pool.submit(function, item), threads if ahead is None else ahead
            ):
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def map_threads(function: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """Apply a function to each item on so many threads, yielding results in order.

    Kernels have one thread in each. An item that is the only one is worked on here, where they have all.
    """
    rest = iter(items)
    first = list(islice(rest, 2))
    items = chain(first, rest)
    if len(first) < 2 or threads < 2:
        yield from map(function, items)
        return
    from gravel.kernels.threads import set_threads

    yield from in_order(
        function, items, threads, ahead=threads * AHEAD - 1, initializer=lambda: set_threads(1)
    )
