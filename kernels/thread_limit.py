"""How many threads a thread's CPU kernels may use, noted where Numba may never be loaded.

Importing Numba takes 0.3 s or more, and most stages on a GPU have no use for it.
"""

from __future__ import annotations

import sys
import threading

_wanted = threading.local()


def limit_threads(threads: int) -> None:
    """Let kernels called from this thread use at most this many threads, once there are any."""
    _wanted.threads = threads
    if "gravel.kernels.jit" in sys.modules:
        from gravel.kernels.jit import set_threads

        set_threads(threads)


def noted_limit() -> int | None:
    """Return what was noted for this thread."""
    return getattr(_wanted, "threads", None)
