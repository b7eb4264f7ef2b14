"""Threads that write arrays to the store, side by side."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

MOST = 16
"""Of the threads that digest: each reads back and digests 2 to 4 GB/s."""

WRITERS = 4
"""Arrays that are written at the same time: one thread fills the page cache at 3 to 4 GB/s, two at 6 to 8."""

SYNCS = 4
"""Files that the disk is waited for at the same time; these threads need no core."""

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def run_now(
    function: Callable[Arguments, Result], *arguments: Arguments.args, **named: Arguments.kwargs
) -> Future[Result]:
    """Do what a thread would do, at once."""
    done: Future[Result] = Future()
    try:
        done.set_result(function(*arguments, **named))
    except Exception as error:
        done.set_exception(error)
    return done


class WriteThreads:
    """Threads that write, those that digest what was written, and those that wait for the disk.

    A task may wait for one of a later kind. One set serves any number of writers.
    """

    def __init__(self) -> None:
        self.count = min(MOST, len(os.sched_getaffinity(0)))
        self.writers = ThreadPoolExecutor(WRITERS, "gravel-write")
        self.digesters = ThreadPoolExecutor(self.count, "gravel-digest")
        self.syncs = ThreadPoolExecutor(SYNCS, "gravel-sync")

    def close(self) -> None:
        """End the threads when they have done what they were given."""
        self.writers.shutdown()
        self.digesters.shutdown()
        self.syncs.shutdown()
