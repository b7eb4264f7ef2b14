"""Dask's settings for a run: quiet, local, without its own memory limits."""

from __future__ import annotations

import logging
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker, spawn
from pathlib import Path
from typing import Any

from gravel.pipeline.workers.preload import LOG, ROUTES, safe_path_variables
from gravel.stages.urls import visible

SPAWN_ENVIRONMENT = "distributed.nanny.pre-spawn-environ"

PRELOADS = ("gravel.pipeline.workers.preload",)
"""Modules whose `dask_setup` runs in each process that is started here."""

NCCL_INTERFACE = "NCCL_SOCKET_IFNAME"
LOOPBACK_ONLY = "=lo"
"""NCCL authenticates nobody: the sockets of ranks on one host do not leave it (`=`: this name exactly)."""

LOGGERS = ("distributed", "tornado", "asyncio", "bokeh", "dask_cuda")


def dask_folder(scratch: Path) -> str:
    """Return a folder for what Dask keeps of its own, which must have a name in UTF-8."""
    name = os.fspath(scratch)
    return name if visible(name) == name else tempfile.gettempdir()


def dask_settings(log: Path, threads: int, *, uses_dask_cuda: bool = False) -> dict[str, Any]:
    """Return the settings that hold while a run's cluster lives.

    `log` takes what workers print; `threads` is the most that a stage's kernels may use.
    """
    return {
        # Scheduler and workers would each open the GPU's driver for metrics that nobody looks at, and wait
        # for it: half a second on an H100. dask-cuda relies on their having opened it.
        "distributed.diagnostics.nvml": uses_dask_cuda,
        "distributed.worker.daemon": True,
        "distributed.worker.memory.target": False,
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.pause": False,
        "distributed.worker.memory.terminate": False,
        "distributed.scheduler.work-stealing": True,
        "distributed.scheduler.active-memory-manager.start": False,
        "distributed.scheduler.worker-saturation": 1.1,
        "distributed.comm.timeouts.connect": "30s",
        # A long kernel that holds the GIL must not look like a dead worker.
        "distributed.scheduler.worker-ttl": None,
        "distributed.admin.tick.limit": "1h",
        "distributed.scheduler.preload": list(PRELOADS),
        **ROUTES,
        SPAWN_ENVIRONMENT: {
            "MALLOC_TRIM_THRESHOLD_": "65536",
            "NUMBA_NUM_THREADS": str(threads),
            "OMP_NUM_THREADS": str(threads),
            "OMP_WAIT_POLICY": "PASSIVE",
            "MKL_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "DASK_LOGGING__DISTRIBUTED": "error",  # until the worker writes to its log file
            LOG: str(log),
            NCCL_INTERFACE: os.environ.get(NCCL_INTERFACE) or LOOPBACK_ONLY,
            **safe_path_variables(),
        },
    }


def keep_environment(names: Iterable[str]) -> Callable[[], None]:
    """Note variables that Dask sets in this process for its workers; the result puts them back.

    What stays set would win over the settings of the next run of the same process, such as its log.
    """
    before = {name: os.environ.get(name) for name in names}

    def put_back() -> None:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    return put_back


@contextmanager
def deaf_children() -> Iterator[None]:
    """Let processes that are started meanwhile, and by threads made meanwhile, never see Ctrl-C.

    The signal mask is inherited by threads and processes, so that this holds for later restarts too.
    """
    # Whichever thread starts the tracker has Ctrl-C unblocked by it: let that be this one, now.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _LogFile(logging.FileHandler):
    """A log that loses lines when the disk is full, and says nothing about it on the terminal."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (logging calls it so)
        """Drop the line."""


def log_to_file(path: Path) -> logging.Handler:
    """Send what Dask logs to a file, and nothing of it to the terminal."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handler = _LogFile(path, delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
    for name in list(logging.root.manager.loggerDict):
        if name.split(".")[0] in LOGGERS:
            # Dask gives some of its inner loggers handlers of their own.
            logging.getLogger(name).handlers = []
            logging.getLogger(name).propagate = True
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
    return handler


def stop_logging(handler: logging.Handler) -> None:
    """Close the run's log; what Dask still says is dropped."""
    for name in LOGGERS:
        logger = logging.getLogger(name)
        if handler in logger.handlers:
            logger.handlers = [logging.NullHandler()]
    with suppress(OSError):  # closing writes what is left
        handler.close()


WORKER = "Dask Worker process"
"""How `distributed.nanny` begins the names of the processes that it starts."""

_of_python = spawn.get_preparation_data
_lock = threading.Lock()
_users = 0


def _prepared(name: str) -> dict[str, Any]:
    prepared = _of_python(name)
    if name.startswith(WORKER):
        for key in ("init_main_from_name", "init_main_from_path"):
            prepared.pop(key, None)
    return prepared


def start_without_main() -> Callable[[], None]:
    """Keep the main module out of workers that start from now on, also anew; the result ends that."""
    global _users
    with _lock:
        _users += 1
        spawn.get_preparation_data = _prepared

    def end() -> None:
        global _users
        with _lock:
            _users -= 1
            if not _users:
                spawn.get_preparation_data = _of_python

    return end
