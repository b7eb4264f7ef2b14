"""Two columns of ids as vertices: kernels number integers, the dictionary of ingest other ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.conversion.converted import Edges
from gravel.conversion.id_types import checked, type_name
from gravel.conversion.ids import Encoded, Integers

if TYPE_CHECKING:
    from gravel.stages.sizes import Machine
    from gravel.stages.vertex_ids.dictionary import Dictionary

BYTES_PER_EDGE = 96
"""Upper bound of the device memory that numbering sparse integers takes: both ends three times, sorted."""

MAX_TEXTS = (1 << 32) - 2
"""Upper bound of the distinct ids of a graph that are no integers."""


LEAST_ON_DEVICE = 1 << 22
"""Edges from which a GPU numbers ids that take a table: the host numbers fewer of them in 0.2 s."""


def numbered(
    source: Any,
    target: Any,
    names: tuple[str, str] = ("source", "target"),
    machine: Machine | None = None,
) -> Edges:
    """Number the ids of two Arrow columns, each by its rank, on the machine's GPU where that is faster.

    Raises TypeError for types that are no ids and for columns of different kinds, and ValueError for nulls,
    NaN and more ids than fit, each with the column and the row.
    """
    columns = [checked(column, name) for column, name in zip((source, target), names, strict=True)]
    kinds = [type_name(column.type) for column in columns]
    if not all(map(len, columns)):
        kinds[:] = ["integers", "integers"]
        columns = [column.slice(0, 0).cast("int64") if not len(column) else column for column in columns]
        if len(columns[0]) != len(columns[1]):
            raise ValueError(f"{len(columns[0]):,} sources and {len(columns[1]):,} targets make no edges")
    if kinds[0] != kinds[1]:
        raise TypeError(
            f"column {names[0]!r} has {kinds[0]} and column {names[1]!r} has {kinds[1]}; convert one, "
            "so that it is clear which vertices are the same"
        )
    if kinds[0] == "integers":
        from gravel.stages.vertex_ids.integers import number_integers

        ends = [_as_numpy(column) for column in columns]
        if (there := _far_apart_on_device(ends, machine)) is not None:
            return there
        found = number_integers(ends)
        return Edges(found.columns[0], found.columns[1], Integers(found.distinct, found.first, found.ids))
    return _encoded(columns, machine)


def _far_apart_on_device(ends: list[Any], machine: Machine | None) -> Edges | None:
    """Number integers on the GPU; None where the host does so."""
    from gravel.stages.vertex_ids.integers import are_far_apart

    if machine is None or machine.backend != "cuda" or len(ends[0]) < LEAST_ON_DEVICE:
        return None
    if BYTES_PER_EDGE * len(ends[0]) > machine.device_memory or not are_far_apart(ends):
        return None
    import cupy

    from gravel.conversion.cupy import from_device
    from gravel.kernels.cuda.room import is_out_of_memory

    try:
        return from_device(*(cupy.asarray(each) for each in ends))
    except Exception as error:
        if is_out_of_memory(error):
            return None
        raise


def _of_one_type(columns: list[Any]) -> list[Any]:
    """Cast two columns of one kind to one type, without changing a moment."""
    import pyarrow

    from gravel.stages.texts.moments import kind_of, merged

    kinds = [column.type for column in columns]
    if kind_of(kinds[0]) is None:
        return [columns[0], columns[1].cast(kinds[0])]
    for kind in merged(kinds):
        try:
            return [column.cast(kind) for column in columns]
        except pyarrow.ArrowInvalid:
            continue
    raise ValueError(
        f"columns of {kinds[0]} and {kinds[1]} have moments that no unit of 64 bits holds exactly; round them"
    )


def _encoded(columns: list[Any], machine: Machine | None) -> Edges:
    from gravel.stages.vertex_ids.dictionary import UnsuitableIds, encode

    if columns[0].type != columns[1].type:
        columns = _of_one_type(columns)
    if machine is not None and machine.backend == "cuda" and len(columns[0]) >= LEAST_ON_DEVICE:
        found = encode_on_device(columns, machine.device_memory)
        if found is not None:
            dictionary, (first, second) = found
            return Edges(first, second, Encoded(dictionary))
    try:
        dictionary, (source, target) = encode(*columns)
    except UnsuitableIds as error:
        raise ValueError(str(error)) from None
    if len(dictionary) > MAX_TEXTS:
        raise ValueError(
            f"{len(dictionary):,} different ids; {MAX_TEXTS:,} fit one graph: number the vertices by integers"
        )
    return Edges(source, target, Encoded(dictionary))


def encode_on_device(columns: list[Any], device_memory: int) -> tuple[Dictionary, list[Any]] | None:
    """Number the ids of columns of one type without nulls, and return each column as vertices on the device.

    Returns None for ids that are no texts, and for those that the device has no room for.
    """
    import numpy

    from gravel.kernels.buffers import total
    from gravel.kernels.cuda.room import is_out_of_memory
    from gravel.kernels.ids import buffers
    from gravel.kernels.ids.text_cuda import MAX_ROWS, TextTable
    from gravel.stages.texts import Texts, ascending
    from gravel.stages.vertex_ids.dictionary import Dictionary, texts_in, values_of

    kind = columns[0].type
    parts = [texts_in(column) for column in columns]
    if any(part is None for part in parts):
        return None
    texts: list[Texts] = [text for part in parts if part is not None for text in part]
    rows = sum(text.size for text in texts)
    size = sum(int(text.offsets[-1] - text.offsets[0]) for text in texts)
    if not 0 < rows <= MAX_ROWS or total(buffers.texts(rows, size)) > device_memory:
        return None
    try:
        table = TextTable(texts)
        different = Texts(table.text, table.offsets)
        order = ascending(different)
        ranks = numpy.empty(len(order), numpy.uint32)
        ranks[order] = numpy.arange(len(order), dtype=numpy.uint32)
        vertices, first = [], 0
        for column in columns:
            vertices.append(table.vertices(ranks, first, first + len(column)))
            first += len(column)
    except Exception as error:
        if is_out_of_memory(error):
            return None
        raise
    return Dictionary(values_of(different.taken(order), kind)), vertices


def _as_numpy(column: Any) -> Any:
    return column.to_numpy() if column.num_chunks != 1 else column.chunk(0).to_numpy()
