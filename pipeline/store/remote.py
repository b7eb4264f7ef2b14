"""A cache folder that is the local tier of a remote cache.

`remote.json` in the folder names the store. What a run looks up is sought here first, then there: of a recipe
found there, if a trusted key signed it, only the records come at once (below `away/`), checked against the
ids that the recipe names; the data come when something opens them, and from then on they are here. What a run
makes goes there by `gravel.pipeline.store.pushes`. A store that fails costs a run nothing but the reuse.
"""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING

from blake3 import blake3

from gravel.pipeline.core.errors import DamagedArtifact, GravelError, RequestError
from gravel.pipeline.store.records import ArtifactRecord, BrokenRecord, RecipeRecord, seal, unseal

if TYPE_CHECKING:
    from gravel.pipeline.store.folder import CacheFolder
    from gravel.pipeline.store.objects import Bucket


PAUSE_SECONDS = 15.0
"""After a failure; a store that is down must not delay each of hundreds of stage runs."""

MISSES = 16
"""Recipes not found until the store is asked for its list, a thousand names an answer, not for each."""

LISTED_SECONDS = 30.0
"""For which a list is believed; what another machine adds meanwhile is at worst computed twice."""

AWAY_DATA = "away/data"
"""Where the attributes of artifacts lie that are known to be in the store."""


