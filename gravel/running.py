"""Workflows from Python: the same plan, cache, record and page as the command's."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.core.files import private_files
from gravel.pipeline.plan.builder import build_plan
from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.scheduler.options import RunOptions
from gravel.pipeline.store.location import find_cache
from gravel.pipeline.workflow.loader import load_workflow
from gravel.progress import display_for

if TYPE_CHECKING:
    from gravel.pipeline.plan.model import Plan
    from gravel.pipeline.progress.events import Display
    from gravel.pipeline.scheduler.options import RunOutcome
    from gravel.pipeline.workflow.model import Workflow

__all__ = ["Run", "RunFailed", "run"]


@dataclass(frozen=True)
class Run(Mapping[str, Any]):
    """A run that is done; `run["bfs"]` is the result of the stage `bfs`, read when it is asked for.

    `name` is its name in the cache, `folder` where its record lies, `report` its page (None where nothing was
    computed and no page is due) and `record` what `gravel show` prints of it, as JSON.

    A BFS is a `Search`, or a list of them for several sources; components are `Components`; graphs, in any
    order and layout, are a `Graph`. What has no class of its own comes as the stage's artifact.
    """

    name: str
    folder: Path
    report: Path | None
    record: Mapping[str, Any] = field(repr=False)
    _plan: Plan = field(repr=False)
    _root: Path = field(repr=False)

    def __getitem__(self, name: str) -> Any:
        """Return the result of a stage by its name, or of one of its runs by its key, as `bfs[order=rcm]`.

        Raises KeyError for a stage that is not in the workflow, and ValueError, with the axes, for one that
        has several results.
        """
        return self.result(name)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the stages."""
        return iter(dict.fromkeys(run.entry for run in self._plan.runs.values()))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def result(self, name: str, *, where: Mapping[str, object] | None = None) -> Any:
        """Return the result of a stage at these values of the matrix; see `run[name]`."""
        from gravel.results import one_of

        return one_of(self._plan, self._root, self.record, name, where or {})

    def results(self, name: str, *, where: Mapping[str, object] | None = None) -> dict[str, Any]:
        """Return all results of a stage by their keys, as `bfs[order=rcm]`."""
        from gravel.results import all_of

        return all_of(self._plan, self._root, self.record, name, where or {})


class RunFailed(GravelError):
    """A stage or a verification failed, or the run was interrupted; `run` is what became of it."""

    def __init__(self, message: str, run: Run) -> None:
        super().__init__(message)
        self.run = run


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
            os.fspath(file), sources, {name: _text(each) for name, each in (set or {}).items()}
        )
    selected = {axis: [_text(value) for value in _listed(one)] for axis, one in (where or {}).items()}
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
    """Write an id as the command takes it, which splits texts at commas."""
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


def _text(value: object) -> str:
    """Write a value as the command line would give it: YAML, of which JSON is a part."""
    return value if isinstance(value, str) else json.dumps(value)
