"""Where an artifact comes from: who made it from what, back to the files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gravel.pipeline.store.listing import recipes

if TYPE_CHECKING:
    from gravel.pipeline.store.folder import CacheFolder
    from gravel.pipeline.store.records import ArtifactRecord, RecipeRecord


@dataclass
class Origin:
    """An artifact, the recipe that made it first, and the same of each input by slot.

    `record` is None for what is not in the cache any more, or was never kept. `again` marks an artifact
    whose inputs are shown elsewhere in the same tree.
    """

    id: str
    record: ArtifactRecord | None
    recipe: RecipeRecord | None
    inputs: list[tuple[str, Origin]] = field(default_factory=list)
    again: bool = False


class History:
    """The recipes of a cache, by what they made."""

    def __init__(self, cache: CacheFolder) -> None:
        self._cache = cache
        self._recipes = recipes(cache)
        self._makers: dict[str, RecipeRecord] = {}
        for recipe in self._recipes:
            for position, output in enumerate(recipe.outputs):
                self._makers.setdefault(output, recipe)
                self._makers.setdefault(f"recipe:{recipe.digest}:{position}", recipe)

    def recipes_like(self, prefix: str) -> list[RecipeRecord]:
        """Return the recipes whose digests start so."""
        return [recipe for recipe in self._recipes if recipe.digest.startswith(prefix)]

    def origin(self, artifact_id: str, shown: set[str] | None = None) -> Origin:
        """Return the tree of an artifact's makers and inputs."""
        shown = set() if shown is None else shown
        recipe = self._makers.get(artifact_id)
        origin = Origin(artifact_id, self._cache.find(artifact_id), recipe, again=artifact_id in shown)
        shown.add(artifact_id)
        if recipe is not None and not origin.again:
            slots: Mapping[str, Any] = recipe.parts.get("inputs", {})
            for slot, ids in slots.items():
                origin.inputs += [(slot, self.origin(each, shown)) for each in ids]
        return origin
