"""What will happen to every stage run, why, and what it needs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from gravel.pipeline.core.errors import DamagedArtifact, NeedsContent, RequestError
from gravel.pipeline.core.hashing import Recipe, flat_parts, is_input
from gravel.pipeline.plan.model import (
    CACHED,
    CANNOT_RUN,
    NOT_NEEDED,
    NOT_RUN,
    WAITS,
    WILL_RUN,
    Plan,
    RunStatus,
    StageRun,
)
from gravel.pipeline.plan.recipes import PSEUDO, NeedsResult, RecipeMaker, pseudo_ids
from gravel.pipeline.plan.sources import UnknownSource
from gravel.pipeline.records.past_runs import read_head, read_run, run_folders
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.workflow.model import Workflow
from gravel.pipeline.workflow.nodes import to_text
from gravel.stages.artifact import Json
from gravel.stages.errors import StageError
from gravel.stages.stage import Extent, Machine, Need, Parameters, Stage

GUESSED = "at most: it is checked again when the vertices are known"
"""What `plan` says of a run that rests on bounds."""


def plan_status(
    plan: Plan,
    maker: RecipeMaker,
    cache: Cache,
    *,
    machine: Machine | Callable[[Stage], Machine] | None = None,
) -> list[RunStatus]:
    """Tell the state of each run in the plan's order; with a machine also what it needs.

    Raises RequestError for an input file that cannot be read, unless it is a data set, which stops only what
    rests on it.
    """
    history = History(cache, plan.workflow)
    known: dict[str, tuple[str, ...]] = {}
    found: dict[str, RunStatus] = {}
    for key, run in plan.runs.items():
        status = found[key] = _status(run, maker, cache, history, known, found, plan.workflow.datasets)
        if status.outputs is not None:
            known[key] = status.outputs
    _drop_what_nobody_needs(plan, found)
    if machine is not None:
        needs = plan_extents(plan, cache, machine, known)
        found = {key: replace(status, need=needs.get(key)) for key, status in found.items()}
    return list(found.values())


def _status(
    run: StageRun,
    maker: RecipeMaker,
    cache: Cache,
    history: History,
    known: dict[str, tuple[str, ...]],
    found: dict[str, RunStatus],
    data_sets: Collection[str],
) -> RunStatus:
    if run.not_run is not None:
        return RunStatus(run.key, NOT_RUN, (run.not_run,))
    stopped = [key for key in run.upstream if found[key].state == CANNOT_RUN]
    if stopped:
        return RunStatus(run.key, CANNOT_RUN, (f"it needs {', '.join(stopped)}",))
    waits_on = tuple(key for key in run.upstream if key not in known)
    if waits_on:
        return RunStatus(run.key, WAITS, (), waits_on)
    try:
        recipe = maker.recipe(run, known)
    except NeedsResult as error:
        return RunStatus(run.key, WAITS, ("its sources are resolved with those ids",), (error.key,))
    except DamagedArtifact as error:
        return RunStatus(run.key, WAITS, (f"its sources cannot be resolved: {error}",))
    except NeedsContent as error:
        return RunStatus(run.key, WAITS, (str(error),))
    except (StageError, RequestError) as error:
        if isinstance(error, UnknownSource) and not run.is_of(data_sets):
            raise RequestError(error.message, hint=error.hint, location=run.location) from None
        if isinstance(error, RequestError) and not run.is_of(data_sets):
            raise
        return RunStatus(run.key, CANNOT_RUN, (str(error),))
    if not run.keep:
        unkept = (run.because if run.forced else "its result is not kept (keep: false)",)
        return RunStatus(run.key, WILL_RUN, unkept, (), recipe.digest, pseudo_ids(run, recipe.digest))
    if run.forced:
        return RunStatus(run.key, WILL_RUN, (run.because,), (), recipe.digest)
    record = cache.look_up(recipe.digest)
    if record is None:
        refused = cache.acceptance.why_refused(recipe.digest)
        if refused is not None:
            return RunStatus(run.key, WILL_RUN, tuple(refused), (), recipe.digest)
        reasons, only_hardware = history.explain(run, recipe)
        reasons = (*reasons, *_parts(maker.parts(run, known), cache))
        return RunStatus(run.key, WILL_RUN, reasons, (), recipe.digest, only_hardware=only_hardware)
    damage = [
        f"its cached {kind} {output[:12]} cannot be used: {reason}"
        for kind, output in zip(run.stage.outputs, record.outputs, strict=True)
        if (reason := cache.check(output)) is not None
    ]
    if damage:
        return RunStatus(run.key, WILL_RUN, tuple(damage), (), recipe.digest)
    return RunStatus(run.key, CACHED, (), (), recipe.digest, record.outputs)


def _parts(recipes: Sequence[Recipe], cache: Cache) -> Iterator[str]:
    """Say how many parts of a result are cached."""
    if recipes:
        found = [cache.look_up(recipe.digest) for recipe in recipes]
        cached = sum(each is not None and cache.check(each.outputs[0]) is None for each in found)
        kind = recipes[0].parts["stage"]
        yield f"{len(found):,} {kind}s: {cached:,} cached, {len(found) - cached:,} to read"


def _drop_what_nobody_needs(plan: Plan, found: dict[str, RunStatus]) -> None:
    """Mark results that are not stored and that only cached runs would read."""
    read = {upstream for run in plan.runs.values() if run.not_run is None for upstream in run.upstream}
    needed: set[str] = set()
    for key in reversed(list(plan.runs)):
        run, state = plan.runs[key], found[key].state
        if state == WILL_RUN and not (run.keep or run.forced) and key in read and key not in needed:
            found[key] = replace(found[key], state=NOT_NEEDED, reasons=("what reads it is cached",))
        elif state not in (CACHED, NOT_RUN):
            needed.update(run.upstream)


Parts = dict[str, Json]
"""A recipe's parts under their names of `flat_parts`."""

