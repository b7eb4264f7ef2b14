"""What of a plan is asked for: `--where`, `--only`, `--force`, `--from`, `--keep` and `--failed`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from gravel.pipeline.core.errors import RequestError, WorkflowError
from gravel.pipeline.core.names import suggest
from gravel.pipeline.plan.model import Plan
from gravel.pipeline.workflow.combinations import Combinations
from gravel.pipeline.workflow.model import Workflow
from gravel.pipeline.workflow.nodes import Text, parse
from gravel.pipeline.workflow.scalars import as_data, to_text
from gravel.pipeline.workflow.substitution import fill

__all__ = ["chosen_combinations", "select"]


def select(
    plan: Plan,
    *,
    only: Collection[str] = (),
    force: Collection[str] = (),
    start: Collection[str] = (),
    failed: Collection[str] = (),
    keep: Collection[str] = (),
) -> Plan:
    """Mark what is computed even if it is cached, or stored in any case, and keep what is asked for.

    What it needs is kept with it.

    Raises RequestError for unknown names, and for one to compute that `only` leaves out.
    """
    wanted = _find_runs(plan, only) if only else set(plan.runs)
    failed = _still_there(plan, failed)
    if failed:
        again = _with_descendants(plan, failed)
        wanted = wanted & again if only else again
    kept = _with_ancestors(plan, wanted) if only or failed else wanted
    forced: dict[str, str] = {}
    stored: set[str] = set()
    for option, names in (("--force", force), ("--from", start), ("--keep", keep)):
        for name in names:
            keys = _find_runs(plan, [name])
            if not keys & kept:
                hint = "name it in --only too, or leave one of the two out" if only else None
                raise RequestError(f"{option} {name}: it is not part of this run", hint=hint)
            if option == "--keep":
                stored |= keys
                continue
            named = _with_descendants(plan, keys) if option == "--from" else keys
            forced.update((key, f"{option} asks for it") for key in named if key not in forced)
    for key in failed:
        forced.setdefault(key, "it failed in the last run")
    runs = {
        key: replace(run, forced=True, because=forced[key]) if key in forced else run
        for key, run in plan.runs.items()
        if key in kept
    }
    runs |= {key: replace(runs[key], keep=True) for key in stored & kept}
    return Plan(plan.workflow, runs, frozenset(wanted))


def _still_there(plan: Plan, failed: Collection[str]) -> set[str]:
    """Return the keys of what failed, without what the workflow no longer has; raises if nothing is left."""
    runs = [plan.find(key) for key in failed]
    found = {run.key for run in runs if run is not None}
    if failed and not found:
        shown = ", ".join(list(failed)[:3]) + (", ..." if len(failed) > 3 else "")
        hint = "leave --failed out; what is cached is used anyway"
        raise RequestError(f"nothing that failed is part of this run: {shown}", hint=hint)
    return found


def chosen_combinations(workflow: Workflow, where: Mapping[str, Collection[str]]) -> tuple[Combinations, ...]:
    """Return the combinations of the matrix that are asked for; raises RequestError for unknown values."""
    for axis in where:
        if axis not in workflow.matrix:
            hint = "the workflow has no matrix; leave --where out"
            if workflow.matrix:
                hint = suggest(axis, workflow.matrix, "matrix axis")
            if axis in workflow.parameters:
                hint = f"{axis!r} is a parameter; use --set {axis}=VALUE"
            raise RequestError(f"--where {axis}: there is no matrix axis {axis!r}", hint=hint)
    if not where:
        return workflow.combinations
    chosen: dict[str, set[int]] = {}
    for axis, values in workflow.matrix.items():
        texts = [to_text(value) for value in values]
        wanted = {_position(axis, text, texts) for text in where.get(axis, ())}
        chosen[axis] = wanted or set(range(len(values)))
    kept = tuple(group.kept(chosen) for group in workflow.combinations)
    for group in kept:
        if not group.places:
            shown = " ".join(f"{axis}={text}" for axis in group.axes for text in where.get(axis, ()))
            hint = "`exclude` or `include` of the matrix says which values go together"
            raise RequestError(f"--where: the matrix has no combination with {shown}", hint=hint)
    return kept


def _position(axis: str, text: str, texts: list[str]) -> int:
    if text in texts:
        return texts.index(text)
    try:
        node, _ = parse(Text(f"--where {axis}", text))
        read = to_text(as_data(fill(node, {}, Text(axis, text)).value)) if node is not None else "null"
    except (WorkflowError, KeyError):
        read = text
    if read in texts:
        return texts.index(read)
    raise RequestError(
        f"--where {axis}={text}: the axis has no value {text!r:.60}", hint=suggest(text, texts, "value")
    )


def _find_runs(plan: Plan, names: Collection[str]) -> set[str]:
    """Return the keys that names stand for; raises RequestError for unknown ones.

    A name is that of an entry, of a nested workflow (all of its entries), or a key.
    """
    if not names:
        return set()
    found: set[str] = set()
    groups: dict[str, set[str]] = {}
    keys: dict[str, str] = {}
    for run in plan.runs.values():
        for key in (run.key, *run.aliases):
            keys[key] = run.key
            entry = key.split("[")[0]
            groups.setdefault(entry, set()).add(run.key)
            while "." in entry:
                entry = entry.rpartition(".")[0]
                groups.setdefault(entry, set()).add(run.key)
    for name in names:
        if name in groups:
            found |= groups[name]
        elif name in keys:
            found.add(keys[name])
        else:
            same = [each for each, entry in plan.workflow.stages.items() if entry.stage.name == name]
            hint = f"entries of that stage: {', '.join(same)}" if same else None
            known = [*groups, *plan.runs] if "[" in name else list(groups)
            raise RequestError(f"there is no entry {name!r}", hint=hint or suggest(name, known, "entry"))
    return found


def _with_ancestors(plan: Plan, keys: Iterable[str]) -> set[str]:
    """Return the keys and those of everything that they rest on."""
    found = set(keys)
    waiting = list(found)
    while waiting:
        for upstream in plan.runs[waiting.pop()].upstream:
            if upstream not in found:
                found.add(upstream)
                waiting.append(upstream)
    return found


def _with_descendants(plan: Plan, keys: Iterable[str]) -> set[str]:
    """Return the keys and those of everything that rests on them."""
    found = set(keys)
    for key, run in plan.runs.items():
        if not found.isdisjoint(run.upstream):
            found.add(key)
    return found
