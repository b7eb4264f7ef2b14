"""How every CPU kernel is compiled: cached on disk, without the GIL, on OpenMP threads.

`gravel.kernels.compiled` says under what compiled code is kept, and where.

Numba's `workqueue` layer aborts the process when two threads enter it at once, so OpenMP is required.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numba
from numba.core.dispatcher import Dispatcher

from gravel.kernels.compiled.cache import CompiledCache

numba.config.THREADING_LAYER = "omp"


def serial(function: Any) -> Any:
    """Compile a kernel that runs on the calling thread.

    A kernel called from another would be compiled anew for each constant that it is called with, such as the
    size of a chunk; here the types of constants count, as those of variables do. A search compiles in four
    fifths of the time, and runs as fast.
    """
    kernel = _cached(numba.njit(nogil=True, boundscheck=False)(function))
    template = kernel.get_call_template

    def template_of_types(positional: Any, named: Mapping[str, Any]) -> Any:
        plain = {name: numba.types.unliteral(kind) for name, kind in named.items()}
        return template(tuple(map(numba.types.unliteral, positional)), plain)

    kernel.get_call_template = template_of_types
    return kernel


def parallel(function: Any) -> Any:
    """Compile a kernel whose `prange` loops run on all threads."""
    return _cached(numba.njit(nogil=True, boundscheck=False, parallel=True)(function))


def _cached(kernel: Any) -> Any:
    is_compiled = isinstance(kernel, Dispatcher)  # NUMBA_DISABLE_JIT leaves a function as it is
    if is_compiled:
        kernel._cache = CompiledCache(kernel.py_func)
        compile_ = kernel.compile

        def timed(signature: Any) -> Any:
            # Not a name of this module, whose values are part of what compiled code is known by.
            from gravel.kernels.compile_time import COMPILE_TIME

            with COMPILE_TIME.counted():
                return compile_(signature)

        kernel.compile = timed
    return kernel


prange = numba.prange


def set_threads(threads: int) -> None:
    """Let parallel kernels called from this thread use at most this many threads."""
    numba.set_num_threads(max(1, min(threads, numba.config.NUMBA_NUM_THREADS)))


def _keep_noted_limit() -> None:
    from gravel.kernels.thread_limit import noted_limit

    threads = noted_limit()
    if threads is not None:
        set_threads(threads)


_keep_noted_limit()
