"""What of a plan is asked for: `--where`, `--only` and `--force`."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pipeline.errors import RequestError, WorkflowError
from pipeline.plan.model import Plan
from pipeline.workflow.model import Workflow
from pipeline.workflow.names import suggest
from pipeline.workflow.nodes import Text, parse
from pipeline.workflow.scalars import to_text
from pipeline.workflow.substitution import fill

__all__ = ["chosen_values", "find_runs", "with_ancestors"]


def chosen_values(workflow: Workflow, where: Mapping[str, Collection[str]]) -> dict[str, tuple[int, ...]]:
    """Return the positions of the values to keep of every axis; raises RequestError for unknown ones."""
    for axis in where:
        if axis not in workflow.matrix:
            hint = suggest(axis, workflow.matrix, "matrix axis")
            if axis in workflow.parameters:
                hint = f"{axis!r} is a parameter; use --set {axis}=VALUE"
            raise RequestError(f"--where {axis}: there is no matrix axis {axis!r}", hint=hint)
    chosen = {}
    for axis, values in workflow.matrix.items():
        texts = [to_text(value) for value in values]
        wanted = {_position(axis, text, texts) for text in where.get(axis, ())}
        chosen[axis] = tuple(at for at in range(len(values)) if not where.get(axis) or at in wanted)
    return chosen


def _position(axis: str, text: str, texts: list[str]) -> int:
    if text in texts:
        return texts.index(text)
    try:
        node, _ = parse(Text(f"--where {axis}", text))
        read = to_text(fill(node, {}, Text(axis, text)).value) if node is not None else "null"
    except (WorkflowError, KeyError):
        read = text
    if read in texts:
        return texts.index(read)
    raise RequestError(
        f"--where {axis}={text}: the axis has no value {text!r:.60}", hint=suggest(text, texts, "value")
    )


def find_runs(plan: Plan, names: Collection[str]) -> set[str]:
    """Return the keys that names of entries, or keys, stand for; raises RequestError for unknown ones."""
    found: set[str] = set()
    entries: dict[str, set[str]] = {}
    for run in plan.runs.values():
        for key in (run.key, *run.aliases):
            entries.setdefault(key.split("[")[0], set()).add(run.key)
    for name in names:
        run_of_key = plan.find(name)
        if name in entries:
            found |= entries[name]
        elif run_of_key is not None:
            found.add(run_of_key.key)
        else:
            same = [each for each, entry in plan.workflow.stages.items() if entry.stage.name == name]
            hint = f"entries of that stage: {', '.join(same)}" if same else None
            known = [*entries, *plan.runs] if "[" in name else list(entries)
            raise RequestError(f"there is no entry {name!r}", hint=hint or suggest(name, known, "entry"))
    return found


def with_ancestors(plan: Plan, keys: Collection[str]) -> set[str]:
    """Return the keys and those of everything that they rest on."""
    found = set(keys)
    waiting = list(keys)
    while waiting:
        for upstream in plan.runs[waiting.pop()].upstream:
            if upstream not in found:
                found.add(upstream)
                waiting.append(upstream)
    return found
