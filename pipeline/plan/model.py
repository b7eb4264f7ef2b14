"""The plan: a fixed graph of stage runs, each with its key, and what is known about each."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from gravel.pipeline.core.errors import Location, Problem, WorkflowError
from gravel.pipeline.workflow.model import Workflow
from gravel.pipeline.workflow.nodes import to_text
from gravel.stages.artifact import Json
from gravel.stages.stage import Need, Parameters, Stage


@dataclass(frozen=True, slots=True)
class InputRef:
    """An output of another run: the run's key and the position among its stage's outputs."""

    run: str
    output: int


@dataclass(frozen=True, slots=True)
class StageRun:
    """One stage, with its parameters and inputs decided.

    `key` reads like `bfs[order=rcm,layout=csr]`, or `edges` when no axis reaches it. `entry` is the name
    in the workflow file. `coordinates` are the axes that reach the run, in the order of the matrix.
    `keep` says whether its result is stored.
    `aliases` are the keys of equal runs (same stage, parameters and inputs) that this one stands for, with
    the coordinates of each.
    `forced` says that it is computed even if it is cached, and `because` which option asks for that.
    `repetition` counts the runs of a measurement that is repeated, from 1; `repeats` is the key of the first.
    `time_limit` (seconds) is how long an attempt may take; of equal runs the longest holds. `not_run` says
    why it does not run on this machine, if it does not.
    """

    key: str
    entry: str
    stage: Stage
    parameters: Parameters
    inputs: Mapping[str, tuple[InputRef, ...]]
    coordinates: Mapping[str, Json]
    keep: bool
    forced: bool
    location: Location
    files: Mapping[str, Location] = field(default_factory=dict)
    aliases: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    because: str = ""
    repetition: int = 1
    repeats: str | None = None
    time_limit: float | None = None
    not_run: str | None = None

    def is_of(self, axes: Collection[str]) -> bool:
        """Say whether one of these axes reaches the run."""
        return any(axis in self.coordinates for axis in axes)

    @property
    def upstream(self) -> tuple[str, ...]:
        """The keys of the runs whose outputs this one reads, each once."""
        return tuple(dict.fromkeys(ref.run for refs in self.inputs.values() for ref in refs))


@dataclass(frozen=True)
class Plan:
    """Stage runs by key, each after everything that it reads; `wanted` are those that were asked for."""

    workflow: Workflow
    runs: Mapping[str, StageRun]
    wanted: frozenset[str]

    def find(self, key: str) -> StageRun | None:
        """Return the run with this key or alias."""
        if key in self.runs:
            return self.runs[key]
        return next((run for run in self.runs.values() if key in run.aliases), None)

    def lineage(self, *keys: str) -> list[StageRun]:
        """Everything that runs rest on, nearest first; not the runs, unless one rests on another."""
        found: dict[str, StageRun] = {}
        waiting = [upstream for key in keys for upstream in self.runs[key].upstream]
        for name in waiting:
            if name not in found:
                found[name] = self.runs[name]
                waiting.extend(self.runs[name].upstream)
        return list(found.values())


CACHED = "cached"
WILL_RUN = "will run"
WAITS = "waits"
NOT_NEEDED = "not needed"
CANNOT_RUN = "cannot run"
NOT_RUN = "not run"


@dataclass(frozen=True)
class RunStatus:
    """What will happen to one run, and why.

    `state` is `CACHED`, `WILL_RUN`, `WAITS` (on the runs in `waits_on`, whose results decide),
    `NOT_NEEDED` (a result that is not stored and only cached runs would read), `CANNOT_RUN`, or `NOT_RUN`
    (this machine has not what it asks for, and the others go on).
    `reasons` say why, as old value -> new value. `outputs` are the artifact ids, where they are known
    before the run.
    """

    key: str
    state: str
    reasons: tuple[str, ...] = ()
    waits_on: tuple[str, ...] = ()
    recipe: str | None = None
    outputs: tuple[str, ...] | None = None
    need: Need | None = None
    only_hardware: bool = False


_PLAIN = re.compile(r"[\w.+/:-]+")
MAX_VALUE_TEXT = 40  # characters of one value in a key; longer ones end in their digest


def run_key(entry: str, coordinates: Mapping[str, Json]) -> str:
    """Write the key of the run of an entry at these values of the axes that reach it.

    An axis of the nested workflow that the entry belongs to goes by its short name where no other has it.
    """
    if not coordinates:
        return entry
    nest = entry[: entry.rfind(".") + 1]
    short = [axis.removeprefix(nest) for axis in coordinates]
    names = short if len(set(short)) == len(short) else list(coordinates)
    texts = map(_value_text, coordinates.values())
    return f"{entry}[{','.join(map('='.join, zip(names, texts, strict=True)))}]"


def _value_text(value: Json) -> str:
    text = to_text(value)
    if len(text) > MAX_VALUE_TEXT:
        from blake3 import blake3

        return f"{text[: MAX_VALUE_TEXT - 10]!r}~{blake3(text.encode()).hexdigest()[:8]}"
    return text if _PLAIN.fullmatch(text) else repr(text)


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
    entries: dict[str, list[StageRun]] = {}
    for run in plan.runs.values():
        entries.setdefault(run.entry, []).append(run)
    problems = [
        Problem(f"{run.key} cannot run here: it {found[run.key].reason}", found[run.key].hint, run.location)
        for run, *others in entries.values()
        if all(each.key in found for each in (run, *others))
    ]
    if problems:
        raise WorkflowError(problems)
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
                if "not_run" in run.stage.parameters.model_fields:  # it says what is not there, and why
                    reported = {name: causes[name] for name in lost if name in causes}
                    rest = replace(rest, parameters=rest.parameters.model_copy(update={"not_run": reported}))
                runs[key] = rest
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
    if labels and list(labels) == every:
        kept = tuple(label for label in labels if label not in lost)
        parameters = parameters.model_copy(update={"labels": kept})
    return replace(run, inputs=inputs, parameters=parameters)
