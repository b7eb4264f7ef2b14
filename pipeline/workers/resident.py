"""Results in the memory of the process that made them, by id: of what is not kept on disk, by pseudo-id."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from gravel.pipeline.core.errors import DamagedArtifact
from gravel.stages.stage import Extent

if TYPE_CHECKING:
    from gravel.stages.artifact import Artifact

PREFIX = "recipe:"
"""How the pseudo-ids of results begin that are not kept: `recipe:<digest>:<output>`."""

RESIDENT: dict[str, Artifact] = {}
"""This process's results by id."""

_owners: Counter[str] = Counter()
_lock = threading.Lock()


def keep_resident(names: tuple[str, ...], artifacts: tuple[Artifact, ...]) -> None:
    """Keep a stage's outputs in this process; equal ones of several stages are kept once for all of them."""
    with _lock:
        for name, artifact in zip(names, artifacts, strict=True):
            RESIDENT.setdefault(name, artifact)
            _owners[name] = 1 if name.startswith(PREFIX) else _owners[name] + 1


def read_resident(name: str) -> Artifact:
    """Return a result in this process's memory; raises `DamagedArtifact` if it is gone."""
    try:
        return RESIDENT[name]
    except KeyError:
        raise DamagedArtifact(name, "the worker that had it in memory is gone") from None


def release_resident(names: tuple[str, ...]) -> None:
    """Forget results of a stage that nothing in the run needs any more."""
    with _lock:
        for name in names:
            _owners[name] -= 1
            if _owners[name] <= 0:
                RESIDENT.pop(name, None)
                del _owners[name]


def read_only(artifact: Artifact) -> Artifact:
    """Return an artifact to whose arrays in host memory NumPy does not write."""
    import numpy

    from gravel.pipeline.store.mapping import locked
    from gravel.pipeline.store.stored_array import StoredArray

    def change(array: Any) -> Any:
        if isinstance(array, StoredArray):
            return array.locked()
        return locked(array) if isinstance(array, numpy.ndarray) else array

    return _mapped(artifact, change)


def in_host_memory(artifact: Artifact) -> Artifact:
    """Return an artifact whose arrays are in host memory; the device keeps those that it made, if it can."""
    from gravel.kernels.arrays import backend_of
    from gravel.kernels.placement.device_copies import to_host

    return _mapped(artifact, lambda array: to_host(array) if backend_of(array) == "cuda" else array)


def _mapped(artifact: Artifact, change: Callable[[Any], Any]) -> Artifact:
    """Return an artifact with each of its arrays changed."""
    from gravel.pipeline.store.layout import ATTRIBUTE, GROUP, fields_of

    values: dict[str, Any] = {}
    for name, role in fields_of(type(artifact).__name__).items():
        value = getattr(artifact, name)
        if role == ATTRIBUTE or value is None:
            continue
        if role == GROUP:
            values[name] = {path: change(array) for path, array in value.items()}
        else:
            values[name] = change(value)
    return replace(artifact, **values)


def extent_in_memory(artifact: Artifact) -> Extent:
    """Measure an artifact in memory as the store measures one on disk."""
    from gravel.pipeline.store.identity import extent_of
    from gravel.pipeline.store.layout import ARRAY, ATTRIBUTE, fields_of

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
