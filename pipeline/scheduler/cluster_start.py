"""What is started when something has to run: the cluster, what this process loads, kernels to compile."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.plan.model import Plan, StageRun
from gravel.pipeline.scheduler.machine import RunEnvironment
from gravel.pipeline.store.folder import DASK_LOG, LOGS, scratch_path
from gravel.pipeline.workers.loading import load
from gravel.pipeline.workers.preload import safe_path_variables
from gravel.pipeline.workers.protocol import Cluster, Reported, WorkerSlot, is_address

if TYPE_CHECKING:
    from gravel.kernels.compiled.folder import Folder
    from gravel.pipeline.records.profile import Spans
    from gravel.stages.kernel_variants import Kernel
    from gravel.stages.stage import Need, Parameters


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
        from gravel.pipeline.workers.inline import InlineCluster
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
        from gravel.pipeline.workers.local import start_cuda

        return start_cuda(run, environment.devices, scratch, kernels)
    if environment.cluster == "local":
        from gravel.pipeline.workers.local import local_worker_count, start_local

        return start_local(run, workers or local_worker_count(environment.cores, ranks), scratch)
    from gravel.pipeline.workers.existing import connect

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
        # What the context takes is no part of what is free.
        kernels = plan_kernels(self._plan, self._environment)
        load(before_context=self._free_memory, context=True, kernels=kernels)


def load_dask() -> None:
    """Import what a cluster is started with."""
    import dask  # noqa: F401
    import distributed  # noqa: F401


class Compiling:
    """The process that compiles the CPU kernels of searches while the stages before them run.

    `keys` are the stage runs that search. Of what the quickstart compiles on a new machine its search is
    half, and comes late. The process is started once for each kind of search: a mark in the folder of
    compiled kernels says that they are there. If they were removed meanwhile, the stage compiles them, as it
    does where no process was started.
    """

    def __init__(self, jobs: str, mark: str, keys: Iterable[str], threads: int) -> None:
        import subprocess

        self._mark = mark
        self._keys = tuple(keys)
        count = str(threads)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gravel.kernels.ahead", jobs, mark],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is the run's alone
            env={**os.environ, **safe_path_variables(), "NUMBA_NUM_THREADS": count, "OMP_NUM_THREADS": count},
        )

    def close(self, is_done: Callable[[str], bool]) -> None:
        """End the process; if all runs that it compiled for are done, all is compiled, by whomever."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        # Also where it could not do a job: it would not be able to do it in the next run either.
        if all(map(is_done, self._keys)) and (folder := _folder()) is not None:
            folder.write(self._mark, b"")
            folder.close()


def compile_ahead(
    plan: Plan, keys: Iterable[str], needs: Mapping[str, Need], environment: RunEnvironment
) -> Compiling | None:
    """Start compiling for those of these runs that search on this machine's CPU; None if nothing is to do."""
    if environment.cluster not in ("inline", "local") or environment.cores < 2:
        return None
    found = {key: search_job(plan, key, needs, environment) for key in keys}
    searches = {key: json.dumps(job, sort_keys=True) for key, job in found.items() if job is not None}
    if not searches or (folder := _folder()) is None:
        return None
    jobs = f"[{','.join(sorted(set(searches.values())))}]"
    mark = "searches-" + hashlib.sha256((jobs + _compiled_from()).encode()).hexdigest()
    is_compiled = folder.read(mark) is not None
    folder.close()
    return None if is_compiled else Compiling(jobs, mark, searches, environment.cores)


def _folder() -> Folder | None:
    """Open the folder of compiled kernels; None where nothing that is compiled can be kept."""
    from gravel.kernels.compiled.folder import Folder, folder_path

    try:
        return Folder(folder_path())
    except (OSError, RuntimeError):
        return None


def search_job(
    plan: Plan, key: str, needs: Mapping[str, Need], environment: RunEnvironment
) -> dict[str, Any] | None:
    """Say how a run searches, as `gravel.kernels.ahead` takes it; None if it is no search on the CPU."""
    run = plan.runs[key]
    asked: Any = run.parameters
    if run.stage.name != "traverse" or run.stage.origin is not None or asked.algorithm != "bfs":
        return None
    if environment.backend_of(run.stage) == "cuda" and asked.backend != "cpu":
        return None
    [source] = run.inputs["input"]
    upstream = plan.runs[source.run]
    if source.run not in needs or asked.placement not in ("auto", "device"):
        return None
    size = needs[source.run].outputs[source.output]
    if size.ranks or size.vertices >= 1 << 32:
        return None
    from gravel.stages.turning import turned_extent

    layout = "csr"
    if size.kind == "CompressedGraph":
        layout = getattr(upstream.parameters, "codec", "auto")
        if layout == "auto" or asked.strategy != "auto":
            return None
    return {
        "layout": layout,
        "strategy": asked.strategy,
        "output": asked.output if asked.output != "checks" else "both",
        "symmetric": not turned_extent(size, asked.direction).directed,
        "max_depth": asked.max_depth,
        **asked.tuning,
    }


def _compiled_from() -> str:
    """Tell one state of the kernels' code and of the compiler from another, without importing either."""
    from importlib.metadata import version

    import gravel.kernels

    [place] = gravel.kernels.__path__
    facts = [(path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in Path(place).rglob("*.py")]
    return f"{sorted(facts)} {sys.version} {version('numba')} {version('numpy')} {version('llvmlite')}"


def plan_kernels(plan: Plan, environment: RunEnvironment) -> tuple[Kernel, ...]:
    """Return kernels that runs of gravel's own stages on a GPU here will load, in the plan's order.

    Those that searches load take longest to compile, and come first; operations of CuPy's come last.
    """
    if environment.backend != "cuda" or any(device.fake for device in environment.devices):
        return ()
    from gravel.stages.cupy_ahead import PREFIX
    from gravel.stages.kernels_ahead import kernels_ahead

    runs = [
        run
        for run in plan.runs.values()
        if run.stage.origin is None and environment.backend_of(run.stage) == "cuda"
    ]
    runs.sort(key=lambda run: run.stage.name != "traverse")
    kernels = [
        kernel
        for run in runs
        for kernel in kernels_ahead(run.stage.name, run.parameters, _made_by(plan, run))
    ]
    return tuple(sorted(kernels, key=lambda kernel: kernel[0].startswith(PREFIX)))


def _made_by(plan: Plan, run: StageRun) -> list[tuple[str, Parameters]]:
    """List what made the first input, and the first input of that, and so on."""
    found = []
    given = next(iter(run.inputs.values()), ())
    if run.stage.name == "verify":
        given = run.inputs["traversal"]
    while given:
        made = plan.runs[given[0].run]
        found.append((made.stage.name, made.parameters))
        given = next(iter(made.inputs.values()), ())
    return found
