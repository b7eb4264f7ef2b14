"""Vertex ids of any kind, as columns of Arrow: encoded as vertices, looked up, and mapped back.

A vertex is the rank of its id, ascending, as everywhere in gravel: so the result depends on the ids alone,
neither on the order of the rows, nor on chunks, nor on threads. Texts are in the order of their code points,
UUIDs, binary, numbers, dates and times in their own.
"""

from __future__ import annotations

import bisect
import difflib
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy
import pyarrow
import pyarrow.compute
from numpy.typing import NDArray

from gravel.kernels.arrays import index_dtype
from gravel.stages.texts import Texts, TextSet, moments

ROWS = 1 << 18
"""Rows that one thread encodes at a time."""

BISECTED = 64
"""More ids than this are looked up through a hash table of all."""

AROUND = 64
"""Sorted neighbours among which the nearest id is sought, on each side."""


class UnsuitableIds(ValueError):
    """A column that cannot hold ids; `column` and `row` (from 0) say where, if it is one row's fault."""

    def __init__(self, message: str, *, column: int | None = None, row: int | None = None) -> None:
        super().__init__(message)
        self.column, self.row = column, row


class UnknownId(KeyError):
    """An id that no vertex has: `value`, and the `nearest` ones that are."""

    def __init__(self, value: Any, nearest: Sequence[Any]) -> None:
        near = f"; the nearest is {nearest[0]!r}" if nearest else ""
        super().__init__(f"{value!r} is not a vertex of the graph{near}")
        self.value, self.nearest = value, tuple(nearest)

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True)
class Dictionary:
    """The id of each vertex: `values[v]`, ascending and without repetition, of the columns' type."""

    values: pyarrow.Array

    def __len__(self) -> int:
        return len(self.values)

    def lookup(self, values: Any) -> NDArray[Any]:
        """Return the vertices of ids, an array of Arrow or a sequence; raises `UnknownId` for one.

        A few ids are found by bisection, in some tens of microseconds each; many in one pass over all ids.
        """
        dtype = index_dtype(len(self.values))
        wanted: Any = values
        if not isinstance(values, pyarrow.Array | pyarrow.ChunkedArray):
            wanted = list(values)
            if len(wanted) <= BISECTED or self._ticks is not None:
                return numpy.array([self._vertex(value) for value in wanted], dtype)
            scalars = [self._scalar(value) for value in wanted]
            if None in scalars:
                value = wanted[scalars.index(None)]
                raise UnknownId(value, self.nearest(value))
            values = pyarrow.array(scalars, self.values.type)
        if isinstance(values, pyarrow.ChunkedArray):
            values = values.combine_chunks()
        if values.type != self.values.type:
            kinds = {moments.kind_of(each.type) for each in (values, self.values)}
            try:
                values = values.cast(self.values.type if len(kinds) == 1 else pyarrow.null())
            except pyarrow.ArrowException:
                for value in values:
                    self._vertex(value)
                raise
        found = pyarrow.compute.index_in(_storage(values), value_set=_storage(self.values))
        if found.null_count:
            row = found.is_null().index(True).as_py()
            value = wanted[row] if isinstance(wanted, list) else wanted[row].as_py()
            raise UnknownId(value, self.nearest(value))
        vertices: NDArray[Any] = found.to_numpy(zero_copy_only=False).astype(dtype)
        return vertices

    def nearest(self, value: Any, count: int = 3) -> list[Any]:
        """Return the ids that look most like one that is none: the most alike of its sorted neighbours."""
        found = self._place(value)
        if found is None or not len(self.values):
            return []
        place, ticks = found[0], self._ticks
        low, high = max(0, place - AROUND), min(len(self.values), place + AROUND)
        beside = [each for each in (place - 1, place) if low <= each < high]
        if ticks is not None:
            known = moments.ticks(value, self.values.type)
            return [self.values[min(beside, key=lambda at: abs(int(ticks[at]) - known[0]))].as_py()]  # type: ignore[index]
        around = self.values[low:high].to_pylist()
        if not isinstance(around[0], str):
            return [around[beside[0] - low]]
        alike = difflib.get_close_matches(str(value), around, count, 0.6)
        return alike or [max((around[at - low] for at in beside), key=lambda near: _shared(near, str(value)))]

    def take(self, vertices: Any) -> pyarrow.Array:
        """Return the ids of vertices; null for negative ones, as a predecessor that is none."""
        indices = numpy.asarray(vertices)
        if indices.dtype.kind == "u":
            return self.values.take(pyarrow.array(indices))
        return self.values.take(pyarrow.array(indices, mask=indices < 0))

    def _vertex(self, value: Any) -> int:
        found = self._place(value)
        if found is None or not found[1]:
            raise UnknownId(value, self.nearest(value))
        return found[0]

    @cached_property
    def _ticks(self) -> NDArray[Any] | None:
        """Moments as whole numbers, which are compared exactly; None for other ids."""
        return None if moments.kind_of(self.values.type) is None else moments.stored(self.values)

    def _place(self, value: Any) -> tuple[int, bool] | None:
        """Return where a value is or would be, and whether it is there; None where it cannot be an id."""
        if self._ticks is not None:
            found = moments.ticks(value, self.values.type)
            if found is None:
                return None
            place = bisect.bisect_left(self._ticks, found[0])
            return place, found[1] and place < len(self.values) and bool(self._ticks[place] == found[0])
        scalar = self._scalar(value)
        if scalar is None:
            return None
        # Of texts, the order of Python's str is that of code points, as that of the values.
        place = bisect.bisect_left(range(len(self.values)), scalar, key=lambda at: self.values[at].as_py())
        return place, place < len(self.values) and bool(self.values[place].as_py() == scalar)

    def _scalar(self, value: Any) -> Any:
        """Return a value as the values' type has it in Python; None where it cannot be one."""
        if value is None:
            return None
        try:
            plain = value.as_py() if isinstance(value, pyarrow.Scalar) else value
            if pyarrow.types.is_large_string(self.values.type) or pyarrow.types.is_string(self.values.type):
                return plain if isinstance(plain, str) else None
            if isinstance(self.values.type, pyarrow.UuidType):
                import uuid

                return plain if isinstance(plain, uuid.UUID) else uuid.UUID(plain)
            if hasattr(plain, "item"):
                plain = plain.item()
            if isinstance(plain, bool) != pyarrow.types.is_boolean(self.values.type):
                return None
            return pyarrow.scalar(plain, self.values.type).as_py()
        except (pyarrow.ArrowException, ValueError, TypeError, AttributeError, OverflowError):
            return None


