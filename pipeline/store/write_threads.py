"""Threads that write arrays to the store, side by side."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

MOST = 16
"""Each digests, checks and writes 0.7 to 1 GB/s, and the memory of a tmpfs takes 15 (16 cores of a Xeon)."""

SYNCS = 4
"""Files that the disk is waited for at the same time; these threads need no core."""

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def run_now(
    function: Callable[Arguments, Result], *arguments: Arguments.args, **named: Arguments.kwargs
) -> Future[Result]:
    """Do what `WriteThreads.submit` has a thread do, at once."""
    done: Future[Result] = Future()
    try:
        done.set_result(function(*arguments, **named))
    except Exception as error:
        done.set_exception(error)
    return done


def thread_count() -> int:
    """Return how many threads write side by side."""
    return min(MOST, len(os.sched_getaffinity(0)))


class WriteThreads:
    """As many threads as there are cores for what is written, and a few that wait for the disk.

    A task of `submit` may submit others, and must not wait for them. One pool serves any number of writers.
    """

    def __init__(self) -> None:
        self.count = thread_count()
        self.pool = ThreadPoolExecutor(self.count, "gravel-write")
        self._syncs = ThreadPoolExecutor(SYNCS, "gravel-sync")

    def submit(
        self,
        function: Callable[Arguments, Result],
        *arguments: Arguments.args,
        **named: Arguments.kwargs,
    ) -> Future[Result]:
        """Have a thread do what takes a core."""
        return self.pool.submit(function, *arguments, **named)

    def submit_sync(
        self,
        function: Callable[Arguments, Result],
        *arguments: Arguments.args,
        **named: Arguments.kwargs,
    ) -> Future[Result]:
        """Have a thread do what waits for the disk."""
        return self._syncs.submit(function, *arguments, **named)

    def close(self) -> None:
        """End the threads when they have done what they were given."""
        self._syncs.shutdown()
        self.pool.shutdown()
