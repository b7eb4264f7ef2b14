"""The kernels of a plan that are compiled before the stages that use them begin.

Workers and this process compile those for a GPU as they start. The CPU kernels of searches are compiled by a
process of their own while the stages before them run: of what the quickstart compiles on a new machine, its
search is half, and comes late. The process is started
once for each kind of search: a mark in the folder of compiled kernels says that they are there. If they were
removed meanwhile, the stage compiles them, as it does where no process was started.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gravel.kernels.compiled.folder import Folder, folder_path
from gravel.pipeline.plan.model import Plan, StageRun
from gravel.pipeline.scheduler.machine import RunEnvironment
from gravel.pipeline.workers.preload import safe_path_variables
from gravel.stages.cupy_ahead import PREFIX
from gravel.stages.kernel_variants import Kernel
from gravel.stages.kernels_ahead import kernels_ahead
from gravel.stages.stage import Need, Parameters
from gravel.stages.turning import turned_extent


class Compiling:
    """The process that compiles ahead of the stage runs `keys`."""

    def __init__(self, jobs: str, mark: str, keys: Iterable[str], threads: int) -> None:
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
