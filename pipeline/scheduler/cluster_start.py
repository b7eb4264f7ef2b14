"""What is started when something has to run: the cluster, what this process loads, kernels to compile."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.plan.model import Plan, StageRun
from gravel.pipeline.scheduler.machine import RunEnvironment
from gravel.pipeline.store.folder import DASK_LOG, LOGS, scratch_path
from gravel.pipeline.workers.preload import load, safe_path_variables
from gravel.pipeline.workers.protocol import Cluster, JobRequest, Reported, Waiting, WorkerSlot, is_address

if TYPE_CHECKING:
    from gravel.kernels.compiled.folder import Folder
    from gravel.pipeline.records.profile import Spans
    from gravel.stages.kernel_names import Kernel
    from gravel.stages.stage import Need, Parameters


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
    files: Sequence[str] = (),
    useful: int = 1,
    waiting: Waiting | None = None,
) -> tuple[Cluster, Callable[[], None]]:
    """Start what the setting names; raises RequestError or GravelError if it does not come up.

    Returns the cluster, and what puts Dask's settings and loggers back once it is closed. `ranks` is the size
    of the largest rank group. `progress` is called by an inline cluster while stages run, `meanwhile` when
    nothing is left to do here but to wait for workers, which compile `kernels` first. `files` of this machine
    are what stages read, `useful` is how many workers the run can use at once, and `waiting` hears of jobs
    that are waited for.
    """
    if environment.cluster == "inline":
        from gravel.pipeline.workers.inline_cluster import InlineCluster
        from gravel.pipeline.workers.settings import LOOPBACK_ONLY, NCCL_INTERFACE, keep_environment

        restore = keep_environment([NCCL_INTERFACE])
        os.environ.setdefault(NCCL_INTERFACE, LOOPBACK_ONLY)
        here = WorkerSlot("here", socket.gethostname())
        if environment.backend == "cuda" and environment.devices:
            capacity = environment.capacity.device_bytes
            here = replace(here, device=environment.devices[0].name, device_bytes=capacity)
        return InlineCluster(here, progress), restore
    import dask
    import distributed  # noqa: F401 (sets up its loggers, which are then sent elsewhere)

    from gravel.pipeline.workers import settings

    log = folder / LOGS / DASK_LOG
    scratch = cache_root / scratch_path(run)
    with ExitStack() as started:
        started.callback(settings.stop_logging, settings.log_to_file(log))
        # Workers of somebody else's cluster may be another user's, who shares the cache.
        mode = 0o777 if is_address(environment.cluster) else 0o700
        scratch.mkdir(mode=mode, parents=True, exist_ok=True)
        several_gpus = environment.cluster == "cuda" and len(environment.devices) > 1
        chosen = settings.dask_settings(log, environment.cores, uses_dask_cuda=several_gpus)
        spawned = [*chosen[settings.SPAWN_ENVIRONMENT], "PYTHONHASHSEED"]
        started.callback(settings.keep_environment(spawned))
        # Dask's scheduler has its folder there too, and not below a name in /tmp that others may take first.
        started.enter_context(dask.config.set({**chosen, "temporary-directory": os.fspath(scratch)}))
        # Dask sets it for workers; Python's resource tracker starts before them.
        os.environ.update(safe_path_variables())
        started.callback(settings.start_without_main())
        meanwhile()
        try:
            cluster: Cluster
            if environment.cluster == "cuda":
                from gravel.pipeline.workers.local_cluster import start_cuda

                cluster = start_cuda(run, environment.devices, scratch, kernels)
            elif environment.cluster == "local":
                from gravel.pipeline.workers.local_cluster import local_worker_count, start_local

                count = workers or local_worker_count(environment.cores, ranks)
                cluster = start_local(run, count, scratch)
            elif environment.slurm is not None:
                from gravel.pipeline.workers.slurm_cluster import start_slurm

                jobs = workers or max(ranks, min(environment.slurm.jobs, useful))
                request = JobRequest(jobs, max(1, ranks), waiting or Waiting())
                cluster = start_slurm(run, environment.slurm, request, cache_root, scratch, files)
            else:
                from gravel.pipeline.workers.existing_cluster import connect

                cluster = connect(run, environment.cluster, cache_root, environment.tls, files)
        except GravelError:
            raise
        except Exception as error:
            raise GravelError(
                f"the cluster did not start: {type(error).__name__}: {error}",
                hint=f"its log is {log}; see docs/troubleshooting.md#cluster-does-not-start",
            ) from error
        return cluster, started.pop_all().close


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
        environment = self._environment
        if self._is_here and environment.backend == "cuda" and not environment.devices[0].fake:
            # The driver wakes the GPU while CuPy is imported: 1.4 s in all, one after the other. What the
            # context takes is no part of what is free.
            def free() -> int:
                return environment.capacity.device_bytes

            self._start("driver", free)
            self._start(
                "load",
                lambda: load(
                    before_context=free, context=True, kernels=plan_kernels(self._plan, environment)
                ),
            )
        elif self._is_here:
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
        def do() -> None:
            # Whoever needs it meets the same problem, and reports it.
            with suppress(Exception), self._spans.take(what):
                job()

        if what not in self._done:
            self._done.add(what)
            threading.Thread(target=do, name="gravel-load").start()


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
    from gravel.stages.kernel_names import PREFIX
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
