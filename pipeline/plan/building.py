"""Expand a workflow over its matrix into stage runs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from gravel.pipeline.core.errors import Problem, WorkflowError
from gravel.pipeline.plan.model import InputRef, Plan, StageRun, run_key
from gravel.pipeline.plan.selection import chosen_combinations, select
from gravel.pipeline.workflow.combinations import Combinations, choices, count_choices
from gravel.pipeline.workflow.entries import REPEAT
from gravel.pipeline.workflow.model import EntryOutput, StageEntry, Workflow
from gravel.pipeline.workflow.values import MAX_RUNS
from gravel.stages.artifact import Json
from gravel.stages.stage import Parameters

__all__ = ["build_plan"]

MEASURED = ("Measurement", "Probe", "Links", "Counters")
"""Kinds of artifact that say something new when a measurement is repeated; the rest is the same each time."""


def build_plan(
    workflow: Workflow,
    *,
    where: Mapping[str, Collection[str]] | None = None,
    only: Collection[str] = (),
    force: Collection[str] = (),
    start: Collection[str] = (),
    failed: Collection[str] = (),
    keep: Collection[str] = (),
    repeat: int | None = None,
) -> Plan:
    """Expand a workflow.

    Parameters
    ----------
    where : values to keep of an axis, as texts of `--where AXIS=VALUE`.
    only : entries (or keys of runs) to plan, with what they need; everything if empty.
    force : entries (or keys) to compute even if they are cached.
    start : entries (or keys) to compute even if they are cached, and so everything that rests on them.
    failed : keys to compute again; planned are only they, what rests on them, and what all of these need.
    keep : entries (or keys) whose results are stored, whatever the workflow says.
    repeat : how often every stage that measures does so; what the workflow says if None.

    Raises
    ------
    RequestError : an axis, value, entry or key that does not exist.
    WorkflowError : the matrix makes too many runs, or gathers what must be single.

    """
    builder = _Builder(workflow, chosen_combinations(workflow, where or {}), repeat)
    for entry in workflow.stages.values():
        builder.expand(entry)
    plan = Plan(workflow, builder.runs, frozenset(builder.runs))
    return select(plan, only=only, force=force, start=start, failed=failed, keep=keep)


Place = tuple[int, ...]  # positions of values, one for each axis of the matrix that reaches an entry


@dataclass
class _Builder:
    workflow: Workflow
    combinations: tuple[Combinations, ...]
    repeat: int | None = None
    runs: dict[str, StageRun] = field(default_factory=dict)
    _reach: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _keys: dict[tuple[str, Place], list[str]] = field(default_factory=dict)  # of every repetition
    _equal: dict[object, str] = field(default_factory=dict)
    _count: int = 0

    def expand(self, entry: StageEntry) -> None:
        """Add the runs of one entry; those that feed it are there already."""
        axes = self._axes(entry)
        self._reach[entry.name] = axes
        texts: dict[Place, str] = {}
        repetitions = self.repeat if self.repeat is not None and entry.stage.measures else entry.repeat
        self._count += repetitions * count_choices(self.combinations, axes)
        if self._count > MAX_RUNS:
            message = (
                f"with {entry.name!r} the matrix makes {self._count:,} runs, more than the {MAX_RUNS:,} that "
                "a workflow may have"
            )
            hint = "give it fewer values, or choose some with --where"
            raise WorkflowError([Problem(message, hint, entry.location)])
        for place in choices(self.combinations, axes):
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
            run = StageRun(
                key=run_key(entry.name, coordinates),
                entry=entry.name,
                stage=entry.stage,
                parameters=parameters,
                inputs=inputs,
                coordinates=coordinates,
                keep=entry.keep,
                forced=False,
                location=entry.location,
                files=variant.files,
                time_limit=entry.time_limit,
            )
            self._keys[entry.name, place] = [
                self._add(_repeated(run, times), text) for times in range(1, repetitions + 1)
            ]

    def _add(self, run: StageRun, text: str) -> str:
        """Add a run, or let the equal one that is there stand for it; returns the key of what stays."""
        same = (run.stage.name, run.stage.origin, text, tuple(run.inputs.items()), run.repetition)
        first = self._equal.setdefault(same, run.key)
        if first == run.key:
            self.runs[first] = run
        else:
            known = self.runs[first]
            aliases = (*known.aliases, run.key)
            limits = (known.time_limit, run.time_limit)
            limit = max((each for each in limits if each is not None), default=None)
            self.runs[first] = replace(
                known,
                aliases=aliases,
                keep=known.keep or run.keep,
                time_limit=None if None in limits else limit,
            )
        return first

    def _axes(self, entry: StageEntry) -> tuple[str, ...]:
        reaching = set(entry.axes)
        for slot, outputs in entry.inputs.items():
            for output in outputs:
                axes = set(self._reach[output.entry])
                if entry.stage.inputs[slot].many:
                    axes -= entry.gathers
                elif axes & entry.gathers:
                    message = (
                        f"`{slot}` of {entry.name!r} takes one input, and `over` would gather "
                        f"{output.entry!r} over {', '.join(sorted(axes & entry.gathers))}"
                    )
                    raise WorkflowError([Problem(message, "leave that axis out of `over`", entry.location)])
                reaching |= axes
        return tuple(axis for axis in self.workflow.matrix if axis in reaching)

    def _refs(
        self, entry: StageEntry, slot: str, output: EntryOutput, at: Mapping[str, int]
    ) -> Iterator[InputRef]:
        axes = self._reach[output.entry]
        if not entry.stage.inputs[slot].many:
            # What a measurement labels is the same each time: what reads it reads the first.
            place = tuple(at[axis] for axis in axes)
            yield InputRef(self._keys[output.entry, place][0], output.output)
            return
        given = self.workflow.stages[output.entry].stage.outputs
        every = given[output.output] in MEASURED or len(given) == 1
        fixed = {axis: position for axis, position in at.items() if axis not in entry.gathers}
        for place in choices(self.combinations, axes, fixed):
            keys = self._keys[output.entry, place]
            for key in keys if every else keys[:1]:
                yield InputRef(key, output.output)


def _repeated(run: StageRun, times: int) -> StageRun:
    """Turn the first repetition of a measurement into another one."""
    if times == 1:
        return run
    coordinates: dict[str, Json] = {**run.coordinates, REPEAT: times}
    key = run_key(run.entry, coordinates)
    return replace(run, key=key, coordinates=coordinates, repetition=times, repeats=run.key)


def _with_labels(
    parameters: Parameters, inputs: Mapping[str, tuple[InputRef, ...]], entry: StageEntry
) -> Parameters:
    """Name the inputs of a stage that has a parameter `labels`, unless the workflow names them itself."""
    if "labels" not in entry.stage.parameters.model_fields or getattr(parameters, "labels", None):
        return parameters
    refs = [ref for slot, each in inputs.items() if entry.stage.inputs[slot].many for ref in each]
    return parameters.model_copy(update={"labels": tuple(ref.run for ref in refs)})
