"""Artifacts of the cache as what Python works with: arrays in memory, and ids."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from gravel.encoded_ids import Encoded, Integers

if TYPE_CHECKING:
    from gravel.stages.artifacts import VertexIds
    from gravel.vertex_ids import Ids


def in_memory(stored: Any) -> Any:
    """Return an artifact with its arrays read, each whole."""
    import numpy

    from gravel.kernels.arrays import backend_of

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

    if stored.text is not None:
        import pyarrow

        from gravel.stages.vertex_ids.dictionary import Dictionary

        buffers = [pyarrow.py_buffer(numpy.asarray(part)) for part in (stored.offsets, stored.text)]
        return Encoded(Dictionary(pyarrow.LargeStringArray.from_buffers(stored.vertex_count, *buffers)))
    values = None if stored.ids is None else numpy.asarray(stored.ids)
    return Integers(stored.vertex_count, stored.first, values)


def vertex_ids_of(ids: Ids) -> VertexIds | None:
    """Return what the store keeps of integers and texts; None for ids of other kinds."""
    from gravel.stages.artifacts import VertexIds

    if isinstance(ids, Integers):
        return VertexIds(ids=ids.values, first=ids.first, vertex_count=ids.count)
    if not isinstance(ids, Encoded) or ids.kind != "strings":
        return None
    import numpy
    import pyarrow

    whole = pyarrow.concat_arrays([ids.dictionary.values])
    _, ends, text = whole.buffers()
    offsets = numpy.frombuffer(ends, numpy.int64)[whole.offset : whole.offset + ids.count + 1]
    begin, end = int(offsets[0]), int(offsets[-1])
    content = numpy.frombuffer(text, numpy.uint8)[begin:end] if text else numpy.empty(0, numpy.uint8)
    return VertexIds(vertex_count=ids.count, text=content, offsets=offsets - begin)
