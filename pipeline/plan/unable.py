"""Stage runs that cannot run on this backend: shown as not run in a matrix, refused where nothing is left.

A strategy that has GPU code alone is one value of an axis among others: on a CPU its runs, and what reads
them, are not run, and the report goes on without them. If an entry has no run left, the workflow asks for
what this machine has not, and is refused with the place and what would run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from gravel.pipeline.core.errors import Problem, WorkflowError
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


def without(run: StageRun, lost: Collection[str]) -> StageRun | None:
    """Return a run that gathers, without what it reads of lost runs; None if it cannot be without.

    Only slots that take several inputs can do with fewer, and none of them with nothing. Labels that name
    the inputs in order lose those of the lost ones.
    """
    inputs = {}
    for slot, refs in run.inputs.items():
        left = tuple(ref for ref in refs if ref.run not in lost)
        if len(left) < len(refs) and (not left or not run.stage.inputs[slot].many):
            return None
        inputs[slot] = left
    labels = getattr(run.parameters, "labels", None)
    every = [ref.run for slot, refs in run.inputs.items() if run.stage.inputs[slot].many for ref in refs]
    parameters = run.parameters
    if labels and tuple(labels) == tuple(every):
        kept = tuple(label for label in labels if label not in lost)
        parameters = parameters.model_copy(update={"labels": kept})
    return replace(run, inputs=inputs, parameters=parameters)


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
