"""`gravel run` of a frozen plan: the same events, record and report as of a run that was planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.core.hardware import machine_facts
from gravel.pipeline.plan.cache import environment as surroundings
from gravel.pipeline.plan.cache.entries import freeze, thaw
from gravel.pipeline.plan.cache.lookup import Found, find_all
from gravel.pipeline.progress.events import QuietReporter
from gravel.pipeline.records.record import Outline, RunRecord
from gravel.pipeline.scheduler.machine import decide
from gravel.pipeline.scheduler.machine_facts import hardware_words
from gravel.pipeline.scheduler.messages import Telling
from gravel.pipeline.scheduler.surrounding import carry_through, machine_told, sweep
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.failures import ReadOnly

if TYPE_CHECKING:
    from gravel.pipeline.core.trace import Witness
    from gravel.pipeline.plan.model import Plan
    from gravel.pipeline.scheduler.machine import Setting
    from gravel.pipeline.scheduler.options import RunOptions, RunOutcome
    from gravel.stages.artifacts import Json

__all__ = ["keep_run", "run_frozen"]

HEAD = ("key", "entry", "stage", "upstream", "coordinates")
"""What the outline of a run says of a stage run."""


def run_frozen(asked: Mapping[str, object], options: RunOptions) -> RunOutcome | None:
    """Carry out a run that is known to find everything; None if it is not known, or finds it not.

    Nothing was shown or recorded then. `asked` are the arguments of `load_plan`.
    """
    if options.trust_remote or surroundings.began() is None or not (options.cache_root / "frozen").is_dir():
        return None
    try:
        setting = decide(options)
        answer = thaw(options.cache_root, _request(asked, setting))
    except (GravelError, OSError):
        return None
    return None if answer is None else answer_run(answer, options, setting)


def answer_run(answer: Mapping[str, Json], options: RunOptions, setting: Setting) -> RunOutcome | None:
    """Carry out the run that an answer of `keep_run` stands for; None if a result is not there."""
    stages = answer["stages"]
    cache = Cache(options.cache_root)
    reporter = options.reporter or QuietReporter()
    machine = {**machine_told(machine_facts(setting.backend, {}), setting), "versions": answer["versions"]}
    outlined = [{name: stage[name] for name in (*HEAD, "state", "why") if name in stage} for stage in stages]
    outline = Outline(answer["workflow"], outlined)
    record = RunRecord(options.cache_root, outline, machine, options.to_json())
    telling = Telling(record, reporter)
    cache.say = lambda message: telling.emit("note", message=message)
    with ExitStack() as held:
        try:
            sweep(cache)
            with suppress(ReadOnly):  # it is served all the same
                held.enter_context(cache.lease(record.run))
            found = find_all(cache.root, stages)
        except (GravelError, OSError):
            return None
        if found is None:
            return None
        work = _Known(stages, found, telling)
        return carry_through(work, record, telling, cache, options, reporter, held.pop_all())


class _Known:
    """The work of a run whose results are all there."""

    computed = 0

    def __init__(
        self, stages: Sequence[Mapping[str, Json]], found: Mapping[str, Found], telling: Telling
    ) -> None:
        self._stages = stages
        self._found = found
        self._telling = telling

    def run(self) -> str:
        for stage in self._stages:
            key = stage["key"]
            if _not_run(stage):
                self._telling.not_run(key)
                continue
            self._telling.identified(key, stage["recipe"], keep=stage["keep"])
            if key in self._found:
                found = self._found[key]
                self._telling.cached(key, found.record.outputs, found.record.provenance, found.artifacts)
        return "done"

    def only_serve(self, why: ReadOnly) -> None:
        """Go on: everything is there."""

    def interrupt(self) -> None:
        """Go on: what is left takes no time."""


def keep_run(
    asked: Mapping[str, object], options: RunOptions, plan: Plan, witness: Witness, outcome: RunOutcome
) -> bool:
    """Freeze a run that found everything; say whether it was frozen."""
    records = outcome.record["stages"]
    quiet = all(
        (each["state"] in ("cached", "not needed") and not each["why"]) or _not_run(each) for each in records
    )
    if (
        options.trust_remote
        or outcome.state != "done"
        or not quiet
        or not is_own(plan)
        or surroundings.began() is None
    ):
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
    return freeze(options.cache_root, request, witness, answer)


def _not_run(stage: Mapping[str, Json]) -> bool:
    return bool(stage.get("state") == "not run")


def is_own(plan: Plan) -> bool:
    """Say whether all stages are gravel's own, as its files have them."""
    from gravel.stages.stage import all_stages

    own = all_stages()
    return all(run.stage is own.get(run.stage.name) for run in plan.runs.values())


def _request(asked: Mapping[str, object], setting: Setting) -> dict[str, Json]:
    return surroundings.request("run", {**asked, **hardware_words(setting)})
