"""What is left beside the artifacts and of no use any more: locks, memos, quarantine, compiled kernels."""

from __future__ import annotations

import fcntl
import json
import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from gravel.kernels.compiled.folder import UNUSED_SECONDS, Collection, Folder, folder_path
from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.checkpoints import FOLDER
from gravel.pipeline.store.descriptors import what_is
from gravel.pipeline.store.folder import DIGESTS, EXPORTED, LOCK_FOLDERS, QUARANTINE, RESOLVED
from gravel.pipeline.store.records import ArtifactRecord, BrokenRecord, unseal

UNUSED_LOCK_AGE = 60.0
"""Seconds for which a lock that nobody holds is left: somebody may have just made it, to take it."""


@dataclass(frozen=True)
class Leaving:
    """A file or folder of the cache that may go, and why."""

    name: str
    why: str
    is_lock: bool = False

    def remove(self, cache: Cache) -> None:
        """Remove it; a lock that somebody took meanwhile stays."""
        if self.is_lock:
            _is_free(cache.root / self.name, unlink=True)
        elif self.name in cache.older:
            cache.drop_older(self.name)
        else:
            cache.files.remove(self.name)


def leavings(cache: Cache, stored: Sequence[ArtifactRecord], oldest_quarantine: float) -> list[Leaving]:
    """Find what may go beside artifacts; `stored` are the artifacts that stay."""
    return [
        *(Leaving(name, "it is of an older format") for name in sorted(cache.older)),
        *_locks(cache),
        *_of_files(cache),
        *_resolved(cache, stored),
        *_quarantine(cache, oldest_quarantine),
        *_unfinished(cache, oldest_quarantine),
    ]


def _locks(cache: Cache) -> Iterator[Leaving]:
    for folder in LOCK_FOLDERS:
        for name in cache.files.names(folder, ".lock"):
            path = cache.root / folder / name
            if what_is(path) is not None:
                yield Leaving(f"{folder}/{name}", "it is no lock file")
            elif _is_free(path):
                yield Leaving(f"{folder}/{name}", "nobody holds this lock", is_lock=True)


def _is_free(path: Path, *, unlink: bool = False) -> bool:
    """Say whether nobody holds a lock file or has just made it; `unlink` removes one that nobody holds."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if unlink:
            # Whoever waits for it meanwhile finds it gone when it gets it, and takes a new one.
            os.unlink(path)  # noqa: PTH108
        return os.fstat(handle).st_mtime < time.time() - UNUSED_LOCK_AGE
    except OSError:
        return False
    finally:
        os.close(handle)


def _of_files(cache: Cache) -> Iterator[Leaving]:
    """Find the memos of digests, and of results that were written, whose files are gone."""
    for folder, what in ((DIGESTS, "digest"), (EXPORTED, "export")):
        for name, text in _files(cache, folder):
            try:
                path = json.loads(text).get("path")
            except (ValueError, AttributeError):
                yield Leaving(name, f"the remembered {what} cannot be read")
            else:
                if isinstance(path, str) and not os.path.lexists(path):
                    yield Leaving(name, f"{path} is gone")


def _resolved(cache: Cache, stored: Sequence[ArtifactRecord]) -> Iterator[Leaving]:
    """Find the memos of source ids that were looked up in artifacts that are gone."""
    from gravel.pipeline.plan.recipes import resolved_name

    there = {record.id for record in stored}
    for name, text in _files(cache, RESOLVED):
        try:
            memo = unseal(text)
            artifacts, ids = list(memo["artifacts"]), list(memo["ids"])
        except (BrokenRecord, KeyError, TypeError, ValueError):
            yield Leaving(name, "the remembered ids cannot be read")
        else:
            if not there.issuperset(artifacts) or name != resolved_name(artifacts, ids):
                yield Leaving(name, "the artifact that its ids were looked up in is gone")


def _files(cache: Cache, folder: str) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the contents of each file of a folder that can be read."""
    for name in cache.files.names(folder, ".json"):
        with suppress(GravelError):
            if (found := cache.files.read(f"{folder}/{name}")) is not None:
                yield f"{folder}/{name}", found[0]


def _quarantine(cache: Cache, oldest: float) -> Iterator[Leaving]:
    for name in cache.files.names(QUARANTINE):
        stamp = re.search(r"-(\d{18,20})$", name)
        set_aside = int(stamp[1]) / 1e9 if stamp else (cache.root / QUARANTINE / name).lstat().st_mtime
        if set_aside <= oldest:
            yield Leaving(f"{QUARANTINE}/{name}", "it was set aside long enough ago")


def _unfinished(cache: Cache, oldest: float) -> Iterator[Leaving]:
    for name in cache.files.names(FOLDER):
        with suppress(FileNotFoundError):
            if (cache.root / FOLDER / name).lstat().st_mtime <= oldest:
                yield Leaving(f"{FOLDER}/{name}", "no run has gone on from this checkpoint for long enough")


def collect_compiled(*, delete: bool, older_than: float | None) -> Collection:
    """Find, and with `delete` remove, compiled kernels unused for `older_than` seconds, or else for 30 days.

    Finds nothing where there is no such folder, or where others could have written what is in it.
    """
    try:
        folder = Folder(folder_path(), create=False)
    except (OSError, RuntimeError):
        return Collection()
    with closing(folder):
        return folder.collect(unused=UNUSED_SECONDS if older_than is None else older_than, delete=delete)