class Remote:
    """The store behind one cache folder; safe to use from many threads."""

    def __init__(self, cache: CacheFolder, url: str) -> None:
        self.url = url
        self._cache = cache
        self._target: Bucket | None = None
        self._opening = threading.Lock()
        self._quiet_until = 0.0
        self._reported: set[str] = set()
        self._missed = 0
        self._listed: set[str] = set()
        self._listed_until = 0.0

    def complete(self, digest: str, here: RecipeRecord | None) -> RecipeRecord | None:
        """Return a recipe's record with all its outputs known, from the store if it is not so here."""
        if here is not None and all(self._cache.find(output) is not None for output in here.outputs):
            return here
        from gravel.pipeline.store.identity import WrongContent
        from gravel.pipeline.store.objects import FaultySource
        from gravel.pipeline.store.selection import read_recipe

        try:
            target = self.reach()
            if target is None:
                return here
            # Artifacts are known by their content, whatever the store's recipe says.
            if here is not None and all(self._fetch_record(output, target) for output in here.outputs):
                return here
            text = self._recipe(digest, target)
            if text is None:
                return here
            found = read_recipe(text, digest)
            body = unseal(text)
            acceptance = self._cache.acceptance
            trusted = acceptance.trusted(body)
            if trusted is None and (here is not None or not acceptance.counts_anyway(digest, body)):
                return here
            if not all(self._fetch_record(output, target) for output in found.outputs):
                return here
        except (BrokenRecord, WrongContent, FaultySource) as error:
            self._cache.say(f"a record of recipe {digest[:12]} in {self.url} is damaged ({error})")
            return here
        except GravelError as error:
            self.failed(error)
            return here
        acceptance.refused.pop(digest, None)
        if trusted is None:
            self._cache.adopt(digest, text, trusted=False)
            return found
        self._cache.adopt(digest, seal(trusted), trusted=True)
        return RecipeRecord.from_json(trusted)

    def _recipe(self, digest: str, target: Bucket) -> bytes | None:
        """Ask for a recipe; after many that the store did not have, look at the list of those that it has."""
        if self._missed >= MISSES and time.monotonic() > self._listed_until:
            self._listed = {name.removesuffix(".json") for name in target.names("recipes")}
            self._listed_until = time.monotonic() + LISTED_SECONDS
        if self._missed >= MISSES and digest not in self._listed:
            return None
        text = target.get(f"recipes/{digest}.json")
        self._missed += text is None
        return text

    def _fetch_record(self, artifact_id: str, target: Bucket) -> bool:
        """Say whether an artifact is here, or its record and attributes could be had from the store."""
        if self._cache.find(artifact_id) is not None:
            return True
        found = self._read(artifact_id, target)
        return found is not None and self.note(artifact_id, *found)

    def _read(self, artifact_id: str, target: Bucket) -> tuple[bytes, bytes] | None:
        """Return the record and the attributes that the store has of an artifact that did not prove wrong."""
        from gravel.pipeline.store.layout import METADATA
        from gravel.pipeline.store.selection import read_artifact_record

        text = target.get(f"artifacts/{artifact_id}.json")
        if text is None:
            return None
        record = read_artifact_record(text, artifact_id, self._cache.root, AWAY_DATA)
        if self.is_quarantined(artifact_id, record.path.name):
            return None
        attributes = target.get(f"data/{record.path.name}/{METADATA}")
        return None if attributes is None else (text, attributes)

    def note(self, artifact_id: str, text: bytes, attributes: bytes) -> bool:
        """Take note of an artifact in the store, of which these are record and attributes, if they fit."""
        from gravel.pipeline.store.identity import check_id, with_true_extent
        from gravel.pipeline.store.layout import METADATA, attributes_in
        from gravel.pipeline.store.selection import read_artifact_record

        record = read_artifact_record(text, artifact_id, self._cache.root, AWAY_DATA)
        try:
            read = attributes_in(attributes)
            if not any(
                (file.path, file.blake3) == (METADATA, blake3(attributes).hexdigest())
                for file in record.files
            ):
                raise ValueError(f"{METADATA} is not what was written")
            check_id(record, read)
            record = with_true_extent(record, read)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            self._cache.say(f"artifact {artifact_id[:12]} in {self.url} is damaged: {error}")
            self._set_aside(artifact_id, record.path.name)
            return False
        text = seal(record.to_json())
        self._cache.files.replace(f"{AWAY_DATA}/{record.path.name}/{METADATA}", attributes, durable=False)
        self._cache.files.replace(f"away/artifacts/{artifact_id}.json", text, durable=False)
        return True

    def is_quarantined(self, artifact_id: str, place: str) -> bool:
        """Say whether data in the store proved wrong for an artifact; for another they may be right."""
        return self._cache.files.read(f"away/bad/{artifact_id}-{place}") is not None

    def record(self, artifact_id: str) -> ArtifactRecord | None:
        """Return the record of an artifact that is known to lie in the store, without asking it."""
        found = self._cache.files.read(f"away/artifacts/{artifact_id}.json")
        if found is None:
            return None
        try:
            return ArtifactRecord.from_json(unseal(found[0]), self._cache.root, found[1], AWAY_DATA)
        except (KeyError, TypeError, ValueError):
            self.invalidate(artifact_id)
            return None

    def known(self) -> list[str]:
        """List the artifacts that are known here to lie in the store."""
        names = self._cache.files.names("away/artifacts", ".json")
        return [name.removesuffix(".json") for name in names]

    def fetch(self, artifact_id: str) -> None:
        """Copy an artifact here unless it is here; raises `DamagedArtifact` if that cannot be done.

        Of one that the store does not have, nothing comes.
        """
        from gravel.pipeline.store.objects import FaultySource, RemoteError
        from gravel.pipeline.store.transfer import download_artifact

        if self._cache.is_here(artifact_id):
            return
        known = self.record(artifact_id) or self._find(artifact_id)
        if known is None:
            return
        # The lock only keeps two workers from copying the same.
        with self._cache.lock(f"bring-{artifact_id}"):
            found = self._cache.files.read(f"away/artifacts/{artifact_id}.json")
            if found is None or self._cache.is_here(artifact_id):
                return
            try:
                target = self.reach(patient=True)
                assert target is not None
                download_artifact(self._cache, artifact_id, found[0], target)
            except FaultySource as error:
                self._set_aside(artifact_id, known.path.name)
                raise DamagedArtifact(artifact_id, str(error)) from error
            except RemoteError as error:
                self.failed(error)
                raise DamagedArtifact(artifact_id, f"it is not here, and {error}") from error

    def _find(self, artifact_id: str) -> ArtifactRecord | None:
        """Ask the store for an artifact of which nothing is known here; raises `DamagedArtifact`."""
        try:
            target = self.reach(patient=True)
            assert target is not None
            found = self._fetch_record(artifact_id, target)
        except (GravelError, BrokenRecord) as error:
            raise DamagedArtifact(artifact_id, f"it is not here, and {error}") from error
        return self.record(artifact_id) if found else None

    def publish(self, record: ArtifactRecord) -> tuple[int, bytes, bytes]:
        """Copy an artifact's files to the store, as many bytes as it lacks of it.

        Returns their number, and the record and attributes that the store has of the artifact.

        Raises `DamagedArtifact` for files that are not what was written, `RemoteError` for the store.
        """
        from gravel.pipeline.store.objects import RemoteError
        from gravel.pipeline.store.transfer import upload_files

        target = self.reach(patient=True)
        assert target is not None
        sent = upload_files(record, target, is_bad=self.is_quarantined)
        found = self._read(record.id, target)
        if found is None:
            raise RemoteError(
                f"artifact {record.id[:12]} was copied to {self.url} and is not there",
                hint="see whether somebody removes objects there while runs use them",
            )
        return sent, *found

    def _set_aside(self, artifact_id: str, place: str) -> None:
        """Take a damaged artifact's record out of everybody's way, as `quarantine` does here."""
        self._cache.files.replace(f"away/bad/{artifact_id}-{place}", b"")
        self.invalidate(artifact_id)
        name = f"artifacts/{artifact_id}.json"
        try:
            target = self.reach()
            text = None if target is None else target.get(name)
            if target is not None and text is not None and f'"{place}"'.encode() in text:
                target.put(f"quarantine/{artifact_id}-{time.time_ns()}/record.json", text)
                target.remove([name])
        except GravelError as error:
            # A key that may only read: the mark made above does for this machine.
            self._cache.say(f"{self.url} keeps the record of a damaged artifact: {error}")

    def invalidate(self, artifact_id: str) -> None:
        """Drop what is known here of an artifact that lies in the store."""
        found = self._cache.files.read(f"away/artifacts/{artifact_id}.json")
        self._cache.files.remove(f"away/artifacts/{artifact_id}.json")
        try:
            place = json.loads(found[0])["data"] if found is not None else None
        except (ValueError, KeyError):
            return
        if isinstance(place, str) and "/" not in place:
            self._cache.files.remove(f"{AWAY_DATA}/{place}")

    def ask_again(self) -> None:
        """Leave the store alone no longer."""
        self._quiet_until = 0.0

    def failed(self, error: GravelError) -> None:
        """Leave the store alone for a while, and say why, once for each reason."""
        self._quiet_until = time.monotonic() + PAUSE_SECONDS
        text = str(error)
        if text not in self._reported:
            self._reported.add(text)
            hint = error.problems[0].hint
            self._cache.say(
                f"{text}; going on with what is here" + (f" ({hint})" if hint is not None else "")
            )

    def reach(self, *, patient: bool = False) -> Bucket | None:
        """Return the store, or None while it is left alone; `patient` asks it in any case."""
        if not patient and time.monotonic() < self._quiet_until:
            return None
        with self._opening:
            if self._target is None:
                from gravel.pipeline.store.objects import Bucket, RemoteError

                try:
                    self._target = Bucket(self.url)
                except RequestError as error:
                    raise RemoteError(str(error), hint=error.problems[0].hint) from error
        return self._target
