"""How every CPU kernel is compiled: cached on disk, without the GIL.

`gravel.kernels.compiled` says under what compiled code is kept, and where.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gravel.kernels.settings import refuse_bad_settings

refuse_bad_settings()

import numba  # noqa: E402

from gravel.kernels.compile_time import COMPILE_TIME  # noqa: E402
from gravel.kernels.compiled.cache import CompiledCache  # noqa: E402


def serial(function: Any) -> Any:
    """Compile a kernel that runs on the calling thread.

    A kernel called from another would be compiled anew for each constant that it is called with, such as the
    size of a chunk; here the types of constants count, as those of variables do. A search compiles in four
    fifths of the time, and runs as fast.
    """
    kernel: Any = numba.njit(nogil=True, boundscheck=False)(function)
    if numba.config.DISABLE_JIT:
        return kernel  # the Python function that it was
    template, compile_ = kernel.get_call_template, kernel.compile
    cache = kernel._cache = CompiledCache(kernel.py_func)

    def template_of_types(positional: Any, named: Mapping[str, Any]) -> Any:
        plain = {name: numba.types.unliteral(kind) for name, kind in named.items()}
        return template(tuple(map(numba.types.unliteral, positional)), plain)

    def timed(signature: Any) -> Any:
        with COMPILE_TIME.counted():
            try:
                return compile_(signature)
            finally:
                cache.close(signature)

    kernel.get_call_template, kernel.compile = template_of_types, timed
    return kernel
