"""What is in the cache, and who made it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gravel.pipeline.store.acceptance import RECIPES, UNTRUSTED

if TYPE_CHECKING:
    from gravel.pipeline.store.folder import CacheFolder
    from gravel.pipeline.store.records import ArtifactRecord, RecipeRecord


@dataclass(frozen=True)
class Entry:
    """An artifact and the recipe that made it first, if that is still known."""

    record: ArtifactRecord
    recipe: RecipeRecord | None


def recipes(cache: CacheFolder) -> list[RecipeRecord]:
    """Return every recipe's record, the oldest first, then those of others that are not trusted.

    Damaged ones are set aside.
    """
    trusted = cache.recipe_records(RECIPES)
    known = {record.digest for record in trusted}
    return trusted + [record for record in cache.recipe_records(UNTRUSTED) if record.digest not in known]


def artifacts(cache: CacheFolder) -> list[ArtifactRecord]:
    """Return every artifact's record, the oldest first; damaged ones are set aside."""
    names = cache.files.names("artifacts", ".json")
    found = [cache.find(name.removesuffix(".json")) for name in names]
    return sorted((record for record in found if record is not None), key=lambda record: record.created)


def entries(cache: CacheFolder) -> list[Entry]:
    """Return every artifact with its maker, the oldest first."""
    makers: dict[str, RecipeRecord] = {}
    for recipe in recipes(cache):
        for output in recipe.outputs:
            makers.setdefault(output, recipe)
    return [Entry(record, makers.get(record.id)) for record in artifacts(cache)]
