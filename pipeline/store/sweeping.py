"""What dead writers left: data without a record, temporary files, checkpoints of what is finished."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gravel.pipeline.store.acceptance import RECIPE_FOLDERS
from gravel.pipeline.store.checkpoints import FOLDER
from gravel.pipeline.store.leases import holder
from gravel.pipeline.store.recipe_locks import sweep_locks
from gravel.pipeline.store.selection import artifacts

if TYPE_CHECKING:
    from gravel.pipeline.store.folder import CacheFolder

TEMPORARY_AGE = 3600.0
"""Seconds after which a small file that is still temporary has no living writer."""

TEMPORARY = (*RECIPE_FOLDERS, "artifacts", "data", "leases", "digests", "resolved", FOLDER)
"""Folders in which files are written beside their name."""


def sweep(cache: CacheFolder, *, delete: bool = True, orphans: bool = False) -> int:
    """Remove what dead writers left; returns the bytes. `orphans` includes data whose record was damaged."""
    if delete:
        for folder in TEMPORARY:
            for name in cache.files.leavings(folder, TEMPORARY_AGE):
                cache.files.remove(name)
        sweep_locks(cache.root)
        for recipe in cache.files.names(FOLDER):
            if any((cache.root / folder / f"{recipe}.json").exists() for folder in RECIPE_FOLDERS):
                cache.files.remove(f"{FOLDER}/{recipe}")
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
