"""Freeing space: what no kept run reaches, what is over a limit, and what is left of runs and writers."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, field
from typing import Any

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.gc.leftovers import Leaving, leavings
from gravel.pipeline.records.event_log import follow, is_record, read_log
from gravel.pipeline.records.past_runs import still_runs
from gravel.pipeline.records.record import is_newer
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.descriptors import what_is
from gravel.pipeline.store.folder import (
    DATA,
    EVENT_LOG,
    LEASES,
    RUN_RECORD,
    RUNS,
    artifact_path,
    data_path,
    run_path,
)
from gravel.pipeline.store.leases import holder, retire
from gravel.pipeline.store.records import ArtifactRecord, RecipeRecord
from gravel.pipeline.store.selection import artifacts, recipes
from gravel.pipeline.store.sharing import is_own
from gravel.pipeline.store.signatures import RECIPE_FOLDERS

LEASE_SLACK = 600.0
"""Seconds before a run took its lease in which it may have looked at what it will use; clocks differ too."""

PART, PIECE = "piece", "EdgePiece"
"""The stage and the artifact of one of many files."""

QUARANTINE_AGE = 7 * 86400.0
"""Seconds for which what was set aside is kept, so that somebody may look at it."""


@dataclass(frozen=True)
class Policy:
    """What may go.

    Parameters
    ----------
    max_size : bytes that may stay; the longest unused go first, reached or not.
    older_than : seconds; runs that ended before keep nothing and their folders go; what was used since stays.
    quarantine : seconds; what was set aside before goes, and checkpoints that no run went on from.
    unreadable : also let go of what a run with a record that cannot be read may have used.

    """

    max_size: int | None = None
    older_than: float | None = None
    quarantine: float = QUARANTINE_AGE
    unreadable: bool = False


@dataclass
class Collection:
    """What gc found, and whether it removed it. `removed` maps an artifact to why it goes."""

    deleted: bool
    removed: dict[str, str] = field(default_factory=dict)
    records: list[ArtifactRecord] = field(default_factory=list)  # of what goes
    recipes: list[str] = field(default_factory=list)  # recipes that go
    runs: list[str] = field(default_factory=list)  # whose folders go
    files: dict[str, str] = field(default_factory=dict)  # other files and folders that go -> why
    unreadable: dict[str, str] = field(default_factory=dict)  # runs that keep everything -> why
    bytes: int = 0  # that go with the artifacts
    leavings: int = 0  # bytes that go otherwise: of dead writers, quarantine, runs, memos
    kept: int = 0
    kept_bytes: int = 0
    spared: int = 0  # unreached, but leased by a live run, or not yet in the store behind


def collect(cache: Cache, policy: Policy = Policy(), *, delete: bool = False) -> Collection:
    """Find, and with `delete` remove, what is not needed; raises nothing for what is damaged.

    What runs used whose records cannot be read is not known: as long as there are such runs, nothing goes
    because no run reaches it.
    """
    now = time.time()
    outcome = Collection(delete, leavings=cache.remove_leavings(delete=delete, orphans=True))
    known, stored = recipes(cache), artifacts(cache)
    unsent, away = _behind(cache, known)
    since = _spared_since(cache, delete=delete)
    in_use = {record.id for record in stored if record.used >= since} | unsent
    oldest = None if policy.older_than is None else now - policy.older_than
    runs = past_runs(cache, oldest)
    outcome.runs = runs.ended
    outcome.unreadable = {} if policy.unreadable else runs.unreadable
    _choose(stored, _reached(known, runs), in_use, policy.max_size, oldest, outcome)
    outcome.records = [record for record in stored if record.id in outcome.removed]
    outcome.bytes = sum(record.bytes_on_disk for record in outcome.records)
    outcome.kept = len(stored) - len(outcome.records)
    outcome.kept_bytes = sum(record.bytes_on_disk for record in stored) - outcome.bytes
    stay = [record for record in stored if record.id not in outcome.removed or record.id in away]
    there = {record.id for record in stay} | away
    for recipe in known:
        leads_nowhere = recipe.created < since and not there.issuperset(recipe.outputs)
        if outcome.removed.keys() & set(recipe.outputs) or (leads_nowhere and not outcome.unreadable):
            outcome.recipes.append(recipe.digest)
    rest = leavings(cache, stay, now - policy.quarantine)
    outcome.files = {leaving.name: leaving.why for leaving in rest}
    outcome.leavings += sum(map(cache.files.size, [*map(run_path, outcome.runs), *outcome.files]))
    if delete:
        _remove(cache, outcome, rest)
    return outcome


def _choose(
    stored: list[ArtifactRecord],
    reached: set[str],
    in_use: set[str],
    max_size: int | None,
    oldest: float | None,
    outcome: Collection,
) -> None:
    """Say in `outcome` which artifacts go, and why, and how many are spared."""
    for record in stored:
        if record.id in reached:
            continue
        if record.id in in_use:
            outcome.spared += 1
        elif not outcome.unreadable and (oldest is None or record.used < oldest):
            outcome.removed[record.id] = "no kept run reaches it"
    if max_size is None:
        return
    kept = [record for record in stored if record.id not in outcome.removed]
    size = sum(record.bytes_on_disk for record in kept)
    # Pieces first: a graph that was made from them is there without them.
    for record in sorted(kept, key=lambda record: (record.kind != PIECE, record.used)):
        if size <= max_size:
            break
        if record.id not in in_use:
            outcome.removed[record.id] = "the cache is over its size and this was not used for longest"
            size -= record.bytes_on_disk


def _behind(cache: Cache, known: list[RecipeRecord]) -> tuple[set[str], set[str]]:
    """Return the artifacts that the store behind still lacks, and those that are known to lie there."""
    if cache.remote is None or cache.pushes is None:
        return set(), set()
    pending = set(cache.pushes.pending())
    unsent = {output for recipe in known if recipe.digest in pending for output in recipe.outputs}
    return unsent, set(cache.remote.known())


def _spared_since(cache: Cache, *, delete: bool) -> float:
    """Return the time from which on everything that was used may belong to a live run."""
    since = float("inf")
    for folder in (LEASES, DATA):
        for name in cache.files.names(folder, ".lock"):
            who = holder(cache.root / folder / name)
            if who is not None:
                since = min(since, float(who.get("since", 0.0)) - LEASE_SLACK)
            elif delete and folder == LEASES:
                cache.files.remove(f"{LEASES}/{name}")
    return since


def _reached(known: list[RecipeRecord], runs: PastRuns) -> set[str]:
    """Return the artifacts of the recipes and others that runs keep, and all that those were made from."""
    makers: dict[str, RecipeRecord] = {}
    parts: dict[str, list[str]] = {}
    waiting = list(runs.artifacts)
    for recipe in known:
        if recipe.digest in runs.recipes:
            waiting += recipe.outputs
        if recipe.parts.get("stage") == PART:
            for content in (recipe.parts.get("files") or {}).values():
                parts.setdefault(content, []).extend(recipe.outputs)
        for output in recipe.outputs:
            makers.setdefault(output, recipe)  # the first one's inputs tell where it came from
    reached: set[str] = set()
    while waiting:
        identity = waiting.pop()
        if identity in reached:
            continue
        reached.add(identity)
        if (maker := makers.get(identity)) is not None:
            waiting += maker.outputs
            for names in maker.parts.get("inputs", {}).values():
                waiting += names
            # What was read of one of many files stays while a graph of that content does.
            for content in (maker.parts.get("files") or {}).values():
                waiting += parts.get(content, ())
    return reached


def _remove(cache: Cache, outcome: Collection, rest: list[Leaving]) -> None:
    # A run's folder goes last of what names others, and a recipe before what it leads to, so that a killed gc
    # leaves nothing that leads nowhere.
    for digest in outcome.recipes:
        for folder in RECIPE_FOLDERS:
            cache.files.remove(f"{folder}/{digest}.json")
    for record in outcome.records:
        with retire(cache.root, record.path):
            cache.files.remove(artifact_path(record.id))
            cache.files.remove(data_path(record.path.name))
    for run in outcome.runs:
        cache.files.remove(run_path(run))
    for leaving in rest:
        leaving.remove(cache)


@dataclass
class PastRuns:
    """The recipes and artifacts that runs keep, the runs that ended and keep nothing, and the unreadable."""

    recipes: set[str] = field(default_factory=set)
    artifacts: set[str] = field(default_factory=set)
    ended: list[str] = field(default_factory=list)
    unreadable: dict[str, str] = field(default_factory=dict)  # run -> what is wrong with its record


def past_runs(cache: Cache, oldest: float | None) -> PastRuns:
    """Read the record of every run; those last written before `oldest` keep nothing, unless they go on."""
    found = PastRuns()
    for run in cache.files.names(RUNS):
        folder = cache.root / run_path(run)
        if not os.path.isdir(folder):  # noqa: PTH112
            continue
        record, written, problem = _read(cache, run)
        old = oldest is not None and written < oldest and (record is None or not still_runs(record))
        if old and is_own(cache.root, folder):  # in a shared cache only who made it can remove it
            found.ended.append(run)
        elif problem is not None:
            found.unreadable[run] = problem
        elif record is not None:
            found.recipes.update(each for each in record.get("recipes", ()) if isinstance(each, str))
            found.artifacts.update(each for each in record.get("artifacts", ()) if isinstance(each, str))
    return found


def _read(cache: Cache, run: str) -> tuple[dict[str, Any] | None, float, str | None]:
    """Return a run's record, when it was written, and what is wrong with it.

    Without one, as of a run that died at its start, nothing is wrong and nothing kept.
    """
    path = cache.root / run_path(run, RUN_RECORD)
    kind = what_is(path)
    if kind is not None:
        return None, path.lstat().st_mtime, f"{path} is {kind}"
    try:
        found = cache.files.read(run_path(run, RUN_RECORD))
    except GravelError as error:
        return None, path.lstat().st_mtime, str(error)
    if found is None:
        return None, path.parent.stat().st_mtime, None
    try:
        record = json.loads(found[0])
    except ValueError:
        return None, found[1], f"{path} is cut off or damaged"
    if not isinstance(record, dict) or not all(
        isinstance(record.get(name, []), list) for name in ("recipes", "artifacts")
    ):
        return None, found[1], f"{path} is not the record of a run"
    if is_newer(record):
        return None, found[1], f"{path} is of format {record['format']}, which a newer gravel wrote"
    if record.get("state") == "running" and is_record(record):
        unread = follow(record, read_log(path.parent))
        if unread:
            return None, found[1], f"{unread} lines of {path.with_name(EVENT_LOG)} cannot be read"
    return record, found[1], None
