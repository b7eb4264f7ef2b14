"""Copying a whole recipe, or the folder of a run, to and from an object store."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.store.acceptance import RECIPES
from gravel.pipeline.store.artifact_transfer import check_name, for_each, upload_artifact
from gravel.pipeline.store.files import storage_errors
from gravel.pipeline.store.objects import Source, Target
from gravel.pipeline.store.signing import Signer

if TYPE_CHECKING:
    from gravel.pipeline.store.folder import CacheFolder


def upload_recipe(cache: CacheFolder, digest: str, target: Target, is_bad: Callable[[str, str], bool]) -> int:
    """Copy a recipe and its outputs to an object store, the recipe last; returns the bytes of data sent."""
    found = cache.files.read(f"recipes/{digest}.json")
    record = cache.look_up_here(digest)
    if found is None or record is None or record.not_written is not None:
        return 0
    sent = 0
    for output in record.outputs:
        if not cache.is_here(output):
            continue  # it lies there, and only there
        sent += upload_artifact(cache, output, target, is_bad=is_bad)
    target.put(f"{RECIPES}/{digest}.json", Signer(cache).signed(found[0]))
    return sent


def upload_run(cache: CacheFolder, run: str, target: Target) -> None:
    """Copy a run's folder to an object store, its record last."""
    folder = cache.root / "runs" / run
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "run.json"]
    names = [path.relative_to(folder).as_posix() for path in files]
    for_each(lambda name: target.put(f"runs/{run}/{name}", (folder / name).read_bytes()), names)
    target.put(f"runs/{run}/run.json", (folder / "run.json").read_bytes())


def download_run(cache: CacheFolder, run: str, source: Source) -> bool:
    """Copy a run's folder here, whole or not at all; says whether it was missing."""
    check_name(run)
    target = cache.root / "runs" / run
    if (target / "run.json").exists():
        return False
    aside = cache.root / "scratch" / uuid.uuid4().hex  # what is left there goes with the next run
    with storage_errors(cache.root):
        try:
            for name in source.below(f"runs/{run}"):
                for part in name.split("/"):
                    check_name(part)
                data = source.get(f"runs/{run}/{name}")
                if data is not None:
                    (aside / name).parent.mkdir(parents=True, exist_ok=True)
                    (aside / name).write_bytes(data)
            target.parent.mkdir(parents=True, exist_ok=True)
            _date(aside / "run.json")
            aside.rename(target)
        except OSError as error:
            raise GravelError(f"the record of run {run} cannot be copied: {error}") from error
        finally:
            rmtree(aside, ignore_errors=True)
    return True


def _date(path: Path) -> None:
    """Give a run's record the time of its end, by which runs are ordered."""
    try:
        ended = datetime.fromisoformat(json.loads(path.read_bytes())["ended"]).timestamp()
    except (KeyError, TypeError, ValueError):
        return
    os.utime(path, (ended, ended))
