"""Publishing what was written: records come after the data that they point to are on the disk."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gravel.pipeline.store.records import ArtifactRecord, seal

if TYPE_CHECKING:
    from gravel.pipeline.store.files import Draft
    from gravel.pipeline.store.folder import CacheFolder


@dataclass(frozen=True)
class Prepared:
    """An artifact of which all is written but its record; or, if it is not new, one that was there before."""

    record: ArtifactRecord
    is_new: bool = True

    @property
    def files(self) -> list[Path]:
        """The files that its record will point to."""
        return [self.record.path / file.path for file in self.record.files]

    def drop(self) -> None:
        """Remove what was written."""
        if self.is_new:
            shutil.rmtree(self.record.path, ignore_errors=True)
            self.end_lease()

    def end_lease(self) -> None:
        """Remove the mark of data that has no record yet."""
        self.record.path.with_suffix(".lock").unlink(missing_ok=True)


def publish(cache: CacheFolder, prepared: Prepared) -> ArtifactRecord:
    """Make the record of one artifact whose files are on the disk; returns the record that counts."""
    if not prepared.is_new:
        return prepared.record
    text = seal(prepared.record.to_json())
    kept = prepared.record
    while not cache.files.create(f"artifacts/{kept.id}.json", text):
        there = whole_record(cache, kept.id)
        if there is not None:
            prepared.drop()
            return there
    prepared.end_lease()
    return kept


def draft(cache: CacheFolder, prepared: Prepared) -> Draft:
    """Write the record of an artifact beside its name."""
    record = prepared.record
    return cache.files.draft(f"artifacts/{record.id}.json", seal(record.to_json()))


def publish_draft(cache: CacheFolder, prepared: Prepared, record: Draft) -> bool:
    """Give a record that is on the disk, as its data are, its name; says whether it is the one that counts.

    If not, another run published the same content meanwhile.
    """
    if record.create():
        prepared.end_lease()
        return True
    if whole_record(cache, prepared.record.id) is not None:
        return False
    return publish(cache, prepared) is prepared.record


def whole_record(cache: CacheFolder, artifact_id: str) -> ArtifactRecord | None:
    """Return an artifact's record if it is whole; one that is damaged is set aside."""
    damage = cache.check(artifact_id)
    if damage is None:
        return cache.describe(artifact_id)
    cache.quarantine(artifact_id, damage)
    return None
