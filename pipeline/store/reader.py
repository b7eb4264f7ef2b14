"""Opening a stored artifact: its attributes and digests are checked now, its arrays when they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gravel.stages.artifacts  # noqa: F401 (defines the kinds)
from gravel.pipeline.core.errors import DamagedArtifact
from gravel.pipeline.store.identity import WrongContent, check_id
from gravel.pipeline.store.layout import Layout
from gravel.pipeline.store.metadata import ATTRIBUTE, GROUP, fields_of
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
        else:
            raise DamagedArtifact(record.id, f"it has no array {name!r}")
    return kind(**values)


def open_array(record: ArtifactRecord, name: str) -> StoredArray:
    """Return one array of an artifact."""
    # NumPy takes 0.3 s to import, and an artifact may have no arrays.
    from gravel.pipeline.store.stored import StoredArray

    layout = Layout(*record.arrays[name])
    return StoredArray(record.root, f"{record.inside}/{name}", layout, record.roots[name], record.id)
