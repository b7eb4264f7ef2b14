"""An artifact taken apart: its arrays by path, and its other fields as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.pipeline.store.metadata import ATTRIBUTE, GROUP, METADATA, fields_of, plain

if TYPE_CHECKING:
    from gravel.stages.artifact import Array, Artifact


def split(artifact: Artifact) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return an artifact's arrays by path and its other fields as plain data.

    Raises TypeError or ValueError for fields that cannot be stored.
    """
    arrays: dict[str, Array] = {}
    attributes: dict[str, Any] = {}
    kind = type(artifact).__name__
    for name, role in fields_of(kind).items():
        value = getattr(artifact, name)
        if role == ATTRIBUTE and name in artifact.implied and value == artifact.implied[name]:
            continue
        if role == ATTRIBUTE:
            attributes[name] = plain(value, f"{kind}.{name}")
        elif value is None:
            continue
        elif role == GROUP:
            for path, array in value.items():
                _check_name(path)
                arrays[f"{name}/{path}"] = array
        else:
            arrays[name] = value
    return arrays, attributes


def _check_name(path: str) -> None:
    for part in path.split("/"):
        if part in ("", ".", "..", METADATA) or part.startswith("__") or "\\" in part:
            raise ValueError(f"an array cannot be named {path!r}")
