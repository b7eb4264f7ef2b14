"""The records in one cache folder: what recipes led to, where artifacts lie, and whether they are whole.

Layout below the root: `recipes/<digest>.json`, `artifacts/<id>.json`, `data/<uuid>/` (one Zarr group each),
`data/<uuid>.lock` (its writer lives), `locks/`, `leases/`, `quarantine/`, `untrusted/` (recipes of others,
`gravel.pipeline.store.acceptance`), `downloads/`
(`gravel.pipeline.datasets.downloads`), and memos that are safe to delete: `digests/`, `resolved/`. A record
is created atomically and after everything that it points to, so whatever dies, a record never leads to half
an artifact.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from gravel.pipeline.core.errors import DamagedArtifact, GravelError
from gravel.pipeline.store.acceptance import RECIPES, UNTRUSTED, Acceptance
from gravel.pipeline.store.failures import ReadOnly
from gravel.pipeline.store.files import LocalFiles
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
from gravel.pipeline.store.removal import retire


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
        self.files = LocalFiles(self.root, lambda message: self.say(message), self._obstructed)
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
                self._set_aside(f"{folder}/{recipe_digest}.json", _broken("recipe", recipe_digest, error))
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

    def _recipe(self, folder: str, digest: str) -> tuple[RecipeRecord, dict[str, Any]] | None:
        """Read a recipe's record, and its body with the signature; a damaged one is set aside."""
        name = f"{folder}/{digest}.json"
        found = self.files.read(name)
        if found is None:
            return None
        try:
            body = unseal(found[0])
            record = RecipeRecord.from_json(body)
            if record.digest != digest:
                raise BrokenRecord("it is the record of another recipe")
        except OlderRecord:
            self.pass_over(name)
            return None
        except (BrokenRecord, KeyError, TypeError, ValueError) as error:
            self._set_aside(name, _broken("recipe", digest, error))
            return None
        return record, body

    def recipe_records(self, folder: str) -> list[RecipeRecord]:
        """Return the recipes of `recipes/` or `untrusted/`, whoever signed them, the oldest first."""
        names = self.files.names(folder, ".json")
        found = [self._recipe(folder, name.removesuffix(".json")) for name in names]
        return sorted((each[0] for each in found if each is not None), key=lambda record: record.created)

    def check_recipe(self, folder: str, digest: str) -> str | None:
        """Say what is wrong with a recipe's record or its signature, after setting it aside, or None."""
        from gravel.pipeline.store.signatures import check_signature

        found = self._recipe(folder, digest)
        if found is None:
            return "the recipe's record cannot be read"
        try:
            check_signature(found[1])
        except BrokenRecord as error:
            self._set_aside(f"{folder}/{digest}.json", _broken("recipe", digest, error))
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
        self.files.touch(f"artifacts/{artifact_id}.json")
        return None

    def describe(self, artifact_id: str) -> ArtifactRecord:
        """Return the record of an artifact; raises `DamagedArtifact` if there is none."""
        record = self.find(artifact_id)
        if record is None:
            raise DamagedArtifact(artifact_id, "it has no record in the cache")
        return record

    def find(self, artifact_id: str) -> ArtifactRecord | None:
        """Return the record of an artifact, or None. A damaged one is set aside and reported."""
        name = f"artifacts/{artifact_id}.json"
        found = self.files.read(name)
        if found is None:
            return None
        try:
            record = ArtifactRecord.from_json(unseal(found[0]), self.root, found[1])
            if record.id != artifact_id:
                raise BrokenRecord("it is the record of another artifact")
        except OlderRecord:
            self.pass_over(name)
            return None
        except (BrokenRecord, KeyError, TypeError, ValueError) as error:
            self._set_aside(name, _broken("artifact", artifact_id, error))
            return None
        return record

    def is_here(self, artifact_id: str) -> bool:
        """Say whether an artifact has a record in this folder; else only a store may hold it."""
        return os.path.exists(f"{self.root}/artifacts/{artifact_id}.json")  # noqa: PTH110

    @contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Hold a lock by a name, waiting for it; that of a process that died is free.

        Where the place cannot lock, nothing is held.
        """
        from gravel.pipeline.store.leases import lock

        with lock(self.root, name):
            yield

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

    def _obstructed(self, name: str, problem: str) -> None:
        self._set_aside(name, problem)

    def _set_aside(self, name: str, problem: str) -> None:
        self.say(f"{problem}; what it stands for is computed again")
        try:
            self.files.move(name, f"quarantine/{Path(name).stem}-{time.time_ns()}/{Path(name).name}")
        except ReadOnly:
            self.say(f"{self.root / name} stays where it is, since the cache cannot be written")

    def quarantine(self, artifact_id: str, reason: str) -> None:
        """Move an artifact's record and data to `quarantine/<id>-<time>/` beside a `reason.json`."""
        place = f"quarantine/{artifact_id}-{time.time_ns()}"
        found = self.files.read(f"artifacts/{artifact_id}.json")
        record = self.find(artifact_id) if found else None
        if record is None:
            with suppress(ReadOnly):
                self.drop_older(f"artifacts/{artifact_id}.json")  # a new record may have its name
            return
        try:
            with retire(self.root, record.path):
                if not self.files.move(f"artifacts/{artifact_id}.json", f"{place}/record.json"):
                    return
                if not self._is_shared(record.path.name):
                    self.files.move(f"data/{record.path.name}", f"{place}/data")
                body = {
                    "format": RECORD_FORMAT,
                    "artifact": artifact_id,
                    "kind": record.kind,
                    "reason": reason,
                }
                self.files.replace(f"{place}/reason.json", seal({**body, "time": time.time()}))
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
        names = self.files.names("artifacts", ".json")
        texts = (self.files.read(f"artifacts/{name}") for name in names)
        return any(found is not None and f'"{folder}"'.encode() in found[0] for found in texts)


def _broken(what: str, identity: str, error: Exception) -> str:
    return f"the record of {what} {identity[:12]} is damaged ({error})"
