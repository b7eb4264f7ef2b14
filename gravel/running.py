"""Workflows from Python: the same plan, cache, record and page as the command's."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gravel.displays import RunLine, display_for
from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.files import private_files
from gravel.pipeline.plan.builder import build_plan
from gravel.pipeline.records.record import EXPORT
from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.scheduler.machine import RunOptions
from gravel.pipeline.store.location import find_cache
from gravel.pipeline.workflow.loader import load_workflow
from gravel.results.run import Run, RunFailed, as_yaml

if TYPE_CHECKING:
    from gravel.pipeline.plan.model import Plan
    from gravel.pipeline.progress.events import Display
    from gravel.pipeline.scheduler.outcome import RunOutcome
    from gravel.pipeline.workflow.model import Workflow


def run(
    file: str | os.PathLike[str],
    *,
    sources: object = (),
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
    progress: bool | None = None,
) -> Run:
    """Run a workflow file: use what is cached, compute the rest, verify, report.

    Parameters
    ----------
    file : a workflow; or a file of data, or its URL, which the default workflow searches and verifies.
    sources : of a file of data, the id to search from, or a list of ids; by default one at random.
    set : values for its parameters, by name.
    where : a value, or a list of values, for axes of its matrix; the other experiments are left out.
    only, force, keep : names of stages, as the command's options.
    cache : the cache's folder or URL; by default the one that the command finds.
    cluster, backend, host_memory, device_memory, workers : as the command's options.
    progress : show how far the run is; by default in a notebook and at a terminal.

    Raises RequestError (of `gravel.pipeline.core.errors`) for what is refused before anything starts, and
    RunFailed if a stage fails; what was computed by then is kept.
    """
    root = find_cache(None if cache is None else os.fspath(cache))
    with private_files():
        workflow = _workflow(
            os.fspath(file), sources, {name: as_yaml(each) for name, each in (set or {}).items()}
        )
    selected = {axis: [as_yaml(value) for value in _listed(one)] for axis, one in (where or {}).items()}
    asked = {"where": selected, "only": only, "force": force, "keep": keep}
    machine = {"host_memory": host_memory, "device_memory": device_memory, "workers": workers}
    display = display_for(progress)
    outcome, plan = _outcome(
        workflow, root, asked, {"cluster": cluster, "backend": backend, **machine}, display
    )
    return _done(outcome, plan, root)


def _workflow(file: str, sources: object, values: dict[str, str]) -> Workflow:
    from gravel.pipeline.workflow.data_files import is_data
    from gravel.pipeline.workflow.default import load_default

    asked = [_quoted(str(each)) for each in _listed(sources)]
    if is_data(file):
        return load_default(file, asked, values)
    if asked:
        raise RequestError(
            f"sources are for a file of data, and {file} is a workflow",
            hint="give its own parameter another value with `set`, or change its traverse stage",
        )
    return load_workflow(file, values)


def _quoted(vertex: str) -> str:
    """Quote an id for the command, which splits texts at commas."""
    return f'"{vertex.replace(chr(34), chr(34) * 2)}"' if set(vertex) & set(',"\t\r ') else vertex


def carry_out(workflow: Workflow, root: Path, **options: Any) -> RunOutcome:
    """Run a workflow that is not in a file; raises `RunFailed`, and KeyboardInterrupt after Ctrl-C."""
    outcome, plan = _outcome(workflow, root, {}, {**options, "kind": EXPORT}, RunLine())
    if outcome.state == "interrupted":
        raise KeyboardInterrupt
    _done(outcome, plan, root)
    return outcome


def _outcome(
    workflow: Workflow, root: Path, asked: dict[str, Any], options: dict[str, Any], display: Display | None
) -> tuple[RunOutcome, Plan]:
    with private_files():
        plan = build_plan(workflow, **asked)
        return execute(plan, RunOptions(cache_root=root, display=display, **options)), plan


def _done(outcome: RunOutcome, plan: Plan, root: Path) -> Run:
    report = None if outcome.report is None else Path(outcome.report)
    done = Run(outcome.run, outcome.folder, report, outcome.record, plan, root)
    if outcome.exit_code:
        failures = [f"{each['key']}: {each['error']}" for each in outcome.record["stages"] if each["error"]]
        message = "; ".join(failures) or f"run {outcome.run} was {outcome.state}"
        raise RunFailed(message, done)
    return done


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else [value]
