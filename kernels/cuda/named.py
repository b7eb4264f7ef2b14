"""The kernel files that NVRTC compiles anew at this moment, so that whoever waits for one can say so.

Most are in CuPy's cache on disk after the first time on a machine, and then nothing is reported.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gravel.kernels.compile_time import COMPILE_TIME

RUNS_NVRTC = "_compile_using_nvrtc_no_warning", "compile_using_nvrtc"
"""CuPy's function that compiles what its cache on disk does not have, in version 14.2 and in those before."""


class _Here(threading.local):
    path: str | None = None


_HERE = _Here()
_ANEW: Counter[str] = Counter()
_GUARD = threading.Lock()


@contextmanager
def named(path: str) -> Iterator[None]:
    """Tell of this kernel file if this thread compiles it anew in the block."""
    _listen_to_cupy()
    _HERE.path = path
    try:
        yield
    finally:
        _HERE.path = None


def tell_if_compiled(path: str) -> None:
    """Tell of this kernel file if another thread compiles it anew at this moment."""
    if _ANEW[path]:
        COMPILE_TIME.compiles(_readable(path))


def _readable(path: str) -> str:
    return path.removeprefix("kernels/")


def _listen_to_cupy() -> None:
    compiler: Any = sys.modules.get("cupy.cuda.compiler")
    name = next((each for each in RUNS_NVRTC if hasattr(compiler, each)), None)
    if name is None or hasattr(runs := getattr(compiler, name), "__wrapped__"):
        return

    @functools.wraps(runs)
    def announced(*given: Any, **options: Any) -> Any:
        path = _HERE.path
        if path is None:  # a kernel of CuPy's own
            return runs(*given, **options)
        with _GUARD:
            _ANEW[path] += 1
        COMPILE_TIME.compiles(_readable(path))
        try:
            return runs(*given, **options)
        finally:
            with _GUARD:
                _ANEW[path] -= 1

    setattr(compiler, name, announced)