def encode(
    *columns: pyarrow.ChunkedArray | pyarrow.Array, threads: int | None = None
) -> tuple[Dictionary, list[NDArray[Any]]]:
    """Number the ids that occur in the columns, and return each column as vertices.

    Vertices are uint32 below 2^32 of them, else uint64. Takes beside columns and results, of texts, some 100
    bytes and twice the bytes of each different one, and 24 bytes a row for the rows that threads are at; of
    other types 16 bytes for each different value.

    Raises `UnsuitableIds` for columns of several types, types that hold no ids, nulls and NaN.
    """
    chunked = [_chunked(column, number) for number, column in enumerate(columns)]
    kinds = {column.type for column in chunked}
    if len(kinds) > 1:
        raise UnsuitableIds(f"ids of one graph are of one type; found {', '.join(sorted(map(str, kinds)))}")
    kind = kinds.pop()
    for number, column in enumerate(chunked):
        _check(column, number)
    as_texts = _texts_of(kind)
    run = partial(_on_threads, threads or os.cpu_count() or 1)
    if as_texts is None:
        return _encode_values(chunked, kind, run)
    known = TextSet()
    coded = [run(lambda part: known.add(as_texts(part)), _parts(column)) for column in chunked]
    texts, ranks = known.ranked(index_dtype(known.count))
    encoded = [_joined(run(lambda codes: ranks[codes], parts), ranks.dtype) for parts in coded]
    return Dictionary(values_of(texts, kind)), encoded


