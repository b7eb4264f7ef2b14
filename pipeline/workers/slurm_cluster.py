"""A Dask cluster of Slurm jobs that lives as long as its run: one job, one worker.

The scheduler listens in this process, with a key that only this run's jobs have: it lies in a folder for the
user alone, which the jobs see.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from distributed import Status

from gravel.pipeline.core.durations import format_duration
from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.core.names import counted
from gravel.pipeline.workers.dask_cluster import DaskCluster
from gravel.pipeline.workers.existing_cluster import worker_slots
from gravel.pipeline.workers.local_cluster import run_security
from gravel.pipeline.workers.protocol import JobRequest
from gravel.pipeline.workers.slurm_settings import NAME, SlurmSettings, shared_folder

COMMANDS = ("sbatch", "scancel", "squeue")

POLL = 0.25
"""Seconds between two looks at the jobs that are waited for."""

SAY_EVERY = 30.0
"""Seconds from one note on jobs that wait to the next, unless their state changes."""

OTHERS_LIMIT = 20.0
"""Seconds that a run which could begin waits for the rest of its jobs."""

TAIL = 600
"""Characters of a job's log that a message has."""


def start_slurm(
    run: str,
    settings: SlurmSettings,
    request: JobRequest,
    cache_root: Path,
    scratch: Path,
    files: Sequence[str] = (),
) -> SlurmCluster:
    """Submit jobs, and return when as many work as are needed.

    Raises RequestError without Slurm or dask-jobqueue, for jobs that are refused, and for workers that cannot
    take part; GravelError if too few start in time; KeyboardInterrupt if it was interrupted. No job is left
    then.
    """
    for command in COMMANDS:
        if shutil.which(command) is None:
            raise RequestError(
                f"--cluster slurm calls {command}, which is not found here",
                hint="start the run on a machine from which jobs are submitted, such as a login node",
            )
    folder = shared_folder(settings, scratch) / f"slurm-{run}"
    folder.mkdir(mode=0o700, parents=True)
    cluster = None
    try:
        cluster = _scheduler(run, settings, folder)
        _submit(cluster, request.jobs)
        client = _wait(cluster, settings, request, folder)
        slots, remarks, store = worker_slots(client, "Slurm", cache_root, files)
        return SlurmCluster(client, cluster, slots, run, folder, remarks, store)
    except BaseException:
        if cluster is not None:
            with suppress(Exception):
                cluster.sync(_cancel, cluster)
                cluster.close(timeout=10)
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _cluster_class() -> Any:
    """Import what submits jobs; Ctrl-C does what it did before."""
    importing, set_handler = threading.get_ident(), signal.signal

    def of_other_threads(*given: Any) -> Any:
        return None if threading.get_ident() == importing else set_handler(*given)

    # The package sets a handler while it is imported, which only the main thread may.
    signal.signal = of_other_threads  # type: ignore[assignment]
    try:
        from dask_jobqueue import SLURMCluster
    except ImportError as error:
        raise RequestError(
            f"--cluster slurm needs the package dask-jobqueue ({error})",
            hint="pip install 'gravel[slurm]', or -e '.[slurm]' in a checkout",
        ) from error
    finally:
        signal.signal = set_handler
    return SLURMCluster


def _scheduler(run: str, settings: SlurmSettings, folder: Path) -> Any:
    cluster_class = _cluster_class()
    directives = [f"--gres=gpu:{settings.gpus}"] if settings.gpus else []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of its own defaults
        return cluster_class(
            name=f"gravel-{run}",
            job_name=f"gravel-{run}",
            queue=settings.queue,
            walltime=settings.time,
            cores=1,  # threads of the worker: one stage at a time
            processes=1,
            job_cpu=settings.cores,
            memory=settings.memory.replace(" ", ""),
            job_extra_directives=[*directives, *settings.directives],
            job_script_prologue=["export PYTHONSAFEPATH=1", *settings.prologue],
            worker_extra_args=["--memory-limit", "0", "--no-dashboard"],
            local_directory=os.fspath(folder),
            log_directory=os.fspath(folder),
            security=_in_files(run_security(), folder),
            protocol="tls://",
            interface=settings.interface,
            scheduler_options={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
        )


def _in_files(security: Any, folder: Path) -> Any:
    """Return the same security with its key and certificate in files, as jobs read them."""
    from distributed.security import Security

    files: dict[str, str] = {}
    for name, text in (("cert", security.tls_worker_cert), ("key", security.tls_worker_key)):
        path = folder / f"{name}.pem"
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(text)
        files |= {f"tls_{role}_{name}": os.fspath(path) for role in ("client", "scheduler", "worker")}
    return Security(tls_ca_file=os.fspath(folder / "cert.pem"), require_encryption=True, **files)


def _submit(cluster: Any, jobs: int) -> None:
    """Submit the jobs; raises RequestError with what Slurm says of one that it refuses."""
    try:
        cluster.sync(_add_jobs, cluster, jobs)
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if "error" in line.lower()]
        reason = next((line for line in reversed(lines) if "sbatch:" in line), str(error).strip())
        raise RequestError(
            f"Slurm refuses the job: {reason}", hint=f"change the settings in {NAME}, see `sinfo`"
        ) from error


