"""`gravel run` from the plan cache: the same events, record and report as of a run that was planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.core.hardware import machine_facts
from gravel.pipeline.plan.cache import process_state as process_state
from gravel.pipeline.plan.cache.entries import load_entry, save_entry
from gravel.pipeline.plan.cache.lookup import Found, find_all
from gravel.pipeline.progress.events import QuietReporter
from gravel.pipeline.records.record import Outline, RunRecord
from gravel.pipeline.scheduler.lifecycle import machine_record, run_to_end, sweep
from gravel.pipeline.scheduler.machine import decide
from gravel.pipeline.scheduler.machine_facts import hardware_words
from gravel.pipeline.scheduler.messages import RunMessages
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.failures import ReadOnly

if TYPE_CHECKING:
    from gravel.pipeline.core.trace import DependencyTrace
    from gravel.pipeline.plan.model import Plan
    from gravel.pipeline.scheduler.machine import RunEnvironment
    from gravel.pipeline.scheduler.options import RunOptions, RunOutcome
    from gravel.stages.artifact import Json

__all__ = ["run_cached", "save_run"]

HEAD = ("key", "entry", "stage", "upstream", "coordinates")
"""What the outline of a run says of a stage run."""


def run_cached(asked: Mapping[str, object], options: RunOptions) -> RunOutcome | None:
    """Carry out a run that is known to find everything; None if it is not known, or finds it not.

    Nothing was shown or recorded then. `asked` are the arguments of `load_plan`.
    """
    if options.trust_remote or process_state.began() is None or not (options.cache_root / "frozen").is_dir():
        return None
    try:
        environment = decide(options)
        answer = load_entry(options.cache_root, _request(asked, environment))
    except (GravelError, OSError):
        return None
    return None if answer is None else answer_run(answer, options, environment)


def answer_run(
    answer: Mapping[str, Json], options: RunOptions, environment: RunEnvironment
) -> RunOutcome | None:
    """Carry out the run that an answer of `keep_run` stands for; None if a result is not there."""
    stages = answer["stages"]
    cache = Cache(options.cache_root)
    reporter = options.reporter or QuietReporter()
    machine = {
        **machine_record(machine_facts(environment.backend, {}, devices=environment.devices), environment),
        "versions": answer["versions"],
    }
    outlined = [{name: stage[name] for name in (*HEAD, "state", "why") if name in stage} for stage in stages]
    outline = Outline(answer["workflow"], outlined)
    record = RunRecord(options.cache_root, outline, machine, options.to_json())
    messages = RunMessages(record, reporter)
    cache.say = lambda message: messages.emit("note", message=message)
    with ExitStack() as resident:
        try:
            sweep(cache)
            with suppress(ReadOnly):  # it is served all the same
                resident.enter_context(cache.lease(record.run))
            found = find_all(cache.root, stages)
        except (GravelError, OSError):
            return None
        if found is None:
            return None
        work = _Known(stages, found, messages)
        return run_to_end(work, record, messages, cache, reporter, resident.pop_all())


class _Known:
    """The work of a run whose results are all there."""

    computed = 0

    def __init__(
        self, stages: Sequence[Mapping[str, Json]], found: Mapping[str, Found], messages: RunMessages
    ) -> None:
        self._stages = stages
        self._found = found
        self._messages = messages

    def run(self) -> str:
        for stage in self._stages:
            key = stage["key"]
            if _not_run(stage):
                self._messages.not_run(key)
                continue
            self._messages.identified(key, stage["recipe"], keep=stage["keep"])
            if key not in self._found:
                continue
            found = self._found[key]
            self._messages.cached(key, found.record.outputs, found.record.provenance, found.artifacts)
        return "done"

    def only_serve(self, why: ReadOnly) -> None:
        """Go on: everything is there."""

    def interrupt(self) -> None:
        """Go on: what is left takes no time."""


def save_run(
    asked: Mapping[str, object], options: RunOptions, plan: Plan, trace: DependencyTrace, outcome: RunOutcome
) -> bool:
    """Freeze a run that found everything; say whether it was frozen."""
    if options.trust_remote or outcome.state != "done" or process_state.began() is None or not is_own(plan):
        return False
    records = outcome.record["stages"]
    quiet = all(
        (each["state"] == "cached" and not each["why"]) or each["state"] == "not needed" or _not_run(each)
        for each in records
    )
    if not quiet:
        return False
    stages = [
        {name: each[name] for name in (*HEAD, "recipe", "outputs")}
        | {"keep": plan.runs[each["key"]].keep and not _not_run(each)}
        | ({"state": "not run", "why": each["why"]} if _not_run(each) else {})
        for each in records
    ]
    answer = {
        "workflow": outcome.record["workflow"],
        "versions": outcome.record["machine"]["versions"],
        "stages": stages,
    }
    try:
        request = _request(asked, decide(options))
    except (GravelError, OSError):
        return False
    return save_entry(options.cache_root, request, trace, answer)


def _not_run(stage: Mapping[str, Json]) -> bool:
    return bool(stage.get("state") == "not run")


def is_own(plan: Plan) -> bool:
    """Say whether all stages are gravel's own, as its files have them."""
    from gravel.stages.stage import all_stages

    own = all_stages()
    return all(run.stage is own.get(run.stage.name) for run in plan.runs.values())


def _request(asked: Mapping[str, object], environment: RunEnvironment) -> dict[str, Json]:
    return process_state.request("run", {**asked, **hardware_words(environment)})
