"""Copying a whole recipe, or the folder of a run, to and from an object store."""

from __future__ import annotations

import errno
import json
import os
import uuid
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.store.acceptance import RECIPES
from gravel.pipeline.store.artifact_transfer import upload_artifact
from gravel.pipeline.store.descriptors import create
from gravel.pipeline.store.files import storage_errors
from gravel.pipeline.store.objects import FaultySource, Folder, Source, Target, get_if_sound
from gravel.pipeline.store.obstacles import make_folder
from gravel.pipeline.store.opening import MAX_LOG_BYTES, MAX_RECORD_BYTES, stated
from gravel.pipeline.store.selection import check_name
from gravel.pipeline.store.signing import Signer

if TYPE_CHECKING:
    from gravel.pipeline.store.folder import CacheFolder

NAMES = frozenset(
    {"run.json", "events.jsonl", "report.html", "report.json", "report-static.html", "profile.json"}
)
"""Of the files of a run; below `logs/` each stage run may have one. No other is copied."""


def upload_recipe(cache: CacheFolder, digest: str, target: Target, is_bad: Callable[[str, str], bool]) -> int:
    """Copy a recipe and its outputs to an object store, the recipe last; returns the bytes of data sent."""
    found = cache.files.read(f"recipes/{digest}.json")
    record = cache.look_up_here(digest)
    if found is None or record is None:
        return 0
    sent = 0
    for output in record.outputs:
        if not cache.is_here(output):
            continue  # it lies there, and only there
        sent += upload_artifact(cache, output, target, is_bad=is_bad)
    name = f"{RECIPES}/{digest}.json"
    target.put(name, Signer(cache).signed(found[0], get_if_sound(target, name)))
    return sent


def upload_run(cache: CacheFolder, run: str, target: Target) -> None:
    """Copy a run's folder to an object store, its record last; raises `FaultySource` for what is no file."""
    source = Folder(cache.root)
    for name in _names_of(source, run):
        data = _data(source, f"runs/{run}/{name}")
        if data is not None:
            target.put(f"runs/{run}/{name}", data)


def download_run(cache: CacheFolder, run: str, source: Source) -> bool:
    """Copy a run's folder here, whole or not at all; says whether it was missing.

    Raises `FaultySource` for what is no file there, or for what is in the way here.
    """
    target = f"runs/{check_name(run)}"
    if stated(cache.root, f"{target}/run.json") is not None:
        return False
    aside = f"scratch/{uuid.uuid4().hex}"  # what is left there goes with the next run
    with storage_errors(cache.root):
        try:
            for name in _names_of(source, run):
                data = _data(source, f"{target}/{name}")
                if data is not None:
                    make_folder(cache.root, f"{aside}/{name}".rpartition("/")[0])
                    with os.fdopen(create(cache.root, f"{aside}/{name}"), "wb") as file:
                        file.write(data)
            make_folder(cache.root, "runs")
            _date(cache.root / aside / "run.json")
            (cache.root / aside).rename(cache.root / target)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise FaultySource(f"{cache.root / target} is in the way of the run of that name") from error
            raise GravelError(f"the record of run {run} cannot be copied: {error}") from error
        finally:
            cache.files.remove(aside)
    return True


def _names_of(source: Source, run: str) -> list[str]:
    """List what a run has of what runs have, its record last."""
    logs = {f"logs/{name}" for name in source.names(f"runs/{run}/logs") if name.endswith(".log")}
    here = {name for name in source.names(f"runs/{run}") if name in NAMES}
    for name in sorted(logs):
        check_name(name.removeprefix("logs/"))
    return [*sorted(logs | here - {"run.json"}), "run.json"]


def _data(source: Source, name: str) -> bytes | None:
    is_record = name.endswith("/run.json")
    pieces = source.read(name, MAX_RECORD_BYTES if is_record else MAX_LOG_BYTES)
    return None if pieces is None else b"".join(pieces)


def _date(path: Path) -> None:
    """Give a run's record the time of its end, by which runs are ordered."""
    try:
        ended = datetime.fromisoformat(json.loads(path.read_bytes())["ended"]).timestamp()
    except (OSError, KeyError, TypeError, ValueError, OverflowError, RecursionError):
        return
    os.utime(path, (ended, ended))
