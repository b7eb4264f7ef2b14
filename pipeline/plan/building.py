"""Expand a workflow over its matrix into stage runs."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from pipeline.errors import Problem, WorkflowError
from pipeline.plan.keys import run_key
from pipeline.plan.model import InputRef, Plan, StageRun
from pipeline.plan.selection import chosen_values, find_runs, with_ancestors
from pipeline.workflow.model import EntryOutput, StageEntry, Workflow
from pipeline.workflow.variants import MOST_RUNS
from stages.stage import Parameters

__all__ = ["build_plan"]


def build_plan(
    workflow: Workflow,
    *,
    where: Mapping[str, Collection[str]] | None = None,
    only: Collection[str] = (),
    force: Collection[str] = (),
) -> Plan:
    """Expand a workflow.

    Parameters
    ----------
    where : values to keep of an axis, as texts of `--where AXIS=VALUE`.
    only : entries (or keys of runs) to plan, with what they need; everything if empty.
    force : entries (or keys) to compute even if they are cached.

    Raises
    ------
    RequestError : an axis, value, entry or key that does not exist.
    WorkflowError : the matrix makes too many runs, or gathers what must be single.

    """
    builder = _Builder(workflow, chosen_values(workflow, where or {}))
    for entry in workflow.stages.values():
        builder.expand(entry)
    plan = Plan(workflow, builder.runs, frozenset(builder.runs))
    forced = find_runs(plan, force)
    runs = {key: replace(run, forced=True) if key in forced else run for key, run in plan.runs.items()}
    plan = Plan(workflow, runs, plan.wanted)
    if not only:
        return plan
    wanted = find_runs(plan, only)
    needed = with_ancestors(plan, wanted)
    return Plan(workflow, {key: run for key, run in runs.items() if key in needed}, frozenset(wanted))


Place = tuple[int, ...]  # positions of values, one for each axis of the matrix that reaches an entry


@dataclass
class _Builder:
    workflow: Workflow
    chosen: Mapping[str, tuple[int, ...]]
    runs: dict[str, StageRun] = field(default_factory=dict)
    _reach: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _keys: dict[tuple[str, Place], str] = field(default_factory=dict)
    _equal: dict[object, str] = field(default_factory=dict)
    _count: int = 0

    def expand(self, entry: StageEntry) -> None:
        """Add the runs of one entry; those that feed it are there already."""
        axes = self._axes(entry)
        self._reach[entry.name] = axes
        texts: dict[Place, str] = {}
        for place in itertools.product(*(self.chosen[axis] for axis in axes)):
            self._count += 1
            if self._count > MOST_RUNS:
                message = f"the matrix makes more than {MOST_RUNS:,} runs"
                hint = "give it fewer values, or choose some with --where"
                raise WorkflowError([Problem(message, hint, entry.location)])
            at = dict(zip(axes, place, strict=True))
            choice = tuple(at[axis] for axis in entry.axes)
            variant = entry.variants[choice]
            inputs = {
                slot: tuple(
                    dict.fromkeys(ref for output in outputs for ref in self._refs(entry, slot, output, at))
                )
                for slot, outputs in entry.inputs.items()
            }
            parameters = _with_labels(variant.parameters, inputs, entry)
            if parameters is variant.parameters:
                text = texts.get(choice) or texts.setdefault(choice, parameters.model_dump_json())
            else:
                text = parameters.model_dump_json()
            coordinates = {axis: self.workflow.matrix[axis][position] for axis, position in at.items()}
            key = run_key(entry.name, coordinates)
            same = (entry.stage.name, text, tuple(inputs.items()))
            first = self._equal.setdefault(same, key)
            self._keys[entry.name, place] = first
            if first != key:
                known = self.runs[first]
                self.runs[first] = replace(
                    known, aliases=(*known.aliases, key), keep=known.keep or entry.keep
                )
                continue
            self.runs[key] = StageRun(
                key=key,
                entry=entry.name,
                stage=entry.stage,
                parameters=parameters,
                inputs=inputs,
                coordinates=coordinates,
                keep=entry.keep,
                forced=False,
                location=entry.location,
                files=variant.files,
            )

    def _axes(self, entry: StageEntry) -> tuple[str, ...]:
        reaching = set(entry.axes)
        for slot, outputs in entry.inputs.items():
            for output in outputs:
                axes = set(self._reach[output.entry])
                if entry.stage.inputs[slot].many:
                    axes -= entry.gathers
                elif axes & entry.gathers:
                    message = (
                        f"the slot {slot!r} of {entry.name!r} takes one input, and `over` would gather "
                        f"{output.entry!r} over {', '.join(sorted(axes & entry.gathers))}"
                    )
                    raise WorkflowError([Problem(message, "leave that axis out of `over`", entry.location)])
                reaching |= axes
        return tuple(axis for axis in self.workflow.matrix if axis in reaching)

    def _refs(
        self, entry: StageEntry, slot: str, output: EntryOutput, at: Mapping[str, int]
    ) -> Iterator[InputRef]:
        axes = self._reach[output.entry]
        free = entry.gathers if entry.stage.inputs[slot].many else frozenset()
        ranges = [self.chosen[axis] if axis in free else (at[axis],) for axis in axes]
        for place in itertools.product(*ranges):
            yield InputRef(self._keys[output.entry, place], output.output)


def _with_labels(
    parameters: Parameters, inputs: Mapping[str, tuple[InputRef, ...]], entry: StageEntry
) -> Parameters:
    """Name the inputs of a stage that has a parameter `labels`, unless the workflow names them itself."""
    if "labels" not in entry.stage.parameters.model_fields or getattr(parameters, "labels", None):
        return parameters
    refs = [ref for slot, each in inputs.items() if entry.stage.inputs[slot].many for ref in each]
    return parameters.model_copy(update={"labels": tuple(ref.run for ref in refs)})
