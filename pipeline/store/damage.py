"""Finding damaged artifacts and moving them out of the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from blake3 import blake3

from pipeline.errors import DamagedArtifact
from pipeline.store.failures import ReadOnly
from pipeline.store.files import storage_errors
from pipeline.store.leases import Lease
from pipeline.store.obstacles import open_regular
from pipeline.store.records import seal

if TYPE_CHECKING:
    from pipeline.store.cache import Cache
    from pipeline.store.records import ArtifactRecord, StoredFile

READ_BYTES = 8 << 20
VERIFY_THREADS = 8
"""At most; BLAKE3 does several GB/s per thread, so more than this waits for the disk."""


@dataclass
class Verified:
    """What `verify` looked at and what it found: artifact or recipe -> reason."""

    artifacts: int = 0
    recipes: int = 0
    bytes: int = 0
    bound: int = (
        0  # artifacts of an older gravel whose records hold the checksums of their chunks from now on
    )
    damaged: dict[str, str] = field(default_factory=dict)


@contextmanager
def retire(cache: Cache, folder: Path) -> Iterator[None]:
    """Lock a folder of data while its record goes, so that a sweep finds what a dead process left."""
    try:
        with storage_errors(cache.root):
            lease = Lease(folder.with_suffix(".lock"), "removal")
    except FileExistsError:
        # Someone else removes the same folder, or died doing so; a sweep ends it.
        yield
        return
    try:
        yield
    finally:
        lease.end()


def quarantine(cache: Cache, artifact_id: str, reason: str) -> None:
    """Move an artifact's record and data to `quarantine/<id>-<time>/` beside a `reason.json`."""
    place = f"quarantine/{artifact_id}-{time.time_ns()}"
    found = cache.files.read(f"artifacts/{artifact_id}.json")
    record = cache.find(artifact_id) if found else None
    if record is None:
        return
    try:
        with retire(cache, record.path):
            if not cache.files.move(f"artifacts/{artifact_id}.json", f"{place}/record.json"):
                return
            cache.files.move(f"data/{record.path.name}", f"{place}/data")
            body = {"format": 1, "artifact": artifact_id, "kind": record.kind, "reason": reason}
            cache.files.replace(f"{place}/reason.json", seal({**body, "time": time.time()}))
    except ReadOnly:
        cache.say(
            f"artifact {artifact_id[:12]} ({record.kind}) is damaged: {reason}; it stays where it is, since "
            f"the cache {cache.root} cannot be written"
        )
        return
    cache.say(
        f"artifact {artifact_id[:12]} ({record.kind}) is damaged: {reason}; it is set aside in "
        f"{cache.root / place} and computed again when it is needed"
    )


def verify(cache: Cache, progress: Callable[[int, int], None] | None = None) -> Verified:
    """Digest every file of every artifact; see `Cache.verify`."""
    outcome = Verified()
    records: list[ArtifactRecord] = []
    for name in cache.files.names("artifacts", ".json"):
        identity = name.removesuffix(".json")
        record = cache.find(identity)
        outcome.artifacts += 1
        if record is None:
            outcome.damaged[identity] = "its record cannot be read"
        else:
            records.append(record)
    for name in cache.files.names("recipes", ".json"):
        outcome.recipes += 1
        if cache.recall_here(name.removesuffix(".json")) is None:
            outcome.damaged[name.removesuffix(".json")] = "the recipe's record cannot be read"

    total = sum(record.bytes_on_disk for record in records)
    work = [(record, file) for record in records for file in record.files]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(VERIFY_THREADS) as pool:
        faults = pool.map(lambda item: _fault(*item), work)
        for (record, file), fault in zip(work, faults, strict=True):
            outcome.bytes += file.size
            if fault is not None and record.id not in outcome.damaged:
                outcome.damaged[record.id] = fault
            if progress is not None:
                progress(outcome.bytes, total)
    from pipeline.store.binding import bind

    for record in records:
        if record.id not in outcome.damaged and record.checksums is None:
            try:
                bind(cache, record, digested=True)
                outcome.bound += 1
            except DamagedArtifact as error:
                outcome.damaged[record.id] = error.reason
        if record.id in outcome.damaged:
            if cache.find(record.id) is None:
                # A gc removed it while it was read.
                del outcome.damaged[record.id]
            else:
                cache.quarantine(record.id, outcome.damaged[record.id])
    return outcome


def find_fault(record: ArtifactRecord) -> str | None:
    """Digest every file of an artifact and return what is wrong with the first that is damaged."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(VERIFY_THREADS) as pool:
        faults = list(pool.map(lambda file: _fault(record, file), record.files))
    return next((fault for fault in faults if fault is not None), None)


def _fault(record: ArtifactRecord, file: StoredFile) -> str | None:
    digest = blake3()
    size = 0
    try:
        with open_regular(record.path / file.path) as handle:
            while block := handle.read(READ_BYTES):
                digest.update(block)
                size += len(block)
    except OSError as error:
        return f"{file.path} cannot be read ({error.strerror})"
    if size != file.size:
        return f"{file.path} has {size:,} bytes and should have {file.size:,}"
    return None if digest.hexdigest() == file.blake3 else f"{file.path} is not what was written"
