"""Why a run is not cached: what changed since the last run of the same name, or the most similar one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from gravel.pipeline.core.hashing import flat_parts
from gravel.pipeline.plan.model import StageRun
from gravel.pipeline.workflow.scalars import to_text
from gravel.stages.artifacts import Json

if TYPE_CHECKING:
    from gravel.pipeline.core.hashing import Recipe
    from gravel.pipeline.store.cache import Cache
    from gravel.pipeline.store.records import RecipeRecord

__all__ = ["History", "show_value"]

MAX_TEXT = 60  # characters of an old or new value
MAX_PAST = 200  # earlier runs of a stage that are compared, the newest first


class History:
    """What was computed before, read from the cache when it is first asked."""

    def __init__(self, cache: Cache, workflow: str) -> None:
        self._cache = cache
        self._workflow = workflow

    @cached_property
    def _by_stage(self) -> dict[str, list[RecipeRecord]]:
        from gravel.pipeline.store.listing import recipes

        found: dict[str, list[RecipeRecord]] = {}
        for record in reversed(recipes(self._cache)):
            found.setdefault(record.parts.get("stage", ""), []).append(record)
        return found

    def explain(self, run: StageRun, recipe: Recipe) -> tuple[tuple[str, ...], bool]:
        """Return the reasons, as old value -> new value, and whether only the hardware differs."""
        past = self._by_stage.get(run.stage.name, [])
        same = [
            record
            for record in past
            if record.provenance.get("workflow") == self._workflow
            and record.provenance.get("key") in (run.key, *run.aliases)
        ]
        best: tuple[str, ...] | None = None
        only_hardware = False
        for record in same[:1] or past[:MAX_PAST]:
            changes = dict(_changes(record.parts, recipe.parts))
            if not changes:
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


def _changes(old: dict[str, Json], new: dict[str, Json]) -> Iterator[tuple[str, str]]:
    before, after = dict(flat_parts(old)), dict(flat_parts(new))
    for name in dict.fromkeys([*before, *after]):
        was, now = before.get(name), after.get(name)
        # A parameter that is not given and one that this form of it lacks are the same to a reader.
        if was != now:
            yield name, f"{name}: {show_value(name, was)} -> {show_value(name, now)}"


def show_value(name: str, value: Json) -> str:
    """Write a part of a recipe, under its name of `flat_parts`, in a few words."""
    if value is None:
        return "none"
    if name == "stage code" or name.startswith(("input ", "file ")):
        return str(value).removeprefix("recipe:")[:12]
    if name.startswith("inputs "):
        return f"{len(value)} artifacts"
    text = to_text(value)
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 3]}..."
