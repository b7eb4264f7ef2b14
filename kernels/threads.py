"""How many threads the CPU kernels that a thread calls may use.

No kernel starts threads itself: each is called once for every range of its work, from threads of Python.
"""

from __future__ import annotations

import os
import threading

_limit = threading.local()


def set_threads(threads: int) -> None:
    """Let kernels called from this thread use at most this many threads."""
    _limit.threads = max(1, min(threads, max_threads()))


def thread_count() -> int:
    """How many threads kernels called from this thread may use; all of the process by default."""
    return getattr(_limit, "threads", None) or max_threads()


def max_threads() -> int:
    """How many threads this process may use: Numba's limit, or else the cores that it may run on."""
    limit = os.environ.get("NUMBA_NUM_THREADS", "")
    if limit.isdecimal() and int(limit):
        return int(limit)
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
