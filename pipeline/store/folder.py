"""The records in one cache folder: what recipes led to, where artifacts lie, and whether they are whole.

Layout below the root: `recipes/<digest>.json`, `artifacts/<id>.json`, `data/<uuid>/` (one Zarr group each),
`data/<uuid>.lock` (its writer lives), `locks/`, `leases/`, `quarantine/`, `untrusted/` (recipes of others,
`gravel.pipeline.store.signatures`), `downloads/` (`gravel.pipeline.datasets.downloads`), `runs/<run>/`,
`unfinished/` (`gravel.pipeline.store.checkpoints`), and memos that are safe to delete: `digests/`,
`resolved/`, `exported/`. Other rooms name them by the constants and functions here.

A record is created atomically and after everything that it points to, so whatever dies, a record never leads
to half an artifact.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from gravel.pipeline.core.errors import DamagedArtifact, GravelError
from gravel.pipeline.store.failures import ReadOnly
from gravel.pipeline.store.files import Draft, LocalFiles
from gravel.pipeline.store.leases import lock, retire
from gravel.pipeline.store.opening import find_missing
from gravel.pipeline.store.records import (
    RECORD_FORMAT,
    ArtifactRecord,
    BrokenRecord,
    OlderRecord,
    RecipeRecord,
    seal,
    unseal,
)
from gravel.pipeline.store.signatures import RECIPES, UNTRUSTED, Acceptance, check_signature

T = TypeVar("T")

RUNS, ARTIFACTS, DATA, LEASES = "runs", "artifacts", "data", "leases"
DIGESTS, RESOLVED, EXPORTED = "digests", "resolved", "exported"
SCRATCH, SCHEDULES, DOWNLOADS, QUARANTINE = "scratch", "schedules", "downloads", "quarantine"
LOCK_FOLDERS = ("locks", f"{DOWNLOADS}/parts")

RUN_RECORD, EVENT_LOG, PROFILE = "run.json", "events.jsonl", "profile.json"
PAGE, STATIC_PAGE, PAGE_DATA = "report.html", "report-static.html", "report.json"
LOGS, DASK_LOG = "logs", "dask.log"
"""Files in the folder of a run; `LOGS` is a folder of them."""


def run_path(run: str, *names: str) -> str:
    """Return the folder of a run, or a file in it."""
    return "/".join((RUNS, run, *names))


def scratch_path(run: str, *names: str) -> str:
    """Return the folder of what a run keeps for its own time only, or a name in it."""
    return "/".join((SCRATCH, run, *names))


def cache_of_scratch(scratch: Path) -> Path:
    """Return the root of the cache that the scratch folder of an attempt lies in."""
    return scratch.parents[2]


def artifact_path(artifact_id: str) -> str:
    """Return the record of an artifact."""
    return f"{ARTIFACTS}/{artifact_id}.json"


def data_path(name: str) -> str:
    """Return the folder that holds the arrays of an artifact."""
    return f"{DATA}/{name}"


def resolved_path(name: str) -> str:
    """Return the memo of source ids that were looked up in an artifact."""
    return f"{RESOLVED}/{name}.json"


def exported_path(name: str) -> str:
    """Return the memo of the results that were written to a file."""
    return f"{EXPORTED}/{name}.json"


def say_on_stderr(message: str) -> None:
    """Print a line where it does not mix with output."""
    print(message, file=sys.stderr)


class CacheFolder:
    """Reads, checks and sets aside the records of one folder. Knows no other store and opens no array.

    Parameters
    ----------
    root : the folder; it is created when something is first written.
    say : gets, in a sentence, each damage that was found and what follows from it.
    trust_remote : recipes of others count whoever signed them.

    """

    def __init__(
        self, root: Path, say: Callable[[str], None] = say_on_stderr, *, trust_remote: bool = False
    ) -> None:
        self.root = Path(root)
        self.say = say
        self.files = LocalFiles(self.root, lambda message: self.say(message), self._set_aside)
        self.acceptance = Acceptance(trust_remote=trust_remote)
        self.older: set[str] = set()  # names of records of older formats, which are not read

    def look_up_here(self, recipe_digest: str) -> RecipeRecord | None:
        """Return what a recipe led to, or None. A damaged record is set aside and reported.

        A recipe that came from elsewhere counts only if a trusted key signed it; see `acceptance`.
        """
        for folder, counts in ((RECIPES, self.acceptance.still_counts), (UNTRUSTED, self._counts_by_now)):
            found = self._recipe(folder, recipe_digest)
            try:
                if found is not None and (body := counts(recipe_digest, found[1])) is not None:
                    return found[0] if body is found[1] else RecipeRecord.from_json(body)
            except BrokenRecord as error:
                self._set_aside_broken(f"{folder}/{recipe_digest}.json", "recipe", error)
        return None

    def _counts_by_now(self, digest: str, body: dict[str, Any]) -> dict[str, Any] | None:
        """Return the record in `untrusted/` if it counts; move it to the others if it is trusted by now."""
        trusted = self.acceptance.trusted(body)
        if trusted is None:
            return body if self.acceptance.counts_anyway(digest, body) else None
        self.acceptance.refused.pop(digest, None)
        with suppress(GravelError, OSError):  # a cache that cannot be written
            self.adopt(digest, seal(trusted), trusted=True)
        return trusted

    def _load(self, name: str, what: str, read: Callable[[dict[str, Any], float], T]) -> T | None:
        """Read a sealed record, given its body and when it was last used; a damaged one is set aside."""
        found = self.files.read(name)
        if found is None:
            return None
        try:
            return read(unseal(found[0]), found[1])
        except OlderRecord:
            self.pass_over(name)
        except (BrokenRecord, KeyError, TypeError, ValueError) as error:
            self._set_aside_broken(name, what, error)
        return None

    def _recipe(self, folder: str, digest: str) -> tuple[RecipeRecord, dict[str, Any]] | None:
        """Read a recipe's record, and its body with the signature."""

        def read(body: dict[str, Any], used: float) -> tuple[RecipeRecord, dict[str, Any]]:
            record = RecipeRecord.from_json(body)
            if record.digest != digest:
                raise BrokenRecord("it is the record of another recipe")
            return record, body

        return self._load(f"{folder}/{digest}.json", "recipe", read)

    def recipe_records(self, folder: str) -> list[RecipeRecord]:
        """Return the recipes of `recipes/` or `untrusted/`, whoever signed them, the oldest first."""
        names = self.files.names(folder, ".json")
        found = [self._recipe(folder, name.removesuffix(".json")) for name in names]
        return sorted((each[0] for each in found if each is not None), key=lambda record: record.created)

    def check_recipe(self, folder: str, digest: str) -> str | None:
        """Say what is wrong with a recipe's record or its signature, after setting it aside, or None."""
        found = self._recipe(folder, digest)
        if found is None:
            return "the recipe's record cannot be read"
        try:
            check_signature(found[1])
        except BrokenRecord as error:
            self._set_aside_broken(f"{folder}/{digest}.json", "recipe", error)
            return str(error)
        return None

    def adopt(self, digest: str, text: bytes, *, trusted: bool) -> None:
        """Keep a recipe's record, in place of an older one; what it leads to has to be here or behind."""
        self.files.replace(f"{RECIPES if trusted else UNTRUSTED}/{digest}.json", text)
        if trusted:
            self.files.remove(f"{UNTRUSTED}/{digest}.json")

    def check(self, artifact_id: str) -> str | None:
        """Say why an artifact cannot be relied on, or None if each of its files is there in full size.

        Reads one record and the sizes of the files, none of the data; marks the artifact as used.
        """
        record = self.find(artifact_id)
        if record is None:
            return "it has no record in the cache"
        missing = find_missing(self.root, record.inside, ((file.path, file.size) for file in record.files))
        if missing is not None:
            return missing
        self.files.touch(artifact_path(artifact_id))
        return None

    def describe(self, artifact_id: str) -> ArtifactRecord:
        """Return the record of an artifact; raises `DamagedArtifact` if there is none."""
        record = self.find(artifact_id)
        if record is None:
            raise DamagedArtifact(artifact_id, "it has no record in the cache")
        return record

    def find(self, artifact_id: str) -> ArtifactRecord | None:
        """Return the record of an artifact, or None. A damaged one is set aside and reported."""

        def read(body: dict[str, Any], used: float) -> ArtifactRecord:
            record = ArtifactRecord.from_json(body, self.root, used)
            if record.id != artifact_id:
                raise BrokenRecord("it is the record of another artifact")
            return record

        return self._load(artifact_path(artifact_id), "artifact", read)

    def is_here(self, artifact_id: str) -> bool:
        """Say whether an artifact has a record in this folder; else only a store may hold it."""
        return os.path.exists(f"{self.root}/{artifact_path(artifact_id)}")  # noqa: PTH110

    def lock(self, name: str) -> AbstractContextManager[None]:
        """Hold a lock by a name, waiting for it; see `gravel.pipeline.store.leases.lock`."""
        return lock(self.root, name)

    def pass_over(self, name: str) -> None:
        """Leave a record of an older format, and what it leads to, where they are."""
        self.older.add(name)

    def drop_older(self, name: str) -> None:
        """Remove a record if it is of an older format, whose data are nobody's then."""
        found = self.files.read(name)
        try:
            if found is not None:
                unseal(found[0])
        except OlderRecord:
            self.files.remove(name)
        except BrokenRecord:
            pass

    def _set_aside_broken(self, name: str, what: str, error: Exception) -> None:
        self._set_aside(name, f"the record of {what} {Path(name).stem[:12]} is damaged ({error})")

    def _set_aside(self, name: str, problem: str) -> None:
        self.say(f"{problem}; what it stands for is computed again")
        try:
            self.files.move(name, f"{QUARANTINE}/{Path(name).stem}-{time.time_ns()}/{Path(name).name}")
        except ReadOnly:
            self.say(f"{self.root / name} stays where it is, since the cache cannot be written")

    def quarantine(self, artifact_id: str, reason: str) -> None:
        """Move an artifact's record and data to `quarantine/<id>-<time>/` beside a `reason.json`."""
        place = f"{QUARANTINE}/{artifact_id}-{time.time_ns()}"
        record = self.find(artifact_id) if self.is_here(artifact_id) else None
        if record is None:
            with suppress(ReadOnly):
                self.drop_older(artifact_path(artifact_id))  # a new record may have its name
            return
        try:
            with retire(self.root, record.path):
                if not self.files.move(artifact_path(artifact_id), f"{place}/record.json"):
                    return
                if not self._is_shared(record.path.name):
                    self.files.move(data_path(record.path.name), f"{place}/data")
                body = {"artifact": artifact_id, "kind": record.kind, "reason": reason, "time": time.time()}
                self.files.replace(f"{place}/reason.json", seal({"format": RECORD_FORMAT, **body}))
        except ReadOnly:
            self.say(
                f"artifact {artifact_id[:12]} ({record.kind}) is damaged: {reason}; it stays where it is, "
                f"since the cache {self.root} cannot be written"
            )
            return
        self.say(
            f"artifact {artifact_id[:12]} ({record.kind}) is damaged: {reason}; it is set aside in "
            f"{self.root / place} and computed again when it is needed"
        )

    def _is_shared(self, folder: str) -> bool:
        """Say whether another record names the same data, as the one that another's data were put under."""
        names = self.files.names(ARTIFACTS, ".json")
        texts = (self.files.read(f"{ARTIFACTS}/{name}") for name in names)
        return any(found is not None and f'"{folder}"'.encode() in found[0] for found in texts)


