"""Digesting the files of artifacts: what is wrong with one, if anything is."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from blake3 import blake3

from gravel.pipeline.store.opening import open_file, read_whole

if TYPE_CHECKING:
    from gravel.pipeline.store.identity import Identity
    from gravel.pipeline.store.record_types import StoredFile
    from gravel.pipeline.store.records import ArtifactRecord

VERIFY_THREADS = 8
"""At most; a thread decodes and digests 0.5 to 1 GB/s, so more than this waits for the disk."""


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
        with open_file(record.root, f"{record.inside}/{file.path}") as handle:
            size = os.fstat(handle.fileno()).st_size
            if size != file.size:
                return f"{file.path} has {size:,} bytes and should have {file.size:,}"
            data = read_whole(handle)
    except OSError as error:
        return f"{file.path} cannot be read ({error.strerror})"
    if blake3(data).hexdigest() != file.blake3:
        return f"{file.path} is not what was written"
    try:
        identity.add(file, data)
    except WrongContent as error:
        return str(error)
    return None
