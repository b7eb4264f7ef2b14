"""Artifacts of the cache as what Python works with: arrays in memory, and ids."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from gravel.encoded_ids import Encoded, Integers

if TYPE_CHECKING:
    from gravel.vertex_ids import Ids


def in_memory(stored: Any) -> Any:
    """Return an artifact with its arrays read, each whole."""
    import numpy

    from gravel.kernels.strategy import backend_of

    read = {}
    for field in fields(stored):
        value = getattr(stored, field.name)
        # Read in slices, as arrays of the cache are; arrays in memory stay as they are.
        if (
            hasattr(value, "__array__")
            and not isinstance(value, numpy.ndarray)
            and backend_of(value) == "cpu"
        ):
            read[field.name] = numpy.asarray(value)
    return replace(stored, **read) if read else stored


def ids_of(stored: Any) -> Ids:
    """Return the ids that a `VertexIds` holds."""
    import numpy

    if getattr(stored, "text", None) is not None or getattr(stored, "kind", "integers") not in (
        "integers",
        "",
    ):
        from gravel.stages.vertex_ids.dictionary import Dictionary

        return Encoded(Dictionary(stored.values()))
    values = None if stored.ids is None else numpy.asarray(stored.ids)
    return Integers(stored.vertex_count, stored.first, values)
