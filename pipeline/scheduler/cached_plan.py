"""`gravel plan` of a frozen plan."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.plan.cache import environment as surroundings
from gravel.pipeline.plan.cache.entries import freeze, thaw
from gravel.pipeline.plan.cache.lookup import find_all
from gravel.pipeline.scheduler.machine import decide
from gravel.pipeline.scheduler.machine_facts import hardware_words, memory_words
from gravel.pipeline.scheduler.options import RunOptions
from gravel.pipeline.store.location import find_cache

if TYPE_CHECKING:
    from gravel.pipeline.core.trace import Witness
    from gravel.pipeline.plan.model import Plan
    from gravel.pipeline.scheduler.machine import Setting
    from gravel.stages.artifacts import Json

__all__ = ["keep_plan", "plan_frozen"]


def plan_frozen(
    asked: Mapping[str, object], cache_path: str | None, machine: Mapping[str, Any]
) -> dict[str, Json] | None:
    """Return what `gravel plan` tells if it is known and everything is still cached, else None.

    `asked` are the arguments of `load_plan`, `cache_path` and `machine` the other options.
    """
    if surroundings.began() is None:
        return None
    try:
        root = find_cache(cache_path)
        if not (root / "frozen").is_dir():
            return None
        setting = decide(RunOptions(cache_root=root, **machine))
        answer = thaw(root, _request(asked, setting))
    except (GravelError, OSError):
        return None  # planned in full, it is told in its turn
    return None if answer is None else answer_plan(answer, root)


def answer_plan(answer: Mapping[str, Json], root: Path) -> dict[str, Json] | None:
    """Return what an answer of `keep_plan` tells, if every result is there."""
    if find_all(root, answer["stages"]) is None:
        return None
    listing: dict[str, Json] = answer["listing"]
    return listing


def keep_plan(
    asked: Mapping[str, object],
    root: Path,
    setting: Setting,
    plan: Plan,
    witness: Witness,
    listing: dict[str, Json],
) -> bool:
    """Freeze what was told of a plan of which everything is cached; say whether it was frozen."""
    from gravel.pipeline.scheduler.cached_run import is_own

    quiet = all(each["state"] in ("cached", "not needed", "not run") for each in listing["stages"])
    if not quiet or not is_own(plan) or surroundings.began() is None:
        return False
    stages = [
        {name: each[name] for name in ("key", "recipe", "outputs")}
        | {"keep": plan.runs[each["key"]].keep and each["state"] != "not run"}
        for each in listing["stages"]
    ]
    try:
        request = _request(asked, setting)
    except OSError:
        return False
    return freeze(root, request, witness, {"listing": listing, "stages": stages})


def _request(asked: Mapping[str, object], setting: Setting) -> dict[str, Json]:
    return surroundings.request("plan", {**asked, **hardware_words(setting), **memory_words(setting)})
