"""Copying results to and from caches: data first, the record of an artifact after them, the recipe last.

A folder has the files of a cache, an object store the objects of `gravel.pipeline.store.frames`. What arrives
is checked against its record while it is written, and its id is made again from its content before the record
is made here; what leaves is checked as it is read. Nothing that is there already is sent again, and a copy
that was cut short goes on.
"""

from __future__ import annotations

import errno
import json
import os
import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from shutil import disk_usage, rmtree
from typing import TYPE_CHECKING, Any

from gravel.pipeline.core.errors import DamagedArtifact, GravelError
from gravel.pipeline.store.descriptors import create, make_folder
from gravel.pipeline.store.failures import storage_errors
from gravel.pipeline.store.files import sync_file, sync_folder
from gravel.pipeline.store.folder import (
    EVENT_LOG,
    LOGS,
    PAGE,
    PAGE_DATA,
    PROFILE,
    RUN_RECORD,
    RUNS,
    STATIC_PAGE,
    CacheFolder,
    Prepared,
    artifact_path,
    data_path,
    publish,
    run_path,
    scratch_path,
)
from gravel.pipeline.store.frames import SLOTS, Arrival, ByteCounter, for_each, new_file, send_arrays
from gravel.pipeline.store.identity import with_true_extent
from gravel.pipeline.store.layout import METADATA
from gravel.pipeline.store.leases import Lease
from gravel.pipeline.store.objects import FaultySource, Folder, get_if_sound
from gravel.pipeline.store.opening import MAX_LOG_BYTES, MAX_RECORD_BYTES, stated
from gravel.pipeline.store.reader import check_metadata, find_fault
from gravel.pipeline.store.records import (
    ArtifactRecord,
    BrokenRecord,
    StoredFile,
    read_metadata,
    seal,
    unseal,
)
from gravel.pipeline.store.selection import check_name, read_artifact_record, read_recipe
from gravel.pipeline.store.signatures import FIELD, MAX_SIGNERS, RECIPES, check_signature, sign, signed_bodies

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from gravel.pipeline.store.objects import Bucket, Source
    from gravel.pipeline.trust.keys import PublicKey

NAMES = frozenset((RUN_RECORD, EVENT_LOG, PROFILE, PAGE, STATIC_PAGE, PAGE_DATA))
"""Of the files of a run; below `logs/` each stage run may have one. No other is copied."""


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
    folder = cache.root / data_path(uuid.uuid4().hex)
    with storage_errors(cache.root, incoming.bytes_on_disk):
        # The lock comes first and goes last: a folder without one is a published artifact.
        lease = Lease(folder.with_suffix(".lock"), f"arrival of artifact {incoming.id[:12]}")
        try:
            if incoming.bytes_on_disk > disk_usage(cache.root).free:  # a few compressed bytes may fill a disk
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            record = replace(incoming, root=cache.root, path=folder, objects={})
            if isinstance(source, Folder):
                for_each(lambda file: _copy_file(incoming, file, folder, source, progress), incoming.files)
            else:
                Arrival(incoming, record, source, progress).fetch()
            fault = find_fault(record)
            if fault is not None:
                raise FaultySource(f"{fault} (artifact {incoming.id[:12]} at {source.where})")
            record = with_true_extent(record, record.attributes)
            for place in {path.parent for path in folder.rglob("*")} | {folder, folder.parent}:
                sync_folder(place)
            return publish(cache, Prepared(record))
        except BaseException:
            rmtree(folder, ignore_errors=True)
            raise
        finally:
            lease.end()


def _copy_file(
    record: ArtifactRecord, file: StoredFile, folder: Path, source: Source, progress: ByteCounter | None
) -> None:
    name = f"{record.inside}/{file.path}"
    left = file.size
    with SLOTS, new_file(folder, file.path) as handle:
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
    target: Bucket,
    progress: ByteCounter | None = None,
    *,
    is_bad: Callable[[str, str], bool] = lambda identity, place: False,
) -> int:
    """Copy an artifact of the cache to an object store; see `upload_files`."""
    if _whole_there(get_if_sound(target, artifact_path(artifact_id)), artifact_id, is_bad) is not None:
        return 0
    if not cache.is_here(artifact_id):
        raise DamagedArtifact(artifact_id, "it has no record in the cache")
    return upload_files(cache.describe(artifact_id), target, progress, is_bad=is_bad)


def upload_files(
    record: ArtifactRecord,
    target: Bucket,
    progress: ByteCounter | None = None,
    *,
    is_bad: Callable[[str, str], bool] = lambda identity, place: False,
) -> int:
    """Copy an artifact to an object store; returns the bytes sent, 0 if it was there.

    `is_bad` says of an artifact and the place of its data whether they proved damaged and have to give way.
    Raises `DamagedArtifact` if what lies here is not what its record says, `RemoteError` for a store that
    fails.
    """
    name = artifact_path(record.id)
    if _whole_there(get_if_sound(target, name), record.id, is_bad) is not None:
        return 0
    check_metadata(record)
    folder = data_path(record.path.name)
    # Objects appear whole or not at all, so one of the right size is what an earlier try sent.
    present = {} if is_bad(record.id, record.path.name) else target.below(folder)
    sent: dict[str, int] = {}

    def put(name: str, data: bytes | bytearray) -> None:
        if present.get(name) != len(data):
            target.put(f"{folder}/{name}", data)
            sent[name] = len(data)
            if progress is not None:
                progress(len(data))

    try:
        put(METADATA, read_metadata(record, record.metadata))
        record = replace(record, objects=send_arrays(record, put))
    except DamagedArtifact:
        target.remove([f"{folder}/{name}" for name in sent])
        raise
    text = seal(with_true_extent(record, record.attributes).to_json())
    if not target.create(name, text):
        other = _whole_there(get_if_sound(target, name), record.id, is_bad)
        if other is None:
            target.put(name, text)
        elif other != record.path.name:
            digests = {each.blake3 for objects in record.objects.values() for each in objects}
            target.remove([f"{folder}/{name}" for name in (METADATA, *digests)])
            return 0
    return sum(sent.values())


