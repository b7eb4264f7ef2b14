"""The start of a run's cluster, when something has to run, and what this process loads meanwhile."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.scheduler.machine import RunEnvironment
from gravel.pipeline.store.folder import DASK_LOG, LOGS, scratch_path
from gravel.pipeline.workers.preload import load
from gravel.pipeline.workers.protocol import Cluster, Reported, WorkerSlot, is_address

if TYPE_CHECKING:
    from gravel.pipeline.plan.model import Plan
    from gravel.pipeline.records.profile import Spans
    from gravel.stages.kernel_variants import Kernel


class Started:
    """A running cluster with the settings and the log that live as long as it does."""

    def __init__(self, cluster: Cluster, undo: Callable[[], None]) -> None:
        self.cluster = cluster
        self._undo = undo

    def close(self, *, hurry: bool = False) -> None:
        """End the cluster and put Dask's settings and loggers back."""
        try:
            self.cluster.close(hurry=hurry)
        finally:
            self._undo()


def start_cluster(
    environment: RunEnvironment,
    run: str,
    folder: Path,
    cache_root: Path,
    *,
    workers: int | None,
    ranks: int,
    progress: Callable[[Reported], None],
    meanwhile: Callable[[], None],
    kernels: Sequence[Kernel] = (),
) -> Started:
    """Start what the setting names; raises RequestError or GravelError if it does not come up.

    `ranks` is the size of the largest rank group. `progress` is called by an inline cluster while stages run,
    `meanwhile` when nothing is left to do here but to wait for workers, which compile `kernels` first.
    """
    if environment.cluster == "inline":
        from gravel.pipeline.workers.inline_cluster import InlineCluster
        from gravel.pipeline.workers.settings import LOOPBACK_ONLY, NCCL_INTERFACE, keep_environment

        restore = keep_environment([NCCL_INTERFACE])
        os.environ.setdefault(NCCL_INTERFACE, LOOPBACK_ONLY)
        device = environment.devices[0] if environment.backend == "cuda" and environment.devices else None
        worker_slot = WorkerSlot(
            "here",
            socket.gethostname(),
            device.name if device else None,
            environment.capacity.device_bytes if device else 0,
        )
        return Started(InlineCluster(worker_slot, progress), restore)
    import dask
    import distributed  # noqa: F401 (sets up its loggers, which are then sent elsewhere)

    from gravel.pipeline.workers.preload import safe_path_variables
    from gravel.pipeline.workers.settings import (
        SPAWN_ENVIRONMENT,
        dask_settings,
        keep_environment,
        log_to_file,
        start_without_main,
        stop_logging,
    )

    log = folder / LOGS / DASK_LOG
    handler = log_to_file(log)
    scratch = cache_root / scratch_path(run)
    # Workers of somebody else's cluster may be another user's, who shares the cache.
    scratch.mkdir(mode=0o777 if is_address(environment.cluster) else 0o700, parents=True, exist_ok=True)
    several_gpus = environment.cluster == "cuda" and len(environment.devices) > 1
    chosen = dask_settings(log, environment.cores, uses_dask_cuda=several_gpus)
    # Dask's scheduler has its folder there too, and not below a name in /tmp that others may take first.
    settings: Any = dask.config.set({**chosen, "temporary-directory": os.fspath(scratch)})
    put_back = keep_environment([*chosen[SPAWN_ENVIRONMENT], "PYTHONHASHSEED"])
    # Dask sets it for workers; Python's resource tracker starts before them.
    os.environ.update(safe_path_variables())
    with_main = start_without_main()

    def undo() -> None:
        with_main()
        settings.__exit__(None, None, None)
        put_back()
        stop_logging(handler)

    meanwhile()
    try:
        return Started(_start(environment, run, scratch, cache_root, workers, ranks, kernels), undo)
    except GravelError:
        undo()
        raise
    except Exception as error:
        undo()
        raise GravelError(
            f"the cluster did not start: {type(error).__name__}: {error}",
            hint=f"its log is {log}; see docs/troubleshooting.md#cluster-does-not-start",
        ) from error


def _start(
    environment: RunEnvironment,
    run: str,
    scratch: Path,
    cache_root: Path,
    workers: int | None,
    ranks: int,
    kernels: Sequence[Kernel],
) -> Cluster:
    if environment.cluster == "cuda":
        from gravel.pipeline.workers.local_cluster import start_cuda

        return start_cuda(run, environment.devices, scratch, kernels)
    if environment.cluster == "local":
        from gravel.pipeline.workers.local_cluster import local_worker_count, start_local

        return start_local(run, workers or local_worker_count(environment.cores, ranks), scratch)
    from gravel.pipeline.workers.existing_cluster import connect

    return connect(run, environment.cluster, cache_root, environment.tls)


class LoadingHere:
    """Loads on other threads of this process as soon as something will run; each thing once.

    Where stages run here, that is what they use. A file whose digest is not known is new: what is made from
    it will have to be made, and a GPU is made ready while the file is read. Where workers run the stages, it
    is Dask, while the GPU's driver is waited for; and what the run's page is made with, while workers start.
    The process waits for these threads before it ends.
    """

    def __init__(self, environment: RunEnvironment, plan: Plan, spans: Spans) -> None:
        self._environment = environment
        self._plan = plan
        self._spans = spans
        self._is_here = environment.cluster == "inline"
        self._done: set[str] = set()

    def expect_work(self) -> None:
        """Something will probably run: start what is of no use otherwise, if stages run here."""
        if not self._is_here:
            return
        environment = self._environment
        if environment.backend == "cuda" and not environment.devices[0].fake:
            # The driver wakes the GPU while CuPy is imported: 1.4 s in all, one after the other.
            self._start("driver", self._free_memory)
            self._start("load", self._load_for_gpu)
        else:
            self._start("load", load)

    def begin(self) -> None:
        """Something has to run."""
        self.expect_work()
        if not self._is_here:
            self._start("load Dask", load_dask)

    def while_workers_start(self) -> None:
        """Nothing is to be done here for a while."""
        if not self._is_here:
            self._start("load", load)

    def _start(self, what: str, job: Callable[[], object]) -> None:
        if what not in self._done:
            self._done.add(what)
            threading.Thread(target=self._do, args=(what, job), name="gravel-load").start()

    def _do(self, what: str, job: Callable[[], object]) -> None:
        # Whoever needs it meets the same problem, and reports it.
        with suppress(Exception), self._spans.take(what):
            job()

    def _free_memory(self) -> int:
        return self._environment.capacity.device_bytes

    def _load_for_gpu(self) -> None:
        from gravel.pipeline.scheduler.compilation import plan_kernels

        # What the context takes is no part of what is free.
        kernels = plan_kernels(self._plan, self._environment)
        load(before_context=self._free_memory, context=True, kernels=kernels)


def load_dask() -> None:
    """Import what a cluster is started with."""
    import dask  # noqa: F401
    import distributed  # noqa: F401
