"""Finding damaged artifacts and moving them out of the way."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from blake3 import blake3

from gravel.pipeline.core.errors import DamagedArtifact
from gravel.pipeline.store.acceptance import RECIPE_FOLDERS
from gravel.pipeline.store.failures import ReadOnly
from gravel.pipeline.store.files import storage_errors
from gravel.pipeline.store.leases import Lease
from gravel.pipeline.store.obstacles import open_regular
from gravel.pipeline.store.records import seal

if TYPE_CHECKING:
    from gravel.pipeline.store.cache import Cache
    from gravel.pipeline.store.identity import Identity
    from gravel.pipeline.store.records import ArtifactRecord, StoredFile

VERIFY_THREADS = 8
"""At most; a thread decodes and digests 0.5 to 1 GB/s, so more than this waits for the disk."""


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
            if not _is_shared(cache, record.path.name):
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


def _is_shared(cache: Cache, folder: str) -> bool:
    """Say whether another record names the same data, as the one that another's data were put under."""
    names = cache.files.names("artifacts", ".json")
    texts = (cache.files.read(f"artifacts/{name}") for name in names)
    return any(found is not None and f'"{folder}"'.encode() in found[0] for found in texts)


def verify(cache: Cache, progress: Callable[[int, int], None] | None = None) -> Verified:
    """Digest every file of every artifact and recompute its id; see `Cache.verify`."""
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
    _verify_recipes(cache, outcome)

    total = sum(record.bytes_on_disk for record in records)

    def count(size: int) -> None:
        outcome.bytes += size
        if progress is not None:
            progress(outcome.bytes, total)

    outcome.damaged.update(find_faults(records, count))
    from gravel.pipeline.store.binding import bind

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


def _verify_recipes(cache: Cache, outcome: Verified) -> None:
    """Read every recipe's record, those that are not trusted included, and check its signature."""
    for folder in RECIPE_FOLDERS:
        for name in cache.files.names(folder, ".json"):
            outcome.recipes += 1
            digest = name.removesuffix(".json")
            problem = cache.check_recipe(folder, digest)
            if problem is not None:
                outcome.damaged[digest] = problem


def find_fault(record: ArtifactRecord) -> str | None:
    """Digest every file of an artifact and recompute its id; return what is wrong first, or None."""
    return find_faults([record]).get(record.id)


def find_faults(
    records: Sequence[ArtifactRecord], count: Callable[[int], None] = lambda size: None
) -> dict[str, str]:
    """Return what is wrong with each artifact that is damaged. Each file is read once, on a few threads.

    `count` is called with the size of each file that was read.
    """
    from concurrent.futures import ThreadPoolExecutor

    from gravel.pipeline.store.identity import Identity, WrongContent, is_metadata

    identities = {record.id: Identity(record) for record in records}
    faults: dict[str, str] = {}
    work = [(record, file) for record in records for file in record.files]
    with ThreadPoolExecutor(VERIFY_THREADS) as pool:
        # How an array is laid out has to be known before its shards can be decoded.
        for metadata in (True, False):
            some = [(record, file) for record, file in work if is_metadata(file) == metadata]
            found = pool.map(lambda item: _fault(item[0], item[1], identities[item[0].id]), some)
            for (record, file), fault in zip(some, found, strict=True):
                if fault is not None:
                    faults.setdefault(record.id, fault)
                count(file.size)
    for record in records:
        if record.id not in faults:
            try:
                identities[record.id].finish()
            except WrongContent as error:
                faults[record.id] = str(error)
    return faults


def _fault(record: ArtifactRecord, file: StoredFile, identity: Identity) -> str | None:
    from gravel.pipeline.store.identity import WrongContent

    try:
        with open_regular(record.path / file.path) as handle:
            size = os.fstat(handle.fileno()).st_size
            if size != file.size:
                return f"{file.path} has {size:,} bytes and should have {file.size:,}"
            data = handle.read()  # 64 MiB at most
    except OSError as error:
        return f"{file.path} cannot be read ({error.strerror})"
    if blake3(data).hexdigest() != file.blake3:
        return f"{file.path} is not what was written"
    try:
        identity.add(file, data)
    except WrongContent as error:
        return str(error)
    return None
