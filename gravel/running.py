"""Workflows from Python: the same plan, cache, record and page as the command's."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.core.file_modes import private_files
from gravel.pipeline.plan.building import build_plan
from gravel.pipeline.scheduler.executing import execute
from gravel.pipeline.scheduler.options import RunOptions
from gravel.pipeline.store.location import find_cache
from gravel.pipeline.workflow.loading import load_workflow

__all__ = ["Run", "RunFailed", "run"]


@dataclass(frozen=True)
class Run:
    """A run that is done.

    `name` is its name in the cache, `folder` where its record lies, `report` its page (None where nothing was
    computed and no page is due) and `record` what `gravel show` prints of it, as JSON.
    """

    name: str
    folder: Path
    report: Path | None
    record: Mapping[str, Any]


class RunFailed(GravelError):
    """A stage or a verification failed, or the run was interrupted; `run` is what became of it."""

    def __init__(self, message: str, run: Run) -> None:
        super().__init__(message)
        self.run = run


def run(
    file: str | os.PathLike[str],
    *,
    set: Mapping[str, object] | None = None,  # noqa: A002, the command's word
    where: Mapping[str, object] | None = None,
    only: Collection[str] = (),
    force: Collection[str] = (),
    keep: Collection[str] = (),
    cache: str | os.PathLike[str] | None = None,
    cluster: str = "auto",
    backend: str = "auto",
    host_memory: str | None = None,
    device_memory: str | None = None,
    workers: int | None = None,
) -> Run:
    """Run a workflow file: use what is cached, compute the rest, verify, report.

    Parameters
    ----------
    file : a workflow.
    set : values for its parameters, by name.
    where : a value, or a list of values, for axes of its matrix; the other experiments are left out.
    only, force, keep : names of stages, as the command's options.
    cache : the cache's folder or URL; by default the one that the command finds.
    cluster, backend, host_memory, device_memory, workers : as the command's options.

    Raises RequestError (of `gravel.pipeline.core.errors`) for what is refused before anything starts, and
    RunFailed if a stage fails; what was computed by then is kept. A cluster of processes starts them anew:
    a script that runs workflows so needs `if __name__ == "__main__":`.
    """
    root = find_cache(None if cache is None else os.fspath(cache))
    options = RunOptions(
        cache_root=root,
        cluster=cluster,
        backend=backend,
        host_memory=host_memory,
        device_memory=device_memory,
        workers=workers,
    )
    with private_files():
        workflow = load_workflow(os.fspath(file), {name: _text(value) for name, value in (set or {}).items()})
        selected = {axis: [_text(value) for value in _listed(one)] for axis, one in (where or {}).items()}
        plan = build_plan(workflow, where=selected, only=only, force=force, keep=keep)
        outcome = execute(plan, options)
    report = None if outcome.report is None else Path(outcome.report)
    done = Run(outcome.run, outcome.folder, report, outcome.record)
    if outcome.exit_code:
        failures = [f"{each['key']}: {each['error']}" for each in outcome.record["stages"] if each["error"]]
        message = "; ".join(failures) or f"run {outcome.run} was {outcome.state}"
        raise RunFailed(message, done)
    return done


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _text(value: object) -> str:
    """Write a value as the command line would give it: YAML, of which JSON is a part."""
    return value if isinstance(value, str) else json.dumps(value)
