"""Digesting a whole cache, and setting aside what is damaged: `gravel cache verify`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gravel.pipeline.store.acceptance import RECIPE_FOLDERS
from gravel.pipeline.store.faults import find_faults

if TYPE_CHECKING:
    from gravel.pipeline.store.folder import CacheFolder
    from gravel.pipeline.store.records import ArtifactRecord


@dataclass
class Verified:
    """What `verify` looked at and what it found: artifact or recipe -> reason."""

    artifacts: int = 0
    recipes: int = 0
    bytes: int = 0
    damaged: dict[str, str] = field(default_factory=dict)


def verify(cache: CacheFolder, progress: Callable[[int, int], None] | None = None) -> Verified:
    """Digest every file of every artifact and recompute its id; see `Cache.verify`."""
    outcome = Verified()
    records: list[ArtifactRecord] = []
    for name in cache.files.names("artifacts", ".json"):
        identity = name.removesuffix(".json")
        record = cache.find(identity)
        if f"artifacts/{name}" in cache.older:
            continue
        outcome.artifacts += 1
        if record is None:
            outcome.damaged[identity] = "its record cannot be read"
        else:
            records.append(record)
    _verify_recipes(cache, outcome)

    total = sum(record.bytes_on_disk for record in records)

    def count(size: int) -> None:
        outcome.bytes += size
        if progress is not None:
            progress(outcome.bytes, total)

    outcome.damaged.update(find_faults(records, count))
    for record in records:
        if record.id in outcome.damaged:
            if cache.find(record.id) is None:
                # A gc removed it while it was read.
                del outcome.damaged[record.id]
            else:
                cache.quarantine(record.id, outcome.damaged[record.id])
    return outcome


def _verify_recipes(cache: CacheFolder, outcome: Verified) -> None:
    """Read every recipe's record, those that are not trusted included, and check its signature."""
    for folder in RECIPE_FOLDERS:
        for name in cache.files.names(folder, ".json"):
            digest = name.removesuffix(".json")
            problem = cache.check_recipe(folder, digest)
            if f"{folder}/{name}" in cache.older:
                continue
            outcome.recipes += 1
            if problem is not None:
                outcome.damaged[digest] = problem