MAX_TEXT = 60  # characters of an old or new value
MAX_RUNS = 8  # earlier runs of a project whose records are read, the newest first
FILLED_IN = (
    "labels",
    "graphs",
    "from_files",
    "not_run",
)  # parameters of a report that follow from its inputs
MAX_CHANGES = 4  # parts in which a stage run may differ from a similar one
MAX_PAST = 200  # earlier recipes of a stage that are compared, the newest first


class History:
    """What a workflow file's project computed before, read from the cache when it is first asked.

    A project is the folder of a workflow file. What another one computed is never compared with, though its
    results are used where recipes are equal: a cache may be shared by many.
    """

    def __init__(self, cache: Cache, workflow: Workflow) -> None:
        self._cache = cache
        self._name = workflow.name
        self._file = workflow.path.absolute()

    @cached_property
    def _past(self) -> tuple[dict[str, list[Parts]], dict[tuple[str, str], Parts]]:
        """The latest recipes of each stage, the newest first, and the newest one of each stage and run."""
        from gravel.pipeline.store.selection import recipes

        by_stage: dict[str, list[Parts]] = {}
        by_run: dict[tuple[str, str], Parts] = {}
        every = recipes(self._cache)
        known = {record.digest: record for record in every}
        for run, digest, is_same in self._recorded():
            if digest in known:
                parts = dict(flat_parts(known[digest].parts))
                by_stage.setdefault(run[0], []).append(parts)
                if is_same:
                    by_run.setdefault(run, parts)
        for record in reversed(every):
            stated = record.provenance.get("file")
            if not isinstance(stated, str) or (file := Path(stated)).parent != self._file.parent:
                continue
            stage = record.parts.get("stage", "")
            run = stage, record.provenance.get("key", "")
            is_same = self._is_same(file, record.provenance.get("workflow")) and run not in by_run
            latest = by_stage.setdefault(stage, [])
            if is_same or len(latest) < MAX_PAST:
                parts = dict(flat_parts(record.parts))
                if is_same:
                    by_run[run] = parts
                if len(latest) < MAX_PAST:
                    latest.append(parts)
        return by_stage, by_run

    def _recorded(self) -> Iterator[tuple[tuple[str, str], str, bool]]:
        """Yield stage and key, recipe, and whether it is the same workflow, of the project's runs on record.

        What they used may have been computed for another project.
        """
        read = 0
        for folder in run_folders(self._cache.root):
            head = read_head(folder)
            workflow = head["workflow"] if head is not None else {}
            file = Path(workflow.get("file") or "/")
            if head is None or file.parent != self._file.parent:
                continue
            is_same = self._is_same(file, workflow.get("name"))
            for stage in (read_run(folder) or {"stages": []})["stages"]:
                if stage["recipe"] is not None:
                    yield (stage["stage"], stage["key"]), stage["recipe"], is_same
            read += 1
            if read == MAX_RUNS:
                return

    def _is_same(self, file: Path, name: str | None) -> bool:
        return file == self._file and name == self._name

    def explain(self, run: StageRun, recipe: Recipe) -> tuple[tuple[str, ...], bool]:
        """Return the reasons, as old value -> new value, and whether only the hardware differs."""
        by_stage, by_run = self._past
        now = dict(flat_parts(recipe.parts))
        known = (by_run.get((run.stage.name, key)) for key in (run.key, *run.aliases))
        same = [parts for parts in known if parts is not None][:1]
        best: tuple[str, ...] | None = None
        only_hardware = False
        # What read other files, such as another data set, says nothing of this one.
        files = {name for name in now if name.startswith("file ")}
        like = [each for each in by_stage.get(run.stage.name, []) if not files or files & each.keys()]
        for before in same or like:
            changes = _without_filled_in(run.stage.name, dict(_changes(before, now)))
            if not changes or (not same and len(changes) > MAX_CHANGES):
                continue
            only = set(changes) == {"hardware"}
            if best is None or len(changes) < len(best):
                best, only_hardware = tuple(changes.values()), only
        if best is None:
            return ("its record is gone" if same else "not computed before",), False
        if not same:
            best = (f"not computed before; the most similar {run.stage.name} differs in:", *best)
        elif only_hardware:
            best = (*best, "only the hardware differs, and this stage measures time")
        return best, only_hardware


