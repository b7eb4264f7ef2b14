"""What the runs on record keep, which of them are past, and which records cannot be read."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.records.checking import is_record
from gravel.pipeline.records.event_log import LOG, follow, read_log
from gravel.pipeline.records.reading import still_runs
from gravel.pipeline.records.record import is_newer
from gravel.pipeline.store.obstacles import what_is
from gravel.pipeline.store.sharing import is_own

if TYPE_CHECKING:
    from gravel.pipeline.store.cache import Cache


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
    for run in cache.files.names("runs"):
        folder = cache.root / "runs" / run
        if not os.path.isdir(folder):  # noqa: PTH112
            continue
        record, written, problem = _read(cache, run)
        old = oldest is not None and written < oldest
        if record is not None and old and still_runs(record):
            old = False
        if old and not is_own(cache.root, folder):
            old = False  # in a shared cache only who made it can remove it
        if old:
            found.ended.append(run)
        elif problem is not None:
            found.unreadable[run] = problem
        elif record is not None:
            found.recipes |= set(_texts(record.get("recipes", ())))
            found.artifacts |= set(_texts(record.get("artifacts", ())))
    return found


def _read(cache: Cache, run: str) -> tuple[dict[str, Any] | None, float, str | None]:
    """Return a run's record, when it was written, and what is wrong with it.

    Without one, as of a run that died at its start, nothing is wrong and nothing kept.
    """
    path = cache.root / "runs" / run / "run.json"
    kind = what_is(path)
    if kind is not None:
        return None, path.lstat().st_mtime, f"{path} is {kind}"
    try:
        found = cache.files.read(f"runs/{run}/run.json")
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
            return None, found[1], f"{unread} lines of {path.with_name(LOG)} cannot be read"
    return record, found[1], None


def _texts(values: Iterable[object]) -> list[str]:
    return [value for value in values if isinstance(value, str)]
