"""How long this process has spent on compiling kernels, and on loading those that were compiled before."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class CompileTime:
    """Seconds in all; what compiles within something else that compiles counts once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depth = threading.local()
        self.seconds = 0.0

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count the time of the block, unless a block around it does."""
        depth = getattr(self._depth, "value", 0)
        self._depth.value = depth + 1
        began = time.perf_counter()
        try:
            yield
        finally:
            self._depth.value = depth
            if not depth:
                with self._lock:
                    self.seconds += time.perf_counter() - began


COMPILE_TIME = CompileTime()
"""Of this process, on all of its threads."""