def _on_threads(threads: int, function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
    """Apply a function; Arrow, NumPy and our kernels let go of Python meanwhile."""
    with ThreadPoolExecutor(threads, thread_name_prefix="gravel-ids") as pool:
        return list(pool.map(function, items))


def _chunked(column: Any, number: int) -> pyarrow.ChunkedArray:
    if isinstance(column, pyarrow.Array):
        column = pyarrow.chunked_array([column])
    kind = column.type
    if pyarrow.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = kind.value_type
    types = pyarrow.types
    if types.is_string(kind) or types.is_string_view(kind):
        return column.cast(pyarrow.large_string())
    if types.is_binary(kind) or types.is_binary_view(kind):
        return column.cast(pyarrow.large_binary())
    suitable = (
        _texts_of(kind) is not None
        or types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_temporal(kind)
        or types.is_decimal(kind)
        or types.is_boolean(kind)
    )
    if not suitable or types.is_interval(kind):
        raise UnsuitableIds(
            f"column {number} holds {kind}; ids are texts, whole numbers, UUIDs, dates or times",
            column=number,
        )
    return column


def _check(column: pyarrow.ChunkedArray, number: int) -> None:
    if column.null_count:
        row = column.is_null().index(True).as_py()
        raise UnsuitableIds(
            f"row {row:,} (from 0) of column {number} is null; each edge needs two ids",
            column=number,
            row=row,
        )
    if pyarrow.types.is_floating(column.type):
        row = pyarrow.compute.is_nan(column).index(True).as_py()
        if row >= 0:
            raise UnsuitableIds(
                f"row {row:,} (from 0) of column {number} is NaN, which is no id", column=number, row=row
            )


def _parts(column: pyarrow.ChunkedArray) -> list[pyarrow.Array]:
    return [chunk.slice(first, ROWS) for chunk in column.chunks for first in range(0, len(chunk), ROWS)]


def _joined(parts: list[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return numpy.concatenate(parts) if parts else numpy.empty(0, dtype)


def _texts_of(kind: Any) -> Callable[[Any], Texts] | None:
    if pyarrow.types.is_large_string(kind) or pyarrow.types.is_large_binary(kind):
        return Texts.of
    fixed = kind.storage_type if isinstance(kind, pyarrow.UuidType) else kind
    if pyarrow.types.is_fixed_size_binary(fixed) and fixed.byte_width:
        return lambda part: _fixed_texts(_storage(part), fixed.byte_width)
    return None


def texts_in(column: pyarrow.ChunkedArray) -> list[Texts] | None:
    """Return the texts of a column's chunks, without nulls and not copied; None where values are no texts."""
    as_texts = _texts_of(column.type)
    return None if as_texts is None else [as_texts(chunk) for chunk in column.chunks if len(chunk)]


def _fixed_texts(part: Any, width: int) -> Texts:
    data = part.buffers()[1]
    offsets = width * numpy.arange(part.offset, part.offset + len(part) + 1)
    return Texts(numpy.frombuffer(data, numpy.uint8) if data else numpy.empty(0, numpy.uint8), offsets)


def values_of(texts: Texts, kind: Any) -> pyarrow.Array:
    """Return texts as an array of the type that they came from."""
    text = pyarrow.py_buffer(texts.text)
    if pyarrow.types.is_large_string(kind) or pyarrow.types.is_large_binary(kind):
        return pyarrow.Array.from_buffers(kind, texts.size, [None, pyarrow.py_buffer(texts.offsets), text])
    if isinstance(kind, pyarrow.UuidType):
        stored = pyarrow.Array.from_buffers(kind.storage_type, texts.size, [None, text])
        return pyarrow.ExtensionArray.from_storage(kind, stored)
    return pyarrow.Array.from_buffers(kind, texts.size, [None, text])


def _encode_values(
    columns: list[pyarrow.ChunkedArray], kind: Any, run: Callable[..., list[Any]]
) -> tuple[Dictionary, list[NDArray[Any]]]:
    """Number values that compare as numbers do."""
    parts = [_parts(column) for column in columns]
    found = run(pyarrow.compute.unique, [part for column in parts for part in column])
    occurring = pyarrow.concat_arrays(found).unique() if found else pyarrow.array([], kind)
    values = occurring.take(pyarrow.compute.sort_indices(occurring))
    dtype = index_dtype(len(values))

    numbers = values.to_numpy(zero_copy_only=False) if _searchable(kind) else None

    def vertices(part: Any) -> NDArray[Any]:
        if numbers is not None:
            codes = numpy.searchsorted(numbers, part.to_numpy(zero_copy_only=False))
        else:
            codes = pyarrow.compute.index_in(part, value_set=values).to_numpy(zero_copy_only=False)
        found: NDArray[Any] = codes.astype(dtype)
        return found

    return Dictionary(values), [_joined(run(vertices, column), dtype) for column in parts]


def _searchable(kind: Any) -> bool:
    """Whether NumPy has the values as numbers; a hash table of them for each part would take longer."""
    return bool(pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind))


def _storage(values: Any) -> Any:
    return values.storage if isinstance(values, pyarrow.ExtensionArray) else values


def _shared(one: str, other: str) -> int:
    """Count the characters that both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (ours, theirs) in pairs if ours != theirs), min(len(one), len(other)))
