"""How long this process has compiled kernels, or loaded those that were compiled before, and which."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LOADING_SECONDS = 0.3
"""CuPy loads a kernel of its cache on disk in less time, unless the machine is busy."""


class CompileTime:
    """Seconds during which something compiled, on whichever threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way = 0
        self._began = 0.0
        self._seconds = 0.0
        self._left_out = threading.local()
        self._kernels: list[str] = []
        self._is_announced = False
        self._listeners: list[Callable[[str | None], None]] = []

    def leave_out_this_thread(self) -> None:
        """Count nothing of what this thread does, for which nobody waits."""
        self._left_out.here = True

    @property
    def seconds(self) -> float:
        """Seconds until now."""
        with self._lock:
            return self._seconds + (time.perf_counter() - self._began if self._under_way else 0.0)

    def compiles(self, kernel: str) -> None:
        """Note a kernel that counted time goes to compiling, and tell who listens."""
        if getattr(self._left_out, "here", False):
            return
        with self._lock:
            if not self._under_way:
                return
            self._kernels.append(kernel)
            self._is_announced = True
            listeners = tuple(self._listeners)
        for listener in listeners:
            listener(kernel)

    @contextmanager
    def listened(self, listener: Callable[[str | None], None]) -> Iterator[list[str]]:
        """Tell the listener of each kernel that is compiled in the block, and None when that has ended.

        Yields the kernels, filled at the block's end.
        """
        found: list[str] = []
        with self._lock:
            before = len(self._kernels)
            self._listeners.append(listener)
        try:
            yield found
        finally:
            with self._lock:
                self._listeners.remove(listener)
                found.extend(dict.fromkeys(self._kernels[before:]))

    @contextmanager
    def counted_for(self, kernel: str) -> Iterator[None]:
        """Count the time of the block, and note the kernel once that is longer than loading one takes."""
        if getattr(self._left_out, "here", False):
            yield
            return
        timer = threading.Timer(LOADING_SECONDS, self.compiles, (kernel,))
        timer.daemon = True
        timer.start()
        try:
            with self.counted():
                yield
        finally:
            timer.cancel()

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count the time of the block."""
        if getattr(self._left_out, "here", False):
            yield
            return
        with self._lock:
            self._under_way += 1
            if self._under_way == 1:
                self._began = time.perf_counter()
        try:
            yield
        finally:
            with self._lock:
                self._under_way -= 1
                listeners: tuple[Callable[[str | None], None], ...] = ()
                if not self._under_way:
                    self._seconds += time.perf_counter() - self._began
                    listeners = tuple(self._listeners) if self._is_announced else ()
                    self._is_announced = False
            for listener in listeners:
                listener(None)


COMPILE_TIME = CompileTime()
"""Of this process, on all of its threads."""