def _whole_there(text: bytes | None, artifact_id: str, is_bad: Callable[[str, str], bool]) -> str | None:
    """Return where a record of the store says that the data lie, unless it cannot be relied on."""
    if text is None:
        return None
    try:
        place = read_artifact_record(text, artifact_id).path.name
    except BrokenRecord:
        return None
    return None if is_bad(artifact_id, place) else place


class Signer:
    """Signs the recipes that were made here; those that came signed keep their signature."""

    def __init__(self, cache: CacheFolder) -> None:
        self._cache = cache

    @cached_property
    def _key(self) -> tuple[Ed25519PrivateKey, PublicKey]:
        from gravel.pipeline.trust.keys import signing_key

        return signing_key()

    def prepare(self) -> None:
        """Read the key, or make it; raises `RequestError` if there can be none."""
        self._key  # noqa: B018 (kept for later)

    def signed(self, text: bytes, there: bytes | None) -> bytes:
        """Return a record's text with a signature, and in it the one by another that it takes the place of.

        Raises `RequestError` if there can be no key.
        """
        body = unseal(text)
        other = self._other(body, there)
        if FIELD in body:
            return text if other is None else sign(text, *self._key, [body, other])
        return sign(text, *self._key, [] if other is None else [other])

    def _other(self, body: dict[str, Any], there: bytes | None) -> dict[str, Any] | None:
        """Return the record of another user that lies there, if it is sound."""
        if there is None:
            return None
        try:
            read_recipe(there, body["recipe"])
            other = unseal(there)
            key = check_signature(other)
        except BrokenRecord:
            return None
        signers = len(signed_bodies(other))
        if key is None or key == self._key[1] or signers >= MAX_SIGNERS - 2:
            return None
        return other

    def counts(self, text: bytes | None, digest: str) -> bool:
        """Say whether what lies there is whole and signed by a key that this user trusts."""
        if text is None:
            return False
        try:
            read_recipe(text, digest)
            return self._cache.acceptance.trusted(unseal(text)) is not None
        except BrokenRecord:
            return False


def upload_recipe(cache: CacheFolder, digest: str, target: Bucket, is_bad: Callable[[str, str], bool]) -> int:
    """Copy a recipe and its outputs to an object store, the recipe last; returns the bytes of data sent."""
    found = cache.files.read(f"{RECIPES}/{digest}.json")
    record = cache.look_up_here(digest)
    if found is None or record is None:
        return 0
    sent = 0
    for output in record.outputs:
        if not cache.is_here(output):
            continue  # it lies there, and only there
        sent += upload_artifact(cache, output, target, is_bad=is_bad)
    name = f"{RECIPES}/{digest}.json"
    target.put(name, Signer(cache).signed(found[0], get_if_sound(target, name)))
    return sent


def upload_run(cache: CacheFolder, run: str, target: Bucket) -> None:
    """Copy a run's folder to an object store, its record last; raises `FaultySource` for what is no file."""
    source = Folder(cache.root)
    for name in _names_of(source, run):
        data = _data(source, run_path(run, name))
        if data is not None:
            target.put(run_path(run, name), data)


def download_run(cache: CacheFolder, run: str, source: Source) -> bool:
    """Copy a run's folder here, whole or not at all; says whether it was missing.

    Raises `FaultySource` for what is no file there, or for what is in the way here.
    """
    target = run_path(check_name(run))
    if stated(cache.root, run_path(run, RUN_RECORD)) is not None:
        return False
    aside = scratch_path(uuid.uuid4().hex)  # what is left there goes with the next run
    with storage_errors(cache.root):
        try:
            for name in _names_of(source, run):
                data = _data(source, f"{target}/{name}")
                if data is not None:
                    make_folder(cache.root, f"{aside}/{name}".rpartition("/")[0])
                    with os.fdopen(create(cache.root, f"{aside}/{name}"), "wb") as file:
                        file.write(data)
            make_folder(cache.root, RUNS)
            _date(cache.root / aside / RUN_RECORD)
            (cache.root / aside).rename(cache.root / target)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise FaultySource(f"{cache.root / target} is in the way of the run of that name") from error
            raise GravelError(f"the record of run {run} cannot be copied: {error}") from error
        finally:
            cache.files.remove(aside)
    return True


def _names_of(source: Source, run: str) -> list[str]:
    """List what a run has of what runs have, its record last."""
    logs = {f"{LOGS}/{name}" for name in source.names(run_path(run, LOGS)) if name.endswith(".log")}
    here = {name for name in source.names(run_path(run)) if name in NAMES}
    for name in sorted(logs):
        check_name(name.removeprefix(f"{LOGS}/"))
    return [*sorted(logs | here - {RUN_RECORD}), RUN_RECORD]


def _data(source: Source, name: str) -> bytes | None:
    is_record = name.endswith(f"/{RUN_RECORD}")
    pieces = source.read(name, MAX_RECORD_BYTES if is_record else MAX_LOG_BYTES)
    return None if pieces is None else b"".join(pieces)


def _date(path: Path) -> None:
    """Give a run's record the time of its end, by which runs are ordered."""
    try:
        ended = datetime.fromisoformat(json.loads(path.read_bytes())["ended"]).timestamp()
    except (OSError, KeyError, TypeError, ValueError, OverflowError, RecursionError):
        return
    os.utime(path, (ended, ended))
