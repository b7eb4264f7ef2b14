"""An artifact's fields on disk: which are arrays, and the group metadata that holds the others.

Imports neither NumPy nor Zarr, since attributes are read when a cached run is planned.
"""

from __future__ import annotations

import json
import math
import typing
from functools import cache
from typing import TYPE_CHECKING, Any

from blake3 import blake3

from gravel.pipeline.core.errors import DamagedArtifact
from gravel.pipeline.store.opening import read_file
from gravel.pipeline.store.record_types import METADATA as METADATA
from gravel.stages.artifact import Array, ArrayGroup, Artifact
from gravel.stages.stage import Extent

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gravel.pipeline.store.record_types import StoredFile

ARRAY, GROUP, ATTRIBUTE = "array", "group", "attribute"


@cache
def fields_of(kind: str) -> dict[str, str]:
    """Map each field of an artifact kind to `array`, `group` or `attribute`; raises KeyError."""
    hints = typing.get_type_hints(Artifact.kinds[kind])
    hints = {name: hint for name, hint in hints.items() if typing.get_origin(hint) is not typing.ClassVar}
    return {name: _role(hint) for name, hint in hints.items()}


def _role(hint: Any) -> str:
    if hint == ArrayGroup:
        return GROUP
    return ARRAY if hint is Array or Array in typing.get_args(hint) else ATTRIBUTE


def plain(value: Any, where: str) -> Any:
    """Return a value as JSON holds it: NumPy scalars as numbers, tuples as lists.

    Raises TypeError for what JSON cannot hold and ValueError for NaN and infinities.
    """
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        if not math.isfinite(value):
            raise ValueError(f"{where} is {value}, and attributes are JSON, which has no such number")
        return value
    if isinstance(value, list | tuple):
        return [plain(item, f"{where}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, dict):
        for key in value:
            if type(key) is not str:
                raise TypeError(f"{where} has the key {key!r}, and keys of attributes are strings")
        return {key: plain(item, f"{where}.{key}") for key, item in value.items()}
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        return plain(value.item(), where)
    raise TypeError(f"{where} is a {type(value).__qualname__}, and attributes are plain data")


def group_metadata(attributes: dict[str, Any]) -> bytes:
    """Write the `zarr.json` of a group."""
    body = {"zarr_format": 3, "node_type": "group", "attributes": attributes}
    return json.dumps(body, indent=1, allow_nan=False).encode()


def read_metadata(root: Path, inside: str, artifact_id: str, files: Sequence[StoredFile], name: str) -> bytes:
    """Read a metadata file of the artifact in a folder below a root.

    Raises `DamagedArtifact` unless it is what was written.
    """
    expected = next((file for file in files if file.path == name), None)
    if expected is None:
        raise DamagedArtifact(artifact_id, f"its manifest does not name {name}")
    try:
        text = read_file(root, f"{inside}/{name}")
    except OSError as error:
        raise DamagedArtifact(artifact_id, f"{name} cannot be read ({error.strerror})") from error
    if blake3(text).hexdigest() != expected.blake3:
        raise DamagedArtifact(artifact_id, f"{name} is not what was written")
    return text


def read_attributes(root: Path, inside: str, artifact_id: str, files: Sequence[StoredFile]) -> dict[str, Any]:
    """Return the fields that are not arrays; raises `DamagedArtifact`."""
    text = read_metadata(root, inside, artifact_id, files, METADATA)
    attributes: dict[str, Any] = json.loads(text)["attributes"]
    return {name: value for name, value in attributes.items() if name != "gravel"}


def extent_of(
    kind: str, attributes: dict[str, Any], arrays: dict[str, tuple[str, tuple[int, ...]]], size: int
) -> Extent:
    """Say how large an artifact is, in the words of the stages' estimates."""
    arcs = attributes.get("arc_count")
    if arcs is None and "source" in arrays:
        arcs = arrays["source"][1][0]
    searches = next((arrays[name][1][0] for name in ("distance", "predecessor") if name in arrays), 0)
    return Extent(
        kind=kind,
        vertices=attributes.get("vertex_count") or 0,
        arcs=arcs or 0,
        bytes=size,
        searches=searches,
        directed=attributes.get("symmetric") is False,
        normal_arcs=_normal_arcs(attributes, arrays),
        ranks=attributes.get("ranks") or 0,
        striped=attributes.get("scheme") == "striped",
        weighted="weights" in arrays or attributes.get("algorithm") == "sssp",
        direction=attributes.get("direction", "out"),
        strong=attributes.get("algorithm") == "strong_components",
    )


def _normal_arcs(attributes: dict[str, Any], arrays: dict[str, tuple[str, tuple[int, ...]]]) -> int | None:
    """Count the arcs in a partition's subgraphs nn, stored, compressed or stated; None for anything else."""
    if attributes.get("ranks") is None:
        return None
    if attributes.get("generator") is not None:
        return int((attributes.get("statistics") or {}).get("nn_arcs", 0))
    if attributes.get("subgraphs") is not None:
        return sum(int(record["arcs"]) for record in attributes["subgraphs"] if record["name"] == "nn")
    return sum(shape[0] for name, (_, shape) in arrays.items() if name.endswith("/nn/column_indices"))
