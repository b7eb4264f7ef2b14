"""Stage runs that need more workers at the same time than a run will have, refused before anything starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gravel.pipeline.core.errors import Problem, WorkflowError

if TYPE_CHECKING:
    from gravel.pipeline.plan.model import StageRun
    from gravel.pipeline.scheduler.machine import RunEnvironment


def refuse_larger_groups(
    ranks: Mapping[str, int], runs: Mapping[str, StageRun], environment: RunEnvironment, workers: int | None
) -> None:
    """Raise WorkflowError, with file and line, for each run that needs more workers than there will be.

    Local workers that nobody counted are as many as are needed, those of a cluster that is joined later are
    not known, and one process runs ranks as threads.

    Parameters
    ----------
    ranks : by the key of a run, how many workers it needs at the same time.
    workers : how many a command asks for, or None.

    """
    on_gpus = environment.cluster == "cuda"
    count = len(environment.devices) if on_gpus else workers if environment.cluster == "local" else None
    if count is None:
        return
    there = f"this machine has {count}" if on_gpus else f"--workers starts {count}"
    cure = "--cluster local on the CPU" if on_gpus else f"--workers {max(ranks.values(), default=0)}"
    problems = [
        Problem(
            f"{key} needs {needed} {'GPUs' if on_gpus else 'workers'} at the same time, and {there}",
            f"ask for {count} or fewer in the workflow, or run it with {cure}",
            runs[key].location,
        )
        for key, needed in ranks.items()
        if needed > count
    ]
    if problems:
        raise WorkflowError(problems)