@dataclass(frozen=True)
class Prepared:
    """An artifact of which all is written but its record; or, if it is not new, one that was there before."""

    record: ArtifactRecord
    is_new: bool = True

    @property
    def files(self) -> list[Path]:
        """The files that its record will point to."""
        return [self.record.path / file.path for file in self.record.files]

    def draft(self, cache: CacheFolder, *, durable: bool = False) -> Draft:
        """Write its record beside its name."""
        text = seal(self.record.to_json())
        return cache.files.draft(artifact_path(self.record.id), text, durable=durable)

    def publish(self, cache: CacheFolder, draft: Draft) -> bool:
        """Give its record, which is on the disk as its data are, its name.

        Says whether it is the one that counts: if not, another run published the same content meanwhile.
        """
        while not draft.create():
            damage = cache.check(self.record.id)
            if damage is None:
                return False
            cache.quarantine(self.record.id, damage)
            draft = self.draft(cache, durable=True)
        self._end_lease()
        return True

    def note_in(self, cache: CacheFolder) -> None:
        """Take note of it in the cache of whoever publishes it, where others wrote it elsewhere."""

    def drop(self) -> None:
        """Remove what was written."""
        if self.is_new:
            shutil.rmtree(self.record.path, ignore_errors=True)
            self._end_lease()

    def _end_lease(self) -> None:
        self.record.path.with_suffix(".lock").unlink(missing_ok=True)


def publish(cache: CacheFolder, prepared: Prepared) -> ArtifactRecord:
    """Make the record of one artifact whose files are on the disk; returns the record that counts."""
    record = prepared.record
    if not prepared.is_new:
        return record
    if not prepared.publish(cache, prepared.draft(cache, durable=True)):
        prepared.drop()
        return cache.describe(record.id)
    cache.files.sync_name(artifact_path(record.id))
    return record