def _without_filled_in(stage: str, changes: dict[str, str]) -> dict[str, str]:
    """Leave out what the planner fills in from inputs, where something else says what changed."""
    if stage != "report":
        return changes
    kept = {name: text for name, text in changes.items() if name.partition(".")[0] not in FILLED_IN}
    return kept or changes


def _changes(before: Parts, after: Parts) -> Iterator[tuple[str, str]]:
    for name in dict.fromkeys([*before, *after]):
        was, now = before.get(name), after.get(name)
        # A parameter that is not given and one that this form of it lacks are the same to a reader.
        if was != now:
            old, new = show_value(name, was), show_value(name, now)
            yield name, f"{name}: {old} -> {new if new != old else 'others'}"


def show_value(name: str, value: Json) -> str:
    """Write a part of a recipe, under its name of `flat_parts`, in a few words."""
    if value is None:
        return "none"
    if is_input(name) and isinstance(value, list | tuple):
        return f"{len(value)} artifacts"
    if name == "stage code" or name.startswith("file ") or is_input(name):
        return str(value).removeprefix("recipe:")[:12]
    text = to_text(value)
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 3]}..."


FEW = 16
"""Vertices of a graph so small that what it cannot have, no graph of unknown size can."""


def plan_extents(
    plan: Plan,
    cache: Cache | None,
    machine: Machine | Callable[[Stage], Machine],
    known: Mapping[str, tuple[str, ...]] | None = None,
    asked: Collection[str] | None = None,
    made: Mapping[str, tuple[Extent, ...]] = MappingProxyType({}),
) -> dict[str, Need]:
    """Return each run's need by key; of runs that are not among `asked`, only where an estimate rests on it.

    `known` holds the output ids of runs whose results exist; their true extents then stand in for
    estimates, as do those of `made`. What rests on bounds that a stage guessed is guessed, too, and refused
    only if it would be for `FEW` vertices. A run whose need cannot be known (its input file cannot be read)
    is left out, and so is what rests on it.
    """
    needs: dict[str, Need] = {}
    outputs: dict[str, tuple[Extent, ...]] = {}
    least: dict[str, tuple[Extent, ...]] = {}
    for key, run in plan.runs.items():
        stored = made.get(key) or _stored(cache, (known or {}).get(key, ()))
        if stored is not None and asked is not None and key not in asked:
            outputs[key] = stored
            continue
        if all(upstream in outputs for upstream in run.upstream):
            there = machine if isinstance(machine, Machine) else machine(run.stage)
            with suppress(StageError, OSError):
                need = stated_need(run, run.parameters, _inputs(run, outputs), there)
                if not least.keys().isdisjoint(run.upstream):
                    at_least = stated_need(run, run.parameters, _inputs(run, {**outputs, **least}), there)
                    note = need.note or GUESSED
                    need = replace(need, guessed=True, note=note, refusal=at_least.refusal)
                needs[key], outputs[key] = need, need.outputs
                if stored is None and (need.guessed or need.outputs_guessed):
                    least[key] = tuple(
                        replace(each, vertices=min(each.vertices, FEW)) for each in need.outputs
                    )
        if stored is not None:
            outputs[key] = stored
    return needs


def _inputs(run: StageRun, outputs: Mapping[str, tuple[Extent, ...]]) -> dict[str, tuple[Extent, ...]]:
    return {slot: tuple(outputs[ref.run][ref.output] for ref in refs) for slot, refs in run.inputs.items()}


def stated_need(
    run: StageRun, parameters: Parameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    """Return what the stage states; with `keep: false` also its outputs, which stay in memory.

    Raises StageError for a stage that is not gravel's own and whose estimate fails.
    """
    try:
        need = run.stage.estimate(parameters, inputs, machine)
    except (StageError, OSError):
        raise
    except Exception as error:
        if run.stage.origin is None:
            raise
        message = f"the estimate of stage {run.stage.name} failed: {type(error).__name__}: {error}"
        raise StageError(message, hint=f"fix it in {run.stage.origin.place}") from error
    if run.keep:
        return need
    return replace(need, host_bytes=need.host_bytes + sum(extent.bytes for extent in need.outputs))


def resident_inputs(plan: Plan, needs: Mapping[str, Need]) -> dict[str, int]:
    """Count, by run, the bytes of inputs that are not kept: they are in memory beside what the run needs."""
    resident: dict[str, int] = {}
    for key, run in plan.runs.items():
        unkept = [needs[each] for each in run.upstream if not plan.runs[each].keep and each in needs]
        if size := sum(extent.bytes for need in unkept for extent in need.outputs):
            resident[key] = size
    return resident


def _stored(cache: Cache | None, ids: tuple[str, ...]) -> tuple[Extent, ...] | None:
    if cache is None or not ids or any(each.startswith(PSEUDO) for each in ids):
        return None
    try:
        return tuple(cache.describe(each).extent for each in ids)
    except DamagedArtifact:
        return None
