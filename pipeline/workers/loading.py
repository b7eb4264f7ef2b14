"""Loading what stages use while something else is still being waited for."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gravel.stages.kernel_variants import Kernel


MAX_COMPILERS = 16
"""Threads that compile CUDA kernels: a plan has some fifty with CuPy's own, most of which take 0.2 s."""


def load(
    *,
    before_context: Callable[[], object] | None = None,
    context: bool = False,
    kernels: Sequence[Kernel] = (),
) -> None:
    """Import what nearly every stage uses; with `context` make a CUDA context and compile kernels.

    `before_context` is called first, when CuPy is imported. A stage that needs the GPU says what is wrong
    with it, if anything.
    """
    making = None
    if context:
        with suppress(Exception):
            import cupy  # noqa: F401

            making = threading.Thread(
                target=_make_context, args=(before_context, kernels), name="gravel-context"
            )
            making.start()  # the driver needs no interpreter
    import numpy  # noqa: F401

    if not context:
        import gravel.kernels.jit  # noqa: F401
    if making is not None:
        making.join()


def _make_context(first: Callable[[], object] | None, kernels: Sequence[Kernel]) -> None:
    with suppress(Exception):
        import cupy

        if first is not None:
            first()
        compile_ahead(kernels)  # NVRTC needs no context, and loading what it makes waits for one
        cupy.zeros(1)


def compile_ahead(kernels: Sequence[Kernel]) -> list[threading.Thread]:
    """Start compiling on threads: a process that ends waits only for the kernels that are begun."""
    waiting: SimpleQueue[Kernel] = SimpleQueue()
    for kernel in {str(each): each for each in kernels}.values():
        waiting.put(kernel)
    count = min(waiting.qsize(), MAX_COMPILERS, len(os.sched_getaffinity(0)))
    threads = [
        threading.Thread(target=_compile, args=(waiting,), daemon=True, name="gravel-compile")
        for _ in range(count)
    ]
    if not _compiling:
        atexit.register(wait_for_compilers)
    _compiling.extend(threads)
    for thread in threads:
        thread.start()
    return threads


_compiling: list[threading.Thread] = []
_ending = threading.Event()


def wait_for_compilers() -> None:
    """Begin no other kernel, and wait for those that are compiled: NVRTC must not be unloaded under them."""
    _ending.set()
    for thread in _compiling:
        thread.join()


def _compile(waiting: SimpleQueue[Kernel]) -> None:
    from gravel.kernels.compile_time import COMPILE_TIME
    from gravel.kernels.cuda import load_ahead
    from gravel.stages.cupy_ahead import PREFIX, run

    COMPILE_TIME.leave_out_this_thread()
    while not _ending.is_set():
        try:
            name, macros = waiting.get_nowait()
        except Empty:
            return
        with suppress(Exception):  # whoever needs it compiles it again, and reports what is wrong
            if name.startswith(PREFIX):
                run(name)
            else:
                load_ahead(name, macros)
