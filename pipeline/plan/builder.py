"""The plan of a workflow: its matrix expanded into stage runs, less what `--only` and the like leave out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from gravel.pipeline.core.errors import Problem, RequestError, WorkflowError
from gravel.pipeline.core.names import suggest
from gravel.pipeline.plan.model import InputRef, Plan, StageRun, run_key
from gravel.pipeline.workflow.entries import REPEAT
from gravel.pipeline.workflow.model import (
    Choice,
    Combinations,
    EntryOutput,
    StageEntry,
    Workflow,
    choices,
    count_choices,
)
from gravel.pipeline.workflow.nodes import Text, as_data, parse, to_text
from gravel.pipeline.workflow.values import MAX_RUNS, fill
from gravel.stages.artifact import Json
from gravel.stages.stage import Parameters


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

    Parameters
    ----------
    only : entries (or keys of runs) to plan, with what they need; everything if empty.
    force : entries (or keys) to compute even if they are cached.
    start : entries (or keys) to compute even if they are cached, and so everything that rests on them.
    failed : keys to compute again; planned are only they, what rests on them, and what all of these need.
    keep : entries (or keys) whose results are stored, whatever the workflow says.

    Raises RequestError for unknown names, and for one to compute that `only` leaves out.

    """
    wanted = _find_runs(plan, only) if only else set(plan.runs)
    failed = _still_there(plan, failed)
    if failed:
        again = _with_descendants(plan, failed)
        wanted = wanted & again if only else again
    kept = wanted | {run.key for run in plan.lineage(*wanted)}
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


def _with_descendants(plan: Plan, keys: Iterable[str]) -> set[str]:
    """Return the keys and those of everything that rests on them."""
    found = set(keys)
    for key, run in plan.runs.items():
        if not found.isdisjoint(run.upstream):
            found.add(key)
    return found


MEASURED = ("Measurement", "Probe", "Links", "Counters")
"""Kinds of artifact that say something new when a measurement is repeated; the rest is the same each time."""


def build_plan(
    workflow: Workflow,
    *,
    where: Mapping[str, Collection[str]] | None = None,
    repeat: int | None = None,
    **chosen: Collection[str],
) -> Plan:
    """Expand a workflow.

    Parameters
    ----------
    where : values to keep of an axis, as texts of `--where AXIS=VALUE`.
    chosen : what `select` takes.
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
    return select(plan, **chosen)


@dataclass
class _Builder:
    workflow: Workflow
    combinations: tuple[Combinations, ...]
    repeat: int | None = None
    runs: dict[str, StageRun] = field(default_factory=dict)
    _reach: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _keys: dict[tuple[str, Choice], list[str]] = field(default_factory=dict)  # of every repetition
    _equal: dict[object, str] = field(default_factory=dict)
    _count: int = 0

    def expand(self, entry: StageEntry) -> None:
        """Add the runs of one entry; those that feed it are there already."""
        axes = self._axes(entry)
        self._reach[entry.name] = axes
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
            variant = entry.variants[tuple(at[axis] for axis in entry.axes)]
            inputs = {
                slot: tuple(
                    dict.fromkeys(ref for output in outputs for ref in self._refs(entry, slot, output, at))
                )
                for slot, outputs in entry.inputs.items()
            }
            parameters = _with_labels(variant.parameters, inputs, entry)
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
            limits = [limit for limit in (known.time_limit, run.time_limit) if limit is not None]
            self.runs[first] = replace(
                known,
                aliases={**known.aliases, run.key: run.coordinates},
                keep=known.keep or run.keep,
                time_limit=max(limits) if len(limits) == 2 else None,
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
