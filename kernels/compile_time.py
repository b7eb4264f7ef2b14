"""How long this process has spent on compiling kernels, and on loading those that were compiled before."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class CompileTime:
    """Seconds during which something compiled, on whichever threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way = 0
        self._began = 0.0
        self._seconds = 0.0

    @property
    def seconds(self) -> float:
        """Seconds until now."""
        with self._lock:
            return self._seconds + (time.perf_counter() - self._began if self._under_way else 0.0)

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count the time of the block."""
        with self._lock:
            self._under_way += 1
            if self._under_way == 1:
                self._began = time.perf_counter()
        try:
            yield
        finally:
            with self._lock:
                self._under_way -= 1
                if not self._under_way:
                    self._seconds += time.perf_counter() - self._began


COMPILE_TIME = CompileTime()
"""Of this process, on all of its threads."""
