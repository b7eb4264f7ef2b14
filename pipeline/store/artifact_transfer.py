"""Copying results between caches and object stores: data first, the record last, the recipe after it.

What arrives is digested against the manifest of its record while it is written, and its id is recomputed from
its content before the record is made here; what leaves is checked in the same way before it is sent. Nothing
that is there already is sent again, and a copy that was cut short goes on.
"""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, TypeVar

from gravel.pipeline.core.errors import DamagedArtifact
from gravel.pipeline.store.descriptors import create
from gravel.pipeline.store.faults import find_fault
from gravel.pipeline.store.files import storage_errors, sync_file, sync_folder
from gravel.pipeline.store.identity import with_true_extent
from gravel.pipeline.store.leases import Lease
from gravel.pipeline.store.objects import FaultySource, get_if_sound
from gravel.pipeline.store.obstacles import make_folder
from gravel.pipeline.store.opening import read_file
from gravel.pipeline.store.record_types import StoredFile
from gravel.pipeline.store.records import ArtifactRecord, BrokenRecord, seal
from gravel.pipeline.store.selection import read_artifact_record

if TYPE_CHECKING:
    from gravel.pipeline.store.folder import CacheFolder
    from gravel.pipeline.store.objects import Source, Target

T = TypeVar("T")
R = TypeVar("R")
ByteCounter = Callable[[int], None]

MOVE_THREADS = 4
"""Objects under way at once; each holds up to 64 MiB when sent, and four fill a line of 10 Gbit/s."""


_SLOTS = threading.BoundedSemaphore(MOVE_THREADS)


def download_artifact(
    cache: CacheFolder, artifact_id: str, text: bytes, source: Source, progress: ByteCounter | None = None
) -> ArtifactRecord:
    """Copy an artifact into a cache and return its record there; `progress` gets the count of bytes as they
    come.

    `text` is its record at the source. Raises `FaultySource` if the data there are not what the record
    says, `RemoteError` for a source that fails, `GravelError` for a full disk; nothing is left behind then.
    """
    try:
        incoming = read_artifact_record(text, artifact_id)
    except BrokenRecord as error:
        raise FaultySource(
            f"the record of artifact {artifact_id[:12]} at {source.where} is damaged ({error})"
        ) from error
    folder = cache.root / "data" / uuid.uuid4().hex
    with storage_errors(cache.root, incoming.bytes_on_disk):
        # The lock comes first and goes last: a folder without one is a published artifact.
        lease = Lease(folder.with_suffix(".lock"), f"arrival of artifact {incoming.id[:12]}")
        kept = False
        try:
            for_each(lambda file: _download(incoming, file, folder, source, progress), incoming.files)
            record = replace(incoming, root=cache.root, path=folder)
            fault = find_fault(record)
            if fault is not None:
                raise FaultySource(f"{fault} (artifact {incoming.id[:12]} at {source.where})")
            record = with_true_extent(record, record.attributes)
            for place in {path.parent for path in folder.rglob("*")} | {folder, folder.parent}:
                sync_folder(place)
            kept = _record(cache, record)
        finally:
            if not kept:
                rmtree(folder, ignore_errors=True)
            lease.end()
    return cache.describe(incoming.id)


def _record(cache: CacheFolder, record: ArtifactRecord) -> bool:
    text = seal(record.to_json())
    while not cache.files.create(f"artifacts/{record.id}.json", text):
        damage = cache.check(record.id)
        if damage is None:
            return False
        cache.quarantine(record.id, damage)
    return True


def _download(
    record: ArtifactRecord, file: StoredFile, folder: Path, source: Source, progress: ByteCounter | None
) -> None:
    name = f"data/{record.path.name}/{file.path}"
    root, target = folder.parents[1], f"data/{folder.name}/{file.path}"
    make_folder(root, target.rpartition("/")[0])
    left = file.size
    with _SLOTS, os.fdopen(create(root, target), "wb") as handle:
        pieces = source.read(name, file.size)
        if pieces is None:
            raise FaultySource(f"{source.where} does not hold {name} of artifact {record.id[:12]}")
        for piece in pieces:
            left -= len(piece)
            if left < 0:
                raise FaultySource(f"{name} at {source.where} is longer than its record says")
            handle.write(piece)
            if progress is not None:
                progress(len(piece))
        sync_file(handle)


def upload_artifact(
    cache: CacheFolder,
    artifact_id: str,
    target: Target,
    progress: ByteCounter | None = None,
    *,
    is_bad: Callable[[str, str], bool] = lambda identity, place: False,
) -> int:
    """Copy an artifact to an object store; returns the bytes sent, 0 if it was there.

    `is_bad` says of an artifact and the place of its data whether they proved damaged and have to give way.
    Raises `DamagedArtifact` if what lies here is not what its record says, `RemoteError` for a store that
    fails.
    """
    name = f"artifacts/{artifact_id}.json"
    there = _whole_there(get_if_sound(target, name), artifact_id, is_bad)
    if there is not None:
        return 0
    if not cache.is_here(artifact_id):
        raise DamagedArtifact(artifact_id, "it has no record in the cache")
    record = cache.describe(artifact_id)
    folder = f"data/{record.path.name}"
    # Objects appear whole or not at all, so one of the right size is what an earlier try sent.
    present = {} if is_bad(artifact_id, record.path.name) else target.below(folder)
    missing = [file for file in record.files if present.get(file.path) != file.size]
    fault = find_fault(record)
    if fault is not None:
        raise DamagedArtifact(artifact_id, fault)
    for_each(lambda file: _upload(record, file, target, progress), missing)
    text = seal(with_true_extent(record, record.attributes).to_json())
    if not target.create(name, text):
        other = _whole_there(get_if_sound(target, name), artifact_id, is_bad)
        if other is None:
            target.put(name, text)
        elif other != record.path.name:
            target.remove([f"{folder}/{file.path}" for file in record.files])
            return 0
    return sum(file.size for file in missing)


def _whole_there(text: bytes | None, artifact_id: str, is_bad: Callable[[str, str], bool]) -> str | None:
    """Return where a record of the store says that the data lie, unless it cannot be relied on."""
    if text is None:
        return None
    try:
        place = read_artifact_record(text, artifact_id).path.name
    except BrokenRecord:
        return None
    return None if is_bad(artifact_id, place) else place


def _upload(record: ArtifactRecord, file: StoredFile, target: Target, progress: ByteCounter | None) -> None:
    with _SLOTS:
        try:
            data = read_file(record.root, f"{record.inside}/{file.path}", file.size)
        except OSError as error:
            raise DamagedArtifact(record.id, f"{file.path} cannot be read ({error.strerror})") from error
        target.put(f"data/{record.path.name}/{file.path}", data)
    if progress is not None:
        progress(len(data))


def for_each(action: Callable[[T], R], items: list[T] | tuple[T, ...]) -> list[R]:
    """Do something for each item on a few threads; the first error ends it."""
    if len(items) < 2:
        return [action(item) for item in items]
    with ThreadPoolExecutor(MOVE_THREADS) as pool:
        try:
            return list(pool.map(action, items))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
