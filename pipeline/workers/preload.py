"""Set-up of each process of a cluster that is started here, by Dask's `preload`.

Schedulers and workers lose the HTTP server that Dask starts beside them, and which asks nobody's name.
Workers are deaf to Ctrl-C, and what they print goes to the run's log. They load what stages use, and compile
kernels, while the cluster still starts; so does a process that runs stages itself, while it reads files.

Workers start by `python -c`, which looks into the working directory before anywhere else. Python's safe path
prevents that; the variable is set for the start alone, since programs that a stage starts find modules as the
person at the keyboard has them. Where gravel itself lies, workers learn with the rest of the driver's
`sys.path`.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import signal
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gravel.stages.kernel_names import Kernel

LOG = "GRAVEL_WORKER_LOG"
MAKE_CONTEXT = "GRAVEL_MAKE_CUDA_CONTEXT"
"""Set in workers that have a GPU: they load CuPy and make a context while the cluster still starts."""

KERNELS = "GRAVEL_KERNELS_AHEAD"
"""What they compile then: kernel files and their macros, as JSON."""

ROUTES: dict[str, list[str]] = {"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}
"""Dask's settings without dashboard, metrics, health and JSON, until the HTTP server is closed."""

SAFE = "PYTHONSAFEPATH"
ADDED = "GRAVEL_SET_SAFE_PATH"
"""Says that the other variable is gravel's and not the user's."""

MAX_COMPILERS = 16
"""Threads that compile CUDA kernels: a plan has some fifty with CuPy's own, most of which take 0.2 s."""

_compiling: list[threading.Thread] = []
_ending = threading.Event()


def dask_setup(server: Any) -> None:
    """Prepare the process of a scheduler or worker before it says where it is."""
    http = server.services.pop("dashboard", None)
    if http is not None:
        http.stop()
    if type(server).__name__ != "Worker":
        return
    # This process has started with them; those that a stage starts are to have what the user has.
    if os.environ.pop(ADDED, None) is not None:
        os.environ.pop(SAFE, None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    options: dict[str, Any] = {"context": bool(os.environ.get(MAKE_CONTEXT))}
    with suppress(ValueError):
        options["kernels"] = json.loads(os.environ.get(KERNELS) or "[]")
    threading.Thread(target=load, kwargs=options, daemon=True, name="gravel-load").start()
    path = os.environ.get(LOG)
    if path:
        log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
        for name in ("distributed", "distributed.worker"):
            logging.getLogger(name).setLevel(logging.INFO)


def safe_path_variables() -> dict[str, str]:
    """Return the environment with which to start a process; nothing if the user has a safe path anyhow."""
    if os.environ.get(SAFE) and ADDED not in os.environ:
        return {}
    return {SAFE: "1", ADDED: "1"}


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


def wait_for_compilers() -> None:
    """Begin no other kernel, and wait for those that are compiled: NVRTC must not be unloaded under them."""
    _ending.set()
    for thread in _compiling:
        thread.join()


def _compile(waiting: SimpleQueue[Kernel]) -> None:
    from gravel.kernels.compile_time import COMPILE_TIME
    from gravel.kernels.cuda import load_ahead
    from gravel.stages.kernel_names import PREFIX, run

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
