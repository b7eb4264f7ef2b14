"""What is stored under an id has to be what the id says, whatever its record claims besides.

Whoever writes another's data under an id and seals a fitting record is found out here: the id is made again
from the attributes and the roots of the arrays, as `gravel.pipeline.store.content` does. The arrays are
checked against their roots when they are read.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gravel.pipeline.store.content import ArrayContent, artifact_id
from gravel.pipeline.store.metadata import extent_of
from gravel.pipeline.store.record_types import ITEMSIZE

if TYPE_CHECKING:
    from gravel.pipeline.store.records import ArtifactRecord


class WrongContent(ValueError):
    """Files that are whole, and not those of the artifact whose record names them."""


def attributes_in(data: bytes) -> dict[str, Any]:
    """Return the attributes that a group's metadata hold; raises ValueError, KeyError or TypeError."""
    attributes = json.loads(data)["attributes"]
    return {name: value for name, value in attributes.items() if name != "gravel"}


def check_id(record: ArtifactRecord, attributes: Mapping[str, Any]) -> None:
    """Raise `WrongContent` unless these attributes, with the record's shapes and roots, make its id.

    Also where the record says that a field is absent which the content has, or another size.
    """
    try:
        arrays = {name: ArrayContent(*shape, record.roots[name]) for name, shape in record.arrays.items()}
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
