"""Threads whose kernels end early where the caller is interrupted, as by Ctrl-C.

A thread inside a kernel sees no exception. So kernels run on other threads than the caller's, which waits
for them and can be interrupted, and look now and then at a number that the caller then changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numpy

LOOK = 4096
"""Vertices, of a few microseconds each at most, between two looks at `stop`."""


class Threads:
    """So many threads; kernels end early where `stop`, int32 (1,), becomes 1."""

    def __init__(self, count: int) -> None:
        self.stop = numpy.zeros(1, numpy.int32)
        self._pool = ThreadPoolExecutor(count, "gravel-search")

    def map(self, work: Callable[..., Any], *items: Iterable[Any]) -> list[Any]:
        """Call `work` for each item, or for one of each of several, and return the results in their order.

        Where the caller is interrupted or a call fails, all others are ended before the exception goes on.
        """
        futures = [self._pool.submit(work, *each) for each in zip(*items, strict=True)]
        try:
            return [each.result() for each in futures]
        except BaseException:
            self.stop[0] = 1
            for each in futures:
                each.cancel()
            wait(futures)
            self.stop[0] = 0
            raise
