"""Opening a stored artifact: metadata are checked now, chunks when they are read."""

from __future__ import annotations

import base64
import math
from typing import TYPE_CHECKING, Any

import gravel.stages.artifacts  # noqa: F401 (defines the kinds)
from gravel.pipeline.core.errors import DamagedArtifact
from gravel.pipeline.store.codecs import CHECKSUM_BYTES
from gravel.pipeline.store.identity import WrongContent, check_id
from gravel.pipeline.store.layout import Layout, read_layout
from gravel.pipeline.store.metadata import ATTRIBUTE, GROUP, METADATA, fields_of, read_metadata
from gravel.pipeline.store.records import ArtifactRecord
from gravel.stages.artifact import Artifact

if TYPE_CHECKING:
    from gravel.pipeline.store.stored import StoredArray


def open_artifact(record: ArtifactRecord) -> Artifact:
    """Return the artifact of a record; raises `DamagedArtifact`."""
    kind = Artifact.kinds.get(record.kind)
    if kind is None:
        raise DamagedArtifact(record.id, f"its kind {record.kind!r} is not known here")
    values: dict[str, Any] = {}
    attributes = record.attributes
    try:
        check_id(record, attributes, record.roots)
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
        else:
            values[name] = open_array(record, name)
    return kind(**values)


def open_array(record: ArtifactRecord, name: str) -> StoredArray:
    """Return one array of an artifact; raises `DamagedArtifact`."""
    # NumPy takes 0.3 s to import, and an artifact may have no arrays.
    from gravel.pipeline.store.stored import StoredArray

    try:
        text = read_metadata(record.root, record.inside, record.id, record.files, f"{name}/{METADATA}")
        layout = read_layout(text)
    except ValueError as error:
        raise DamagedArtifact(record.id, f"{name}: {error}") from error
    if (layout.dtype, layout.shape) != record.arrays.get(name):
        raise DamagedArtifact(record.id, f"{name} is {layout.dtype} {layout.shape}, unlike its record")
    return StoredArray(
        record.root, f"{record.inside}/{name}", layout, record.id, _checksums(record, name, layout)
    )


def _checksums(record: ArtifactRecord, name: str, layout: Layout) -> bytes:
    try:
        found = base64.b64decode(record.checksums[name], validate=True)
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedArtifact(record.id, f"its record has no checksums of {name}") from error
    if len(found) != CHECKSUM_BYTES * math.prod(layout.grid):
        raise DamagedArtifact(record.id, f"its record has too few or too many checksums of {name}")
    return found
