"""Freeing space: what no kept run reaches, what dead writers left, what is over a limit."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.store.acceptance import RECIPE_FOLDERS
from pipeline.store.damage import retire
from pipeline.store.leases import holder
from pipeline.store.listing import artifacts, recipes

if TYPE_CHECKING:
    from pipeline.store.cache import Cache
    from pipeline.store.records import ArtifactRecord, RecipeRecord

LEASE_SLACK = 600.0
"""Seconds before a run took its lease in which it may have looked at what it will use; clocks differ too."""

TEMPORARY_AGE = 3600.0
"""Seconds after which a small file that is still temporary has no living writer."""


@dataclass
class Collection:
    """What gc found, and whether it removed it. `removed` maps an artifact to why it goes."""

    deleted: bool
    removed: dict[str, str] = field(default_factory=dict)
    records: list[ArtifactRecord] = field(default_factory=list)  # of what goes
    recipes: list[str] = field(default_factory=list)  # recipes that go
    bytes: int = 0  # that go with the artifacts
    leavings: int = 0  # bytes of dead writers and of quarantine that go
    kept: int = 0
    kept_bytes: int = 0
    spared: int = 0  # unreached, but leased by a live run, or not yet in the store behind


def sweep(cache: Cache, *, delete: bool = True, orphans: bool = False) -> int:
    """Remove what dead writers left; returns the bytes. `orphans` includes data whose record was damaged."""
    if delete:
        for folder in (*RECIPE_FOLDERS, "artifacts", "data", "leases", "digests", "frozen"):
            for name in cache.files.leavings(folder, TEMPORARY_AGE):
                cache.files.remove(name)
    # Folders are listed before locks and locks before records, since writers take these steps in reverse.
    folders = {name for name in cache.files.names("data") if not name.endswith(".lock")}
    locked = {name.removesuffix(".lock") for name in cache.files.names("data", ".lock")}
    dead = {name for name in locked if holder(cache.root / "data" / f"{name}.lock") is None}
    suspects = dead | (folders - locked if orphans else set())
    if not suspects:
        return 0
    # A writer may have died after its record was made: then only the lock is a leaving.
    published = {record.path.name for record in artifacts(cache)}
    freed = 0
    for name in sorted(suspects):
        if name not in published:
            freed += size_of(cache.root / "data" / name)
            if delete:
                cache.files.remove(f"data/{name}")
        if delete and name in dead:
            cache.files.remove(f"data/{name}.lock")
    return freed


def size_of(folder: Path) -> int:
    """Return the bytes of all files below a folder; 0 if there is none."""
    total = 0
    for path in folder.rglob("*"):
        try:
            if path.is_file():
                total += path.stat().st_size
        except OSError:
            continue
    return total


def collect(cache: Cache, *, delete: bool, max_size: int | None, older_than: float | None) -> Collection:
    """Find, and with `delete` remove, what is not needed; see `Cache.gc`."""
    now = time.time()
    outcome = Collection(deleted=delete)
    outcome.leavings = sweep(cache, delete=delete, orphans=True) + size_of(cache.root / "quarantine")
    known = recipes(cache)
    stored = artifacts(cache)
    unsent, away = _behind(cache, known)
    since = _spared_since(cache)
    oldest = None if older_than is None else now - older_than
    reached = _reached(known, *_roots(cache, oldest))

    kept: list[ArtifactRecord] = []
    for record in stored:
        if record.id in reached:
            kept.append(record)
        elif record.used >= since or record.id in unsent:
            outcome.spared += 1
            kept.append(record)
        elif oldest is not None and record.used >= oldest:
            kept.append(record)
        else:
            outcome.removed[record.id] = "no kept run reaches it"
    if max_size is not None:
        size = sum(record.bytes_on_disk for record in kept)
        for record in sorted(kept, key=lambda record: record.used):
            if size <= max_size:
                break
            if record.used < since and record.id not in unsent:
                outcome.removed[record.id] = "the cache is over its size and this was not used for longest"
                size -= record.bytes_on_disk

    outcome.records = [record for record in stored if record.id in outcome.removed]
    outcome.bytes = sum(record.bytes_on_disk for record in outcome.records)
    outcome.kept = len(stored) - len(outcome.records)
    outcome.kept_bytes = sum(record.bytes_on_disk for record in stored) - outcome.bytes
    there = {record.id for record in stored} - outcome.removed.keys() | away
    outcome.recipes = [recipe.digest for recipe in known if _leads_nowhere(recipe, there, since)]
    if delete:
        _remove(cache, outcome)
    return outcome


def _behind(cache: Cache, known: list[RecipeRecord]) -> tuple[set[str], set[str]]:
    """Return the artifacts that the store behind still lacks, and those that are known to lie there."""
    if cache.remote is None:
        return set(), set()
    pending = set(cache.remote.pending())
    unsent = {output for recipe in known if recipe.digest in pending for output in recipe.outputs}
    return unsent, set(cache.remote.known())


def _leads_nowhere(recipe: RecipeRecord, there: set[str], since: float) -> bool:
    return recipe.created < since and any(output not in there for output in recipe.outputs)


def _spared_since(cache: Cache) -> float:
    """Return the time from which on everything that was used may belong to a live run."""
    folder = cache.root / "leases"
    since = float("inf")
    for name in cache.files.names("leases", ".lock"):
        who = holder(folder / name)
        if who is None:
            (folder / name).unlink(missing_ok=True)
        else:
            since = min(since, float(who.get("since", 0.0)) - LEASE_SLACK)
    for name in cache.files.names("data", ".lock"):
        who = holder(cache.root / "data" / name)
        if who is not None:
            since = min(since, float(who.get("since", 0.0)) - LEASE_SLACK)
    return since


def _roots(cache: Cache, oldest: float | None) -> tuple[set[str], set[str]]:
    """Return the recipes and artifacts that kept runs name."""
    digests: set[str] = set()
    ids: set[str] = set()
    for folder in cache.files.names("runs"):
        found = cache.files.read(f"runs/{folder}/run.json")
        if found is None or (oldest is not None and found[1] < oldest):
            continue
        try:
            run = json.loads(found[0])
            digests |= set(_texts(run.get("recipes", ())))
            ids |= set(_texts(run.get("artifacts", ())))
        except (ValueError, AttributeError):
            cache.say(f"the record of run {folder} cannot be read; what only it used is not kept")
    return digests, ids


def _texts(values: Iterable[object]) -> list[str]:
    return [value for value in values if isinstance(value, str)]


def _reached(known: list[RecipeRecord], digests: set[str], ids: set[str]) -> set[str]:
    """Return the artifacts of these recipes, and all that those were made from."""
    by_digest = {recipe.digest: recipe for recipe in known}
    makers: dict[str, list[RecipeRecord]] = {}
    for recipe in known:
        for output in recipe.outputs:
            makers.setdefault(output, []).append(recipe)
    reached: set[str] = set()
    waiting = list(ids)
    for digest in digests & by_digest.keys():
        waiting += by_digest[digest].outputs
    while waiting:
        identity = waiting.pop()
        if identity in reached:
            continue
        reached.add(identity)
        # Every artifact is made by some recipe first; that one's inputs tell where it came from.
        for recipe in makers.get(identity, [])[:1]:
            waiting += [name for names in recipe.parts.get("inputs", {}).values() for name in names]
            waiting += recipe.outputs
    return reached


def _remove(cache: Cache, outcome: Collection) -> None:
    # A recipe goes before what it leads to, so that a killed gc leaves no recipe that leads nowhere.
    for digest in outcome.recipes:
        for folder in RECIPE_FOLDERS:
            cache.files.remove(f"{folder}/{digest}.json")
    for record in outcome.records:
        with retire(cache, record.path):
            cache.files.remove(f"artifacts/{record.id}.json")
            cache.files.remove(f"data/{record.path.name}")
    cache.files.remove("quarantine")
