"""What will happen to every stage run, and why."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from gravel.pipeline.core.errors import DamagedArtifact, NeedsContent, RequestError
from gravel.pipeline.core.hashing import Recipe
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
from gravel.pipeline.plan.reasons import History
from gravel.pipeline.plan.recipes import NeedsResult, RecipeMaker, pseudo_ids
from gravel.pipeline.plan.sizes import plan_extents
from gravel.pipeline.plan.sources import UnknownSource
from gravel.pipeline.store.cache import Cache
from gravel.stages.errors import StageError
from gravel.stages.stage import Machine, Stage


def plan_status(
    plan: Plan,
    maker: RecipeMaker,
    cache: Cache,
    *,
    machine: Machine | Callable[[Stage], Machine] | None = None,
) -> list[RunStatus]:
    """Tell the state of each run in the plan's order; with a machine also what it needs.

    Raises RequestError for an input file that cannot be read, unless it is a data set, which
    stops only what rests on it.
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
    except UnknownSource as error:
        if not run.is_of(data_sets):
            raise RequestError(error.message, hint=error.hint, location=run.location) from None
        return RunStatus(run.key, CANNOT_RUN, (str(error),))
    except StageError as error:
        return RunStatus(run.key, CANNOT_RUN, (str(error),))
    except NeedsContent as error:
        return RunStatus(run.key, WAITS, (str(error),))
    except RequestError as error:
        if not run.is_of(data_sets):
            raise
        return RunStatus(run.key, CANNOT_RUN, (str(error),))
    if not run.keep:
        unkept = (run.because if run.forced else "its result is not kept (keep: false)",)
        return RunStatus(run.key, WILL_RUN, unkept, (), recipe.digest, pseudo_ids(run, recipe.digest))
    if run.forced:
        return RunStatus(run.key, WILL_RUN, (run.because,), (), recipe.digest)
    record = cache.look_up(recipe.digest)
    refused = cache.acceptance.why_refused(recipe.digest)
    if record is None and refused is not None:
        return RunStatus(run.key, WILL_RUN, tuple(refused), (), recipe.digest)
    if record is None:
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
        idle = not run.keep and not run.forced
        if idle and key in read and key not in needed and state == WILL_RUN:
            found[key] = replace(found[key], state=NOT_NEEDED, reasons=("what reads it is cached",))
        elif state not in (CACHED, NOT_RUN):
            needed.update(run.upstream)
