"""`gravel plan` from the plan cache."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.plan.cache import process_state as process_state
from gravel.pipeline.plan.cache.entries import load_entry, save_entry
from gravel.pipeline.plan.cache.lookup import find_all
from gravel.pipeline.scheduler.machine import decide
from gravel.pipeline.scheduler.machine_facts import hardware_words, memory_words
from gravel.pipeline.scheduler.options import RunOptions
from gravel.pipeline.store.location import find_cache

if TYPE_CHECKING:
    from gravel.pipeline.core.trace import DependencyTrace
    from gravel.pipeline.plan.model import Plan
    from gravel.pipeline.scheduler.machine import RunEnvironment
    from gravel.stages.artifact import Json

__all__ = ["cached_listing", "save_plan"]


def cached_listing(
    asked: Mapping[str, object], cache_path: str | None, machine: Mapping[str, Any]
) -> dict[str, Json] | None:
    """Return what `gravel plan` tells if it is known and everything is still cached, else None.

    `asked` are the arguments of `load_plan`, `cache_path` and `machine` the other options.
    """
    if process_state.began() is None:
        return None
    try:
        root = find_cache(cache_path)
        if not (root / "frozen").is_dir():
            return None
        environment = decide(RunOptions(cache_root=root, **machine))
        answer = load_entry(root, _request(asked, environment))
    except (GravelError, OSError):
        return None  # planned in full, it is reported in its turn
    return None if answer is None else answer_plan(answer, root)


def answer_plan(answer: Mapping[str, Json], root: Path) -> dict[str, Json] | None:
    """Return what an answer of `keep_plan` tells, if every result is there."""
    if find_all(root, answer["stages"]) is None:
        return None
    listing: dict[str, Json] = answer["listing"]
    return listing


def save_plan(
    asked: Mapping[str, object],
    root: Path,
    environment: RunEnvironment,
    plan: Plan,
    trace: DependencyTrace,
    listing: dict[str, Json],
) -> bool:
    """Save the listing of a plan of which everything is cached; say whether it was frozen."""
    from gravel.pipeline.scheduler.cached_run import is_own

    quiet = all(each["state"] in ("cached", "not needed", "not run") for each in listing["stages"])
    if not quiet or not is_own(plan) or process_state.began() is None:
        return False
    stages = [
        {name: each[name] for name in ("key", "recipe", "outputs")}
        | {"keep": plan.runs[each["key"]].keep and each["state"] != "not run"}
        for each in listing["stages"]
    ]
    try:
        request = _request(asked, environment)
    except OSError:
        return False
    return save_entry(root, request, trace, {"listing": listing, "stages": stages})


def _request(asked: Mapping[str, object], environment: RunEnvironment) -> dict[str, Json]:
    return process_state.request(
        "plan", {**asked, **hardware_words(environment), **memory_words(environment)}
    )
