"""Results of one run between machines that share no folder, but the store behind their tiers.

Whoever makes a result puts it into the store before anybody hears of it; whoever reads it copies it into the
tier of its own machine. What is not kept lies apart in the store, below `scratch/<run>`, until the run ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.folder import Prepared, publish, scratch_path
from gravel.pipeline.store.objects import Bucket
from gravel.pipeline.store.records import BrokenRecord
from gravel.pipeline.store.remote import Remote

if TYPE_CHECKING:
    from gravel.pipeline.store.folder import CacheFolder
    from gravel.stages.artifact import Artifact


@dataclass(frozen=True)
class InStore(Prepared):
    """An artifact that another machine put into the store: with the text of its record, and its attributes,
    and the bytes that were sent.

    Of one that is `passing`, which the run does not keep, the store behind the cache knows nothing.
    """

    sent: int = 0
    text: bytes = b""
    attributes: bytes = b""
    passing: bool = False

    def note_in(self, cache: CacheFolder) -> None:
        """Take note of where it lies; raises `GravelError` if it is not what its id says."""
        if self.passing:
            return
        assert isinstance(cache, Cache)
        assert cache.remote is not None
        assert cache.pushes is not None
        identity = self.record.id
        try:
            known = cache.find(identity) is not None or cache.remote.note(
                identity, self.text, self.attributes
            )
        except BrokenRecord:
            known = False
        if not known:
            raise GravelError(f"the artifact {identity[:12]} in {cache.remote.url} is not what its id says")
        cache.pushes.sent_bytes += self.sent


class Exchange:
    """One machine's end of it: the tier of that machine, and the run."""

    def __init__(self, cache: Cache, run: str) -> None:
        assert cache.remote is not None
        self._cache = cache
        self._kept = cache.remote
        self._where = f"{self._kept.url}/{scratch_path(run)}"
        self._passing = Remote(cache, self._where)

    def publish(self, prepared: Prepared) -> InStore:
        """Publish an artifact of this machine's here and in the store; raises `GravelError`."""
        record = publish(self._cache, prepared)
        return InStore(record, False, *self._kept.publish(record))

    def pass_on(self, prepared: Prepared) -> InStore:
        """Put an artifact into the store for the time of the run, and keep nothing of it here."""
        try:
            return InStore(prepared.record, False, *self._passing.publish(prepared.record), passing=True)
        finally:
            prepared.drop()

    def fetch(self, artifact_id: str) -> None:
        """Have here what another machine published or passed on; raises `DamagedArtifact`."""
        self._kept.fetch(artifact_id)
        self._passing.fetch(artifact_id)

    def open(self, artifact_id: str) -> Artifact:
        """Open what another machine published or passed on; raises `DamagedArtifact`."""
        self.fetch(artifact_id)
        return self._cache.open(artifact_id)

    def clear(self) -> None:
        """Remove what was passed on in this run; what a store that fails keeps is reported."""
        try:
            target = Bucket(self._where)
            target.remove(target.below(""))
        except GravelError as error:
            self._cache.say(f"{self._where} can be removed: the run has ended, and {error}")
