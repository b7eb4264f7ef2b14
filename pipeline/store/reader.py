"""Reading stored artifacts: opening one, and verifying all that a cache holds (`gravel cache verify`).

Opening checks an artifact's attributes and digests; its arrays are checked when they are read.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import gravel.stages.artifacts  # noqa: F401 (defines the kinds)
from gravel.pipeline.core.errors import DamagedArtifact
from gravel.pipeline.store.identity import WrongContent, check_id
from gravel.pipeline.store.layout import ATTRIBUTE, GROUP, METADATA, fields_of
from gravel.pipeline.store.records import ArtifactRecord, read_metadata
from gravel.pipeline.store.signatures import RECIPE_FOLDERS
from gravel.stages.artifact import Artifact

if TYPE_CHECKING:
    from gravel.pipeline.store.folder import CacheFolder
    from gravel.pipeline.store.stored_array import StoredArray

VERIFY_THREADS = 8
"""Artifacts that are read at the same time, at most; large arrays have threads of their own."""


def open_artifact(record: ArtifactRecord) -> Artifact:
    """Return the artifact of a record; raises `DamagedArtifact`."""
    kind = Artifact.kinds.get(record.kind)
    if kind is None:
        raise DamagedArtifact(record.id, f"its kind {record.kind!r} is not known here")
    values: dict[str, Any] = {}
    attributes = record.attributes
    try:
        check_id(record, attributes)
    except WrongContent as error:
        raise DamagedArtifact(record.id, str(error)) from error
    for name, role in fields_of(record.kind).items():
        if name in record.absent:
            values[name] = None
        elif role == GROUP:
            values[name] = {
                path[len(name) + 1 :]: open_array(record, path)
                for path in record.arrays
                if path.startswith(f"{name}/")
            }
        elif role == ATTRIBUTE:
            if name in attributes:
                values[name] = attributes[name]
            elif name not in kind.implied:
                raise DamagedArtifact(record.id, f"it has no attribute {name!r}")
        elif name in record.arrays:
            values[name] = open_array(record, name)
        elif name not in kind.implied:
            raise DamagedArtifact(record.id, f"it has no array {name!r}")
    return kind(**values)


def open_array(record: ArtifactRecord, name: str) -> StoredArray:
    """Return one array of an artifact."""
    # NumPy takes 0.3 s to import, and an artifact may have no arrays.
    from gravel.pipeline.store.stored_array import StoredArray

    return StoredArray(
        record.root, f"{record.inside}/{name}", record.layouts[name], record.roots[name], record.id
    )


def find_fault(record: ArtifactRecord, count: Callable[[int], None] = lambda size: None) -> str | None:
    """Read every file of an artifact and make its id again; return what is wrong first, or None.

    `count` is called with the sizes of what was read.
    """
    try:
        check_metadata(record, count)
        for name, layout in record.layouts.items():
            open_array(record, name).verify()
            count(sum(size for path, size in layout.files() if path != METADATA))
    except DamagedArtifact as error:
        return error.reason
    return None


def check_metadata(record: ArtifactRecord, count: Callable[[int], None] = lambda size: None) -> None:
    """Read all files of an artifact but those of its arrays; raises `DamagedArtifact`."""
    layouts = {f"{name}/{METADATA}": layout for name, layout in record.layouts.items()}
    try:
        check_id(record, record.attributes)
    except WrongContent as error:
        raise DamagedArtifact(record.id, str(error)) from error
    for file in record.files:
        if file.blake3 is not None:
            text = read_metadata(record, file)
            if file.path in layouts and text != layouts[file.path].metadata():
                problem = f"{file.path} is not that of an array of its dtype and shape"
                raise DamagedArtifact(record.id, problem)
            count(file.size)


@dataclass
class Verified:
    """What `verify` looked at and what it found: artifact or recipe -> reason."""

    artifacts: int = 0
    recipes: int = 0
    bytes: int = 0
    damaged: dict[str, str] = field(default_factory=dict)


def verify(cache: CacheFolder, progress: Callable[[int, int], None] = lambda done, total: None) -> Verified:
    """Digest every file of every artifact, recompute its id, and quarantine what is damaged.

    `progress` is called with bytes done and bytes in all.
    """
    outcome = Verified()
    records: list[ArtifactRecord] = []
    for name in cache.files.names("artifacts", ".json"):
        identity = name.removesuffix(".json")
        record = cache.find(identity)
        if f"artifacts/{name}" in cache.older:
            continue
        outcome.artifacts += 1
        if record is None:
            outcome.damaged[identity] = "its record cannot be read"
        else:
            records.append(record)
    _verify_recipes(cache, outcome)

    total = sum(record.bytes_on_disk for record in records)

    def count(size: int) -> None:
        outcome.bytes += size
        progress(outcome.bytes, total)

    with ThreadPoolExecutor(VERIFY_THREADS) as pool:
        faults = list(pool.map(lambda record: find_fault(record, count), records))
    for record, fault in zip(records, faults, strict=True):
        if fault is not None and cache.find(record.id) is not None:  # a gc may have removed it meanwhile
            outcome.damaged[record.id] = fault
            cache.quarantine(record.id, fault)
    return outcome


def _verify_recipes(cache: CacheFolder, outcome: Verified) -> None:
    """Read every recipe's record, those that are not trusted included, and check its signature."""
    for folder in RECIPE_FOLDERS:
        for name in cache.files.names(folder, ".json"):
            digest = name.removesuffix(".json")
            problem = cache.check_recipe(folder, digest)
            if f"{folder}/{name}" in cache.older:
                continue
            outcome.recipes += 1
            if problem is not None:
                outcome.damaged[digest] = problem
