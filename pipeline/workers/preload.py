"""Set-up of each process of a cluster that is started here, by Dask's `preload`.

Schedulers and workers lose the HTTP server that Dask starts beside them, and which asks nobody's name.
Workers are deaf to Ctrl-C, and what they print goes to the run's log.

Workers start by `python -c`, which looks into the working directory before anywhere else. Python's safe path
prevents that; the variable is set for the start alone, since programs that a stage starts find modules as the
person at the keyboard has them. Where gravel itself lies, workers learn with the rest of the driver's
`sys.path`.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import threading
from contextlib import suppress
from typing import Any

from gravel.pipeline.workers.loading import load

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


def dask_setup(server: Any) -> None:
    """Prepare the process of a scheduler or worker before it says where it is."""
    http = server.services.pop("dashboard", None)
    if http is not None:
        http.stop()
    if type(server).__name__ == "Worker":
        _prepare_worker()


def _prepare_worker() -> None:
    drop_safe_path_variables()
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


def drop_safe_path_variables() -> None:
    """Take them out of this process's environment, now that it has started with them."""
    if os.environ.pop(ADDED, None) is not None:
        os.environ.pop(SAFE, None)
