"""Workflows from Python: the same plan, cache, record and page as the command's."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gravel.graphs.progress import in_notebook
from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.files import private_files
from gravel.pipeline.plan.builder import build_plan
from gravel.pipeline.progress.events import Display, Event, sentence
from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.scheduler.machine import RunOptions
from gravel.pipeline.store.location import find_cache
from gravel.pipeline.workflow.loader import load_workflow
from gravel.results.run import Run, RunFailed, as_yaml

if TYPE_CHECKING:
    from gravel.pipeline.plan.model import Plan
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
    """Run a workflow that is not in a file; raises `RunFailed`."""
    outcome, plan = _outcome(workflow, root, {}, options, display_for(None))
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


def display_for(progress: bool | None) -> Display | None:
    """Return the display of a run; `None` chooses one in a notebook and at a prompt with a terminal."""
    if progress is False:
        return None
    if in_notebook():
        return NotebookDisplay()
    at_prompt = hasattr(sys, "ps1") or bool(sys.flags.interactive)
    if progress is None and not (at_prompt and sys.stderr.isatty()):
        return None
    from gravel.pipeline.progress.terminal import make_display

    return make_display()


class NotebookDisplay(Display):
    """One line below the cell that changes as the run goes on; problems stay below it."""

    def __init__(self, show: Callable[[str], Any] | None = None) -> None:
        self._show = show or _display()
        self._total = 0
        self._done = 0
        self._running: dict[str, str] = {}
        self._kept: list[str] = []
        self._shown = ""

    def handle(self, event: Event) -> None:
        """Count finished stage runs and list those that run."""
        data: dict[str, Any] = event.data
        match event.kind:
            case "run_started":
                self._total = int(data["stages"])
            case "stage_started":
                self._running[data["stage"]] = ""
            case "stage_compiles":
                self._running[data["stage"]] = f" (compiling {data['kernel']})" if data["kernel"] else ""
            case "stage_progress":
                if data["total"]:
                    self._running[data["stage"]] = f" {data['done'] / data['total']:.0%}"
            case "stage_cached" | "stage_finished" | "stage_failed" | "stage_skipped" | "stage_not_run":
                self._running.pop(data["stage"], None)
                self._done += 1
        kept = event.kind in ("stage_failed", "stage_retried", "damaged", "note", "run_finished")
        if kept and (line := sentence(event)) is not None:
            self._kept.append(line)
        if event.kind != "stage_progress":
            self.tick()

    def tick(self) -> None:
        """Show the line again if it changed."""
        running = ", ".join(f"{stage}{share}" for stage, share in self._running.items())
        lines = [f"{self._done} of {self._total} stage runs done" + (f"; {running}" if running else "")]
        text = "\n".join([*lines, *self._kept])
        if text != self._shown:
            self._shown = text
            self._show(text)

    def close(self) -> None:
        """Show the last state."""
        self._running.clear()
        self.tick()


def _display() -> Callable[[str], Any]:
    from IPython.display import display

    handle: Any = display({"text/plain": ""}, raw=True, display_id=True)
    return lambda text: handle.update({"text/plain": text}, raw=True)
