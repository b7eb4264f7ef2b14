"""Set-up of each worker process: deaf to Ctrl-C, and what it prints goes to the run's log.

`--preload` of Dask: `dask_setup` runs in the worker before its first task.
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
from gravel.pipeline.workers.safe_path import drop_safe_path_variables

LOG = "GRAVEL_WORKER_LOG"
MAKE_CONTEXT = "GRAVEL_MAKE_CUDA_CONTEXT"
"""Set in workers that have a GPU: they load CuPy and make a context while the cluster still starts."""

KERNELS = "GRAVEL_KERNELS_AHEAD"
"""What they compile then: kernel files and their macros, as JSON."""


def dask_setup(worker: Any) -> None:
    """Prepare the process."""
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
