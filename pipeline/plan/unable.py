"""Stage runs that cannot run on this backend: shown as not run in a matrix, refused where nothing is left.

A strategy that has GPU code alone is one value of an axis among others: on a CPU its runs, and what reads
them, are not run, and the report goes on without them. If an entry has no run left, the workflow asks for
what this machine has not, and is refused with the place and what would run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gravel.pipeline.core.errors import Problem, WorkflowError
from gravel.pipeline.plan.gathering import without
from gravel.pipeline.plan.model import Plan, StageRun
from gravel.stages.stage import CannotRun, Stage


def without_unable(plan: Plan, backend_of: Callable[[Stage], str]) -> Plan:
    """Mark the runs that cannot run; `backend_of` says where a stage's kernels run.

    Raises WorkflowError, with every such entry, where no run of an entry that was asked for can.
    """
    found = {
        key: unable
        for key, run in plan.runs.items()
        if (unable := run.stage.cannot_run(run.parameters, backend_of(run.stage))) is not None
    }
    if not found:
        return plan
    _refuse(plan, found)
    reasons = {key: unable.reason for key, unable in found.items()}
    causes = dict(reasons)
    runs: dict[str, StageRun] = {}
    for key, run in plan.runs.items():
        lost = [upstream for upstream in run.upstream if upstream in reasons]
        if key not in reasons and lost:
            rest = without(run, set(reasons))
            if rest is None:
                reasons[key] = f"it needs {', '.join(lost)}"
            else:
                runs[key] = _with_reasons(rest, {name: causes[name] for name in lost if name in causes})
                continue
        runs[key] = replace(run, not_run=reasons[key]) if key in reasons else run
    return Plan(plan.workflow, runs, plan.wanted)


def _with_reasons(run: StageRun, causes: dict[str, str]) -> StageRun:
    """Let a stage that has a parameter for it know what is not among its inputs, and why."""
    if "not_run" not in run.stage.parameters.model_fields:
        return run
    return replace(run, parameters=run.parameters.model_copy(update={"not_run": causes}))


def _refuse(plan: Plan, found: dict[str, CannotRun]) -> None:
    entries: dict[str, list[str]] = {}
    for key, run in plan.runs.items():
        entries.setdefault(run.entry, []).append(key)
    problems = [
        _problem(plan.runs[keys[0]], found[keys[0]])
        for keys in entries.values()
        if all(key in found for key in keys)
    ]
    if problems:
        raise WorkflowError(problems)


def _problem(run: StageRun, unable: CannotRun) -> Problem:
    return Problem(f"{run.key} cannot run here: it {unable.reason}", unable.hint, run.location)
