"""Results that are not kept on disk: in the memory of the process that made them, by pseudo-id."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from gravel.pipeline.core.errors import DamagedArtifact
from gravel.stages.stage import Extent

if TYPE_CHECKING:
    from gravel.stages.artifacts import Artifact

PREFIX = "recipe:"

RESIDENT: dict[str, Artifact] = {}
"""This process's results by pseudo-id, `recipe:<digest>:<output>`."""


def keep_resident(recipe: str, artifacts: tuple[Artifact, ...]) -> tuple[str, ...]:
    """Keep a stage's outputs in this process and return their pseudo-ids."""
    names = tuple(f"{PREFIX}{recipe}:{position}" for position in range(len(artifacts)))
    RESIDENT.update(zip(names, artifacts, strict=True))
    return names


def read_resident(name: str) -> Artifact:
    """Return a result in this process's memory; raises `DamagedArtifact` if it is gone."""
    try:
        return RESIDENT[name]
    except KeyError:
        raise DamagedArtifact(name, "the worker that had it in memory is gone") from None


def release_resident(names: tuple[str, ...]) -> None:
    """Forget results that nothing in the run needs any more."""
    for name in names:
        RESIDENT.pop(name, None)


def extent_in_memory(artifact: Artifact) -> Extent:
    """Measure an artifact in memory as the store measures one on disk."""
    from gravel.pipeline.store.metadata import ARRAY, ATTRIBUTE, extent_of, fields_of

    kind = type(artifact).__name__
    roles = fields_of(kind)
    values: dict[str, Any] = {field.name: getattr(artifact, field.name) for field in fields(artifact)}
    named: dict[str, Any] = {}
    for name, value in values.items():
        if value is None or roles[name] == ATTRIBUTE:
            continue
        if roles[name] == ARRAY:
            named[name] = value
        else:
            named.update({f"{name}/{inner}": array for inner, array in value.items()})
    arrays = {name: (str(array.dtype), tuple(array.shape)) for name, array in named.items()}
    attributes = {name: value for name, value in values.items() if roles[name] == ATTRIBUTE}
    size = 0
    for array in named.values():
        count = 1
        for length in array.shape:
            count *= length
        size += count * array.dtype.itemsize
    return extent_of(kind, attributes, arrays, size)
