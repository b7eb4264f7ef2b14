"""Binding the artifacts of format 1 to their place: their records hold no checksums of chunks.

An artifact that an older gravel wrote is digested against its manifest when it is first opened, or by
`gravel cache verify`, and the checksums of its chunks go into its record. From then on a whole chunk in
another's place is noticed there, too. Where the cache cannot be written it is digested at every opening.
"""

from __future__ import annotations

import base64
import itertools
import math
import os
from dataclasses import replace
from typing import TYPE_CHECKING

from gravel.pipeline.core.errors import DamagedArtifact, GravelError
from gravel.pipeline.store.codecs import CHECKSUM_BYTES, INDEX_ENTRY, MISSING, decode_index
from gravel.pipeline.store.faults import find_fault
from gravel.pipeline.store.files import storage_errors
from gravel.pipeline.store.layout import Layout, read_layout
from gravel.pipeline.store.leases import Lease
from gravel.pipeline.store.metadata import METADATA, read_metadata
from gravel.pipeline.store.opening import open_file
from gravel.pipeline.store.records import ArtifactRecord, seal

if TYPE_CHECKING:
    from gravel.pipeline.store.folder import CacheFolder


def bind(cache: CacheFolder, record: ArtifactRecord, *, digested: bool = False) -> ArtifactRecord:
    """Return the record with the checksums of its chunks, and keep it so; raises `DamagedArtifact`.

    `digested` says that the files were found to be what was written just now.
    """
    if record.checksums is not None:
        return record
    fault = None if digested else find_fault(record)
    if fault is not None:
        raise DamagedArtifact(record.id, fault)
    found = {name: base64.b64encode(_checksums(record, name)).decode() for name in record.arrays}
    bound = replace(record, checksums=found)
    try:
        _keep(cache, bound)
    except (GravelError, OSError):
        return bound  # it is as good for now, and the next opening tries again
    return bound


def _keep(cache: CacheFolder, bound: ArtifactRecord) -> None:
    with storage_errors(cache.root):
        try:
            # Whoever removes an artifact takes this lock, too: its record must not come back after that.
            lease = Lease(bound.path.with_suffix(".lock"), "checksums")
        except FileExistsError:
            return
        try:
            there = cache.find(bound.id)
            if there is not None and there.path == bound.path and there.checksums is None:
                cache.files.replace(f"artifacts/{bound.id}.json", seal(bound.to_json()))
        finally:
            lease.end()


def _checksums(record: ArtifactRecord, name: str) -> bytes:
    """Collect the last bytes of each chunk, in C order."""
    try:
        text = read_metadata(record.root, record.inside, record.id, record.files, f"{name}/{METADATA}")
        layout = read_layout(text)
        found = bytearray()
        shards: dict[str, list[int]] = {}
        for coordinates in itertools.product(*(range(count) for count in layout.grid)):
            path, index = layout.place(coordinates)
            shards.setdefault(path, []).append(index)
        # Chunks are written one shard after the other, so this is their order, too.
        for path, indices in shards.items():
            found += _of_shard(record, name, path, layout, indices)
    except (OSError, ValueError) as error:
        raise DamagedArtifact(record.id, f"{name}: {error}") from error
    return bytes(found)


def _of_shard(record: ArtifactRecord, name: str, path: str, layout: Layout, indices: list[int]) -> bytes:
    found = bytearray()
    with open_file(record.root, f"{record.inside}/{name}/{path}") as file:
        handle = file.fileno()
        count = math.prod(layout.per_shard)
        size = count * INDEX_ENTRY.size + CHECKSUM_BYTES
        end = max(0, os.fstat(handle).st_size - size)
        entries = decode_index(os.pread(handle, size, end), count, end)
        for index in indices:
            offset, length = entries[index]
            if offset == MISSING or length < CHECKSUM_BYTES:
                raise ValueError(f"{path}: a chunk is missing")
            found += os.pread(handle, CHECKSUM_BYTES, offset + length - CHECKSUM_BYTES)
    return bytes(found)
