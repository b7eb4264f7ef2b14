"""Dask's settings for a run, and certificates of other clusters."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import spawn
from pathlib import Path
from typing import Any

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.workers.preload import LOG, ROUTES, safe_path_variables

SPAWN_ENVIRONMENT = "distributed.nanny.pre-spawn-environ"

PRELOADS = ("gravel.pipeline.workers.preload",)
"""Modules whose `dask_setup` runs in each process that is started here."""

NCCL_INTERFACE = "NCCL_SOCKET_IFNAME"
LOOPBACK_ONLY = "=lo"
"""NCCL authenticates nobody: the sockets of ranks on one host do not leave it (`=`: this name exactly)."""

LOGGERS = ("distributed", "tornado", "asyncio", "bokeh", "dask_cuda")


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
        # Else Dask gives up a worker that is away, restarting, 15 s after it was lost once before.
        "distributed.deploy.lost-worker-timeout": "365d",
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
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value

    return put_back


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


ENCRYPTED = ("tls", "wss")

_HINT = (
    "give --tls-ca, --tls-cert and --tls-key, or set distributed.comm.tls in Dask's configuration; "
    "see docs/clusters.md"
)


@dataclass(frozen=True)
class Tls:
    """PEM files: the authority that signed the scheduler's certificate, and this side's certificate and key.

    `key` may be None if the file of the certificate holds it too.
    """

    ca: Path
    certificate: Path
    key: Path | None = None


def tls_of(ca: str | None, certificate: str | None, key: str | None) -> Tls | None:
    """Return what the options name, None without any; raises RequestError for half of them."""
    if ca is None and certificate is None and key is None:
        return None
    if ca is None or certificate is None:
        raise RequestError(
            f"--tls-{'ca' if ca is None else 'cert'} is missing",
            hint="TLS takes --tls-ca and --tls-cert, and --tls-key unless the second file holds the key too",
        )
    return Tls(Path(ca), Path(certificate), None if key is None else Path(key))


def encrypted(address: str) -> bool:
    """Say whether what listens at an address speaks TLS, and to holders of a certificate only."""
    return address.partition("://")[0] in ENCRYPTED


def security(tls: Tls | None, address: str) -> Any | None:
    """Return Dask's `Security` for an address, None where its own configuration decides.

    Raises RequestError if the address and the certificates do not go together, or a file is no PEM file of
    the kind that is wanted.
    """
    from distributed.security import Security

    if not encrypted(address):
        if tls is None:
            return None
        raise RequestError(
            f"certificates are given, and {address} is not encrypted",
            hint="start the scheduler with tls:// and certificates of its own, or leave the options out",
        )
    if tls is None:
        chosen = Security()
        if not chosen.tls_ca_file:
            raise RequestError(f"{address} needs certificates, and none are given", hint=_HINT)
    else:
        for file in filter(None, (tls.ca, tls.certificate, tls.key)):
            try:
                file.read_bytes()
            except OSError as error:
                raise RequestError(f"{file} cannot be read: {error.strerror}", hint=_HINT) from None
        chosen = Security(
            require_encryption=True,
            tls_ca_file=str(tls.ca.absolute()),
            tls_client_cert=str(tls.certificate.absolute()),
            tls_client_key=None if tls.key is None else str(tls.key.absolute()),
        )
    try:  # Dask takes what it cannot load for a scheduler that does not answer
        chosen.get_connection_args("client")
    except (OSError, ValueError) as error:  # those of SSL are OSErrors
        raise RequestError(
            f"the TLS files cannot be used: {error}",
            hint="they are PEM files: the authority's certificate, a certificate and its key",
        ) from error
    return chosen
