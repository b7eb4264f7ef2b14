"""Recomputing an artifact's id from its files: what is stored under an id has to be what the id says.

The files' digests in a record only say that they are what somebody wrote. Whoever writes another's data
under an id and seals a fitting record is found out here: arrays are decoded and digested as
`gravel.pipeline.store.content` does, and the attributes are read anew.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gravel.pipeline.store.content import ArrayContent, artifact_id
from gravel.pipeline.store.layout import Layout, read_layout
from gravel.pipeline.store.leaves import Root, check_layout, shard_count, shard_leaves, shard_paths
from gravel.pipeline.store.metadata import METADATA, extent_of
from gravel.pipeline.store.record_types import ITEMSIZE

if TYPE_CHECKING:
    from gravel.pipeline.store.record_types import StoredFile
    from gravel.pipeline.store.records import ArtifactRecord


class WrongContent(ValueError):
    """Files that are whole, and not those of the artifact whose record names them."""


class Identity:
    """Recomputes one artifact's id. Give it every metadata file first, then the shards on any thread."""

    def __init__(self, record: ArtifactRecord) -> None:
        self._record = record
        self._attributes: dict[str, Any] | None = None
        self._layouts: dict[str, Layout] = {}
        self._roots: dict[str, Root] = {}

    def add(self, file: StoredFile, data: bytes) -> None:
        """Take a file's bytes; raises `WrongContent`."""
        try:
            if is_metadata(file):
                self._add_metadata(file.path, data)
            else:
                name, _, path = file.path.partition("/c/")
                if name in self._layouts:
                    self._roots[name].add(shard_leaves(self._layouts[name], f"c/{path}", data))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise WrongContent(f"{file.path}: {error}") from error

    def _add_metadata(self, path: str, data: bytes) -> None:
        name = path.removesuffix(METADATA).rstrip("/")
        if not name:
            self._attributes = attributes_in(data)
        elif name in self._record.arrays:
            layout = read_layout(data)
            check_layout(layout)
            if (layout.dtype, layout.shape) != self._record.arrays[name]:
                raise ValueError(f"it is {layout.dtype} {layout.shape}, unlike its record")
            if (count := shard_count(layout)) > len(self._record.files):  # before they are listed
                raise ValueError(f"it has {count:,} shards, and its manifest does not name them")
            self._layouts[name], self._roots[name] = layout, Root(layout)

    def finish(self) -> ArtifactRecord:
        """Return the record with the roots of its arrays and true sizes for estimates.

        Raises `WrongContent` unless the arrays and attributes make the id.
        """
        if self._attributes is None:
            raise WrongContent(f"its manifest does not name {METADATA}")
        named = {file.path for file in self._record.files}
        expected = {METADATA} | {f"{name}/{METADATA}" for name in self._record.arrays}
        for name, layout in self._layouts.items():
            expected.update(f"{name}/{path}" for path in shard_paths(layout))
        if not expected <= named:
            raise WrongContent(f"its manifest does not name {min(expected - named)}")
        roots = {}
        for name, root in self._roots.items():
            try:
                roots[name] = root.finish()
            except ValueError as error:
                raise WrongContent(f"{name}: {error}") from error
        check_id(self._record, self._attributes, roots)
        return with_true_extent(replace(self._record, roots=roots), self._attributes)


def is_metadata(file: StoredFile) -> bool:
    """Say whether a file describes arrays rather than holding a shard."""
    return file.path == METADATA or file.path.endswith(f"/{METADATA}")


def attributes_in(data: bytes) -> dict[str, Any]:
    """Return the attributes that a group's metadata hold; raises ValueError, KeyError or TypeError."""
    attributes = json.loads(data)["attributes"]
    return {name: value for name, value in attributes.items() if name != "gravel"}


def check_id(record: ArtifactRecord, attributes: Mapping[str, Any], roots: Mapping[str, str]) -> None:
    """Raise `WrongContent` unless these attributes and roots, with the record's shapes, make its id.

    Also where the record says that a field is absent which the content has, or another size.
    """
    try:
        arrays = {name: ArrayContent(*shape, roots[name]) for name, shape in record.arrays.items()}
        found = artifact_id(record.kind, attributes, arrays)
        size = _bytes_of(record)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise WrongContent(f"its content has no id ({error})") from error
    if found != record.id:
        raise WrongContent(f"its content is not what its id says, but that of {found[:12]}")
    if record.bytes != size:
        raise WrongContent(f"its record says {record.bytes:,} bytes, and its arrays have {size:,}")
    for name in record.absent:
        if attributes.get(name) is not None or any(
            f"{array}/".startswith(f"{name}/") for array in record.arrays
        ):
            raise WrongContent(f"its record says that {name} is absent, and it is not")


def with_true_extent(record: ArtifactRecord, attributes: Mapping[str, Any]) -> ArtifactRecord:
    """Return a record whose sizes for estimates are those of the content, whatever it claimed."""
    try:
        extent = extent_of(record.kind, dict(attributes), dict(record.arrays), _bytes_of(record))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise WrongContent(f"its attributes have no size ({error})") from error
    return replace(record, extent=extent)


def _bytes_of(record: ArtifactRecord) -> int:
    return sum(ITEMSIZE[dtype] * math.prod(shape) for dtype, shape in record.arrays.values())
