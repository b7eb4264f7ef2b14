"""Vertex ids of any kind: integers, strings, UUIDs, dates; each distinct id is a vertex.

Integers are numbered ascending, as ingest numbers those of a file; all others by first appearance, the first
column before the second.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy
import pyarrow
from numpy.typing import NDArray

from gravel.kernels.index import index_dtype
from gravel.stages.vertex_ids.id_types import checked, plain, type_name
from gravel.stages.vertex_ids.integers import number_integers

MAX_IDS = (1 << 31) - 1
"""Distinct ids of Arrow's dictionaries, whose positions are 32-bit. Integers have no such limit."""

SIMILAR = 100_000
"""Texts among which the most similar are looked for; more would take seconds."""

REMEMBERED = 1 << 16
"""Looked-up ids that are kept, so that a search from the same source again costs nothing."""


@dataclass(frozen=True)
class Dictionary:
    """The ids of vertices 0 to `count - 1`.

    `values` has them in order. Consecutive integers are `first`, `first + 1`, ... and `values` is None.
    """

    count: int
    values: Any | None = None
    first: int = 0

    def __len__(self) -> int:
        return self.count

    @property
    def type(self) -> Any:
        """The Arrow type of the ids."""
        return pyarrow.int64() if self.values is None else self.values.type

    @property
    def kind(self) -> str:
        """What the ids are, in a word: `integers`, `strings`, `UUIDs`, `dates`, ..."""
        return type_name(self.type)

    @property
    def nbytes(self) -> int:
        """Bytes of the ids in memory."""
        return 0 if self.values is None else int(self.values.nbytes)

    @cached_property
    def integers(self) -> NDArray[Any] | None:
        """The ids as a NumPy array where they are integers with gaps between them, else None."""
        if self.values is None or not pyarrow.types.is_integer(self.type):
            return None
        found: NDArray[Any] = self.values.to_numpy(zero_copy_only=True)
        return found

    def take(self, vertices: Any) -> Any:
        """Return the ids of vertices as an Arrow array; null for a negative number."""
        vertices = numpy.asarray(vertices)
        absent = vertices < 0 if vertices.dtype.kind == "i" else None
        if absent is not None and not absent.any():
            absent = None
        if self.values is None:
            return pyarrow.array(vertices.astype(numpy.int64) + self.first, mask=absent)
        if absent is not None:
            return plain(self.values).take(pyarrow.array(vertices, mask=absent)).cast(self.type)
        return self.values.take(pyarrow.array(vertices))

    def lookup(self, values: Any) -> NDArray[numpy.int64]:
        """Return the vertex of each id, -1 for one that does not occur; raises TypeError for another kind."""
        asked = self._converted(values)
        if self.values is None or self.integers is not None:
            return self._integers_at(asked.to_numpy(zero_copy_only=False))
        import pyarrow.compute as compute

        own = plain(self.values)
        asked = plain(asked)
        # The table is built over what is asked for, which is little as a rule.
        found = compute.index_in(own, value_set=compute.unique(asked)) if len(asked) < len(own) else None
        if found is None:
            return numpy.asarray(compute.index_in(asked, value_set=own).fill_null(-1)).astype(numpy.int64)
        at = numpy.flatnonzero(numpy.asarray(found.is_valid()))
        positions = compute.index_in(asked, value_set=own.take(pyarrow.array(at)))
        here = numpy.asarray(positions.fill_null(-1)).astype(numpy.int64)
        return numpy.where(here < 0, -1, at[here] if len(at) else -1)

    def vertex(self, value: Any) -> int:
        """Return the vertex of one id, -1 where there is none; raises TypeError for another kind of id."""
        if self.values is None and type(value) is int:
            position = value - self.first
            return position if 0 <= position < self.count else -1
        try:
            return self._remembered[(type(value), value)]
        except (KeyError, TypeError):
            pass
        found = int(self.lookup([value])[0])
        if len(self._remembered) < REMEMBERED and found >= 0:
            self._remembered[(type(value), value)] = found
        return found

    def nearest(self, value: Any, count: int = 3) -> list[Any]:
        """List ids that are like a value that does not occur: the most similar texts, the next numbers."""
        if not self.count:
            return []
        if pyarrow.types.is_large_string(self.type):
            some = self.values.slice(0, SIMILAR).to_pylist() if self.values is not None else []
            return difflib.get_close_matches(str(value), some, count) or some[:count]
        try:
            asked = self._converted([value])
            if self.values is None or self.integers is not None:
                middle = self._place(int(asked[0].as_py()))
                first = max(0, min(middle - count // 2, self.count - count))
                return list(self.take(numpy.arange(first, min(first + count, self.count))).to_pylist())
        except (TypeError, ValueError):
            pass
        return list(self.take(numpy.arange(min(count, self.count))).to_pylist())

    @cached_property
    def _remembered(self) -> dict[Any, int]:
        return {}

    def _place(self, value: int) -> int:
        if self.integers is None:
            return value - self.first
        return int(numpy.searchsorted(self.integers, value))

    def _converted(self, values: Any) -> Any:
        """Bring ids to the type of this dictionary; raises TypeError where they are of another kind."""
        if isinstance(values, numpy.ndarray) and values.dtype.kind != "O":
            values = pyarrow.array(values)
        elif not isinstance(values, pyarrow.Array | pyarrow.ChunkedArray):
            values = list(values)
            try:
                values = pyarrow.array(values)
            except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
                values = pyarrow.array(list(map(str, values)))
        values = checked(values, "asked for")
        if isinstance(values, pyarrow.ChunkedArray):
            values = values.combine_chunks()
        if type_name(values.type) != self.kind and len(values):
            raise TypeError(
                f"{values[0].as_py()!r} is no id of this graph, whose ids are {self.kind}, such as "
                f"{self.take([0])[0].as_py()!r}"
                if self.count
                else "the graph has no vertices"
            )
        return values.cast(self.type)

    def _integers_at(self, asked: NDArray[Any]) -> NDArray[numpy.int64]:
        if self.integers is None:
            found = asked.astype(numpy.int64) - self.first
            return numpy.where((found >= 0) & (found < self.count), found, -1)
        places = numpy.searchsorted(self.integers, asked)
        inside = numpy.minimum(places, max(0, self.count - 1))
        return numpy.where((places < self.count) & (self.integers[inside] == asked), inside, -1)


def encode(
    *columns: Any, names: Sequence[str] = ("source", "target")
) -> tuple[Dictionary, list[NDArray[Any]]]:
    """Number the ids of several columns together.

    Parameters
    ----------
    columns : Arrow arrays, plain or chunked, of one kind of id.
    names : what the columns are called in messages.

    Returns
    -------
    The dictionary, and for each column its vertices, uint32 below 2^32 vertices, else uint64.

    Raises TypeError for types that are no ids and for columns of different kinds, and ValueError for nulls
    and for more distinct ids than a dictionary holds, each with the column and the row.

    """
    names = [*names, *map(str, range(len(names), len(columns)))]
    known = [checked(column, name) for column, name in zip(columns, names, strict=False)]
    kinds = [type_name(column.type) for column in known]
    for place, kind in enumerate(kinds[1:], 1):
        if kind != kinds[0]:
            raise TypeError(
                f"column {names[0]!r} has {kinds[0]} and column {names[place]!r} has {kind}; convert one of "
                "them, so that it is clear which vertices are the same"
            )
    if kinds and kinds[0] == "integers":
        numbered = number_integers([_as_numpy(column) for column in known])
        values = None if numbered.ids is None else pyarrow.array(numbered.ids)
        return Dictionary(numbered.count, values, numbered.first), numbered.columns
    return _encode_values(known)


def _as_numpy(column: Any) -> NDArray[Any]:
    found: NDArray[Any] = column.to_numpy() if column.num_chunks != 1 else column.chunk(0).to_numpy()
    return found


def _encode_values(columns: Sequence[Any]) -> tuple[Dictionary, list[NDArray[Any]]]:
    """Encode each column on a thread of its own, then number the ids of later ones among those of the first."""
    import pyarrow.compute as compute

    kinds = {column.type for column in columns}
    if len(kinds) > 1:
        columns = [column.cast(columns[0].type) for column in columns]
    storages = [plain(column) for column in columns]
    with ThreadPoolExecutor(max(1, len(storages))) as pool:
        encoded = list(pool.map(_encode_one, storages))
    own = columns[0].type
    values = encoded[0][0]
    codes = [encoded[0][1]]
    for others, positions in encoded[1:]:
        place = compute.index_in(others, value_set=values)
        missing = others.filter(place.is_null())
        if len(missing):
            values = pyarrow.concat_arrays([values, missing])
        numbers = numpy.asarray(place.fill_null(-1)).astype(numpy.int64)
        numbers[numbers < 0] = numpy.arange(len(values) - len(missing), len(values))
        codes.append(numbers.astype(numpy.uint32)[positions] if len(numbers) else positions)
    if len(values) > MAX_IDS:
        raise ValueError(
            f"{len(values):,} distinct ids; {MAX_IDS:,} fit a dictionary. Number the vertices yourself and "
            "give integers"
        )
    if isinstance(own, pyarrow.BaseExtensionType):
        values = pyarrow.ExtensionArray.from_storage(own, values)
    dtype = index_dtype(len(values))
    return Dictionary(len(values), values), [code.astype(dtype, copy=False) for code in codes]


def _encode_one(column: Any) -> tuple[Any, NDArray[Any]]:
    try:
        encoded = column.dictionary_encode()
    except (pyarrow.ArrowInvalid, pyarrow.lib.ArrowCapacityError) as error:
        raise ValueError(f"the ids do not fit a dictionary: {error}") from None
    if not encoded.num_chunks:
        return pyarrow.array([], column.type), numpy.zeros(0, numpy.uint32)
    whole = encoded.unify_dictionaries() if encoded.num_chunks > 1 else encoded
    parts = [numpy.asarray(chunk.indices).view(numpy.uint32) for chunk in whole.chunks]
    return whole.chunk(whole.num_chunks - 1).dictionary, parts[0] if len(parts) == 1 else numpy.concatenate(parts)