async def _add_jobs(cluster: Any, jobs: int) -> None:
    """Submit jobs as `scale` does, which does not wait for what becomes of them."""
    for _ in range(jobs):
        cluster.worker_spec.update(cluster.new_worker_spec())
    await cluster._correct_state()


async def _cancel(cluster: Any) -> None:
    """Cancel all jobs, those included of which closing a cluster would not know."""
    for job in list(cluster._created):
        await job.close()
        job.status = Status.closed
    cluster.worker_spec.clear()
    cluster.workers.clear()


def _wait(cluster: Any, settings: SlurmSettings, request: JobRequest, folder: Path) -> Any:
    from distributed import Client

    client = Client(cluster, set_as_default=False)
    began, noted, before, ready = time.monotonic(), 0.0, "", None
    try:
        while (count := len(client.scheduler_info()["workers"])) < request.jobs:
            now = time.monotonic()
            if request.waiting.interrupted():
                raise KeyboardInterrupt
            if count >= request.least:
                ready = ready or now
                if now - ready > OTHERS_LIMIT:
                    break
            states = queue_states(cluster)
            if now - began > settings.start or not states:
                raise GravelError(_why_none(settings, request.least, count, states, now - began, folder))
            if states != before or now - noted > SAY_EVERY:
                noted, before = now, states
                request.waiting.note(f"{count} of {counted(request.jobs, 'job')} of Slurm work: {states}")
            time.sleep(POLL)
        return client
    except BaseException:
        client.close(timeout=2)
        raise


def _why_none(
    settings: SlurmSettings, least: int, count: int, states: str, seconds: float, folder: Path
) -> str:
    if states:
        return (
            f"{count} of {counted(least, 'job')} that the run needs began within "
            f"{format_duration(round(seconds))}: {states}; ask for less, or wait longer: `start` in {NAME}"
        )
    return f"the jobs of Slurm ended before their workers began: {_log_tail(folder)}"


def queue_states(cluster: Any) -> str:
    """Say in which states the jobs are, and why they wait; empty if Slurm knows none of them any more."""
    jobs = ",".join(str(job.job_id) for job in cluster.workers.values() if job.job_id)
    if not jobs:
        return ""
    done = subprocess.run(
        ["squeue", "--noheader", "--jobs", jobs, "--format", "%T %r"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode != 0 and "Invalid job id" not in done.stderr:
        return "squeue does not answer"  # a controller that is busy says so for a while
    found: dict[str, int] = {}
    for line in done.stdout.splitlines():
        state, _, reason = line.strip().partition(" ")
        named = state.lower() if reason in ("", "None") else f"{state.lower()} ({reason})"
        found[named] = found.get(named, 0) + 1
    return ", ".join(f"{number} {state}" for state, number in sorted(found.items()))


def _log_tail(folder: Path) -> str:
    """Return the end of what the jobs printed last."""
    logs = sorted(folder.glob("*.err"), key=lambda path: path.stat().st_mtime_ns)
    text = logs[-1].read_text(errors="replace").strip() if logs else ""
    return text[-TAIL:] or f"they wrote no log into {folder}; do they see that folder?"


class SlurmCluster(DaskCluster):
    """Workers in jobs of Slurm; a job that ends too early is submitted again."""

    def __init__(
        self,
        client: Any,
        cluster: Any,
        worker_slots: Sequence[Any],
        run: str,
        folder: Path,
        about: str,
        store: str | None,
    ) -> None:
        super().__init__("slurm", client, cluster, worker_slots, run, about, store=store)
        self._jobs, self._folder = cluster, folder

    def _restart(self, worker_slots: tuple[str, ...]) -> str | None:
        self._jobs.sync(self._submit_again, [name for name in worker_slots if name not in self._present()])
        problem = super()._restart(worker_slots)
        return problem and f"{problem}: {queue_states(self._jobs) or 'its job has ended'}"

    def _present(self) -> set[str]:
        return {str(worker["name"]) for worker in self._client.scheduler_info()["workers"].values()}

    async def _submit_again(self, names: Sequence[str]) -> None:
        for name in names:
            job = self._jobs.workers.pop(name, None)
            if job is not None:
                await job.close()
        await self._jobs._correct_state()

    def _end_workers(self, cluster: Any) -> None:
        """Cancel the jobs."""
        with suppress(Exception):
            cluster.sync(_cancel, cluster)

    def close(self, *, hurry: bool = False) -> None:
        """Close the cluster, and remove its key."""
        super().close(hurry=hurry)
        shutil.rmtree(self._folder, ignore_errors=True)
