"""The ids of a caller's data, for the vertices 0, 1, 2, ... that kernels know."""

from __future__ import annotations

import bisect
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gravel.errors import UnknownVertex

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.stages.vertex_ids.dictionary import Dictionary

REMEMBERED = 1 << 16
"""Upper bound of the ids whose vertices are remembered."""


class Ids(ABC):
    """The ids of the vertices 0 to `count` - 1; `kind` says in a word what they are."""

    count: int
    kind: str

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes of the ids in memory."""

    @abstractmethod
    def find(self, value: Any) -> int:
        """Return the vertex of an id, -1 where there is none; raises TypeError for what cannot be one."""

    @abstractmethod
    def take(self, vertices: Any) -> Any:
        """Return the ids of vertices as an Arrow array; null for a negative number."""

    @abstractmethod
    def nearest(self, value: Any, count: int = 3) -> list[Any]:
        """List the ids most similar to one that does not occur."""

    def vertex(self, value: Any) -> int:
        """Return the vertex of an id; raises `UnknownVertex`, or TypeError for another kind of id."""
        found = self.find(value)
        if found < 0:
            raise UnknownVertex(value, self.kind, self.nearest(value))
        return found

    def find_all(self, values: Any) -> NDArray[Any]:
        """Return the vertices of ids: a sequence, a set, an array or a column. Raises as `vertex` does."""
        import numpy

        listed = values.to_pylist() if hasattr(values, "to_pylist") else list(several(values))
        return numpy.fromiter(map(self.vertex, listed), numpy.int64, len(listed))

    @abstractmethod
    def subset(self, vertices: NDArray[Any]) -> Ids:
        """Return the ids of some vertices, which ascend, as those of the vertices 0, 1, 2, ..."""

    def listed(self, vertices: NDArray[Any]) -> list[Any]:
        """Return the ids of vertices as Python objects; None for a negative number."""
        return list(self.take(vertices).to_pylist())

    def numpy(self, vertices: NDArray[Any]) -> NDArray[Any]:
        """Return the ids of vertices as a NumPy array.

        Integers come as int64, with `missing` for a negative vertex. All others come as Python objects, with
        None.
        """
        import numpy

        if self.kind == "integers":
            taken = self.take(vertices).fill_null(self.missing)
            found: NDArray[numpy.int64] = taken.to_numpy(zero_copy_only=False)
            return found.astype(numpy.int64, copy=False)
        array = numpy.empty(len(vertices), object)
        array[:] = self.listed(vertices)
        return array

    @property
    def missing(self) -> int:
        """The integer for a missing id: -1, or the smallest int64 where -1 is an id."""
        return -1 if self.find(-1) < 0 else -(1 << 63)

    def on_device(self, vertices: Any) -> Any:
        """Return the ids of vertices as a CuPy array; raises TypeError where they are no integers."""
        raise TypeError(f"{self.kind} cannot lie in a CuPy array; `array` has the positions of the vertices")


class Integers(Ids):
    """Integer ids, ascending: `values` (int64), or `first`, `first + 1`, ... where that is None."""

    kind = "integers"

    def __init__(self, count: int, first: int = 0, values: NDArray[Any] | None = None) -> None:
        self.count = count
        self.first = first
        self.values = values

    def __reduce__(self) -> Any:
        return Integers, (self.count, self.first, self.values)

    @property
    def nbytes(self) -> int:
        """Bytes of the ids in memory."""
        return 0 if self.values is None else int(self.values.nbytes)

    def find(self, value: Any) -> int:
        """Return the vertex of an id, -1 where there is none; raises TypeError for what is no integer."""
        if type(value) is not int:
            value = self._integer(value)
        if self.values is None:
            position: int = value - self.first
            return position if 0 <= position < self.count else -1
        place = self._place(value)
        return place if place < self.count and self.values[place] == value else -1

    def find_all(self, values: Any) -> NDArray[Any]:
        """Return the vertices of ids; integers of an array or a column are found together."""
        import numpy

        null = getattr(values, "null_count", 0)
        given = (
            numpy.asarray(values) if hasattr(values, "__array__") and not null else numpy.empty((), object)
        )
        if given.dtype.kind not in "iu" or given.ndim != 1 or given.dtype == numpy.uint64:
            return super().find_all(values)
        given = given.astype(numpy.int64, copy=False)
        if self.values is None:
            found, there = given - self.first, (given >= self.first) & (given < self.first + self.count)
        else:
            found = numpy.searchsorted(self.values, given)
            there = found < self.count
            there[there] = self.values[found[there]] == given[there]
        if not there.all():
            self.vertex(given[there.argmin()].item())
        return found

    def subset(self, vertices: NDArray[Any]) -> Ids:
        """Return the ids of some vertices, which ascend, as those of the vertices 0, 1, 2, ..."""
        values = vertices.astype("int64") + self.first if self.values is None else self.values[vertices]
        return Integers(len(values), values=values)

    def take(self, vertices: Any) -> Any:
        """Return the ids of vertices as an Arrow array; null for a negative number."""
        import numpy
        import pyarrow

        vertices = numpy.asarray(vertices)
        absent = vertices < 0 if vertices.dtype.kind == "i" else None
        if absent is not None and not absent.any():
            absent = None
        if self.values is None:
            return pyarrow.array(vertices.astype(numpy.int64) + self.first, mask=absent)
        inside = vertices if absent is None else numpy.where(absent, 0, vertices)
        return pyarrow.array(self.values[inside], mask=absent)

    def on_device(self, vertices: Any) -> Any:
        """Return the ids of vertices as a CuPy array of int64; `missing` for a negative number."""
        import cupy

        from gravel.kernels.ids.names_cuda import named

        return named(cupy.asarray(vertices), self.first, self._values_on_device, self.missing)

    @cached_property
    def _values_on_device(self) -> Any:
        import cupy

        return None if self.values is None else cupy.asarray(self.values)

    def nearest(self, value: Any, count: int = 3) -> list[Any]:
        """List the ids closest to a number."""
        place = value - self.first if self.values is None else self._place(value)
        begin = max(0, min(place - count // 2, self.count - count))
        import numpy

        return list(self.take(numpy.arange(begin, min(begin + count, self.count))).to_pylist())

    def _place(self, value: int) -> int:
        assert self.values is not None
        return bisect.bisect_left(self.values, value)

    def _integer(self, value: Any) -> int:
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            example = f", such as {self.nearest(self.first, 1)[0]!r}" if self.count else ""
            raise TypeError(f"{value!r} is no vertex of this graph, whose ids are integers{example}")
        return int(value.__index__())


class Encoded(Ids):
    """Ids of a dictionary, ascending: strings, UUIDs, dates, times."""

    def __init__(self, dictionary: Dictionary) -> None:
        from gravel.conversion.id_types import type_name

        self.dictionary = dictionary
        self.count = len(dictionary)
        self.kind = type_name(dictionary.values.type)
        self._remembered: dict[Any, int] = {}

    def __reduce__(self) -> Any:
        return Encoded, (self.dictionary,)

    @property
    def nbytes(self) -> int:
        """Bytes of the ids in memory."""
        return int(self.dictionary.values.nbytes)

    def find(self, value: Any) -> int:
        """Return the vertex of an id, -1 where there is none; raises TypeError for what cannot be one."""
        # Moments of NumPy that are equal may be of different kinds: a date, and a time with a date.
        key = type(value), getattr(value, "dtype", None), value
        try:
            return self._remembered[key]
        except KeyError:
            pass
        except TypeError:
            raise TypeError(f"a {type(value).__name__} is no vertex id: it is not hashable") from None
        if self.kind == "strings" and not isinstance(value, str):
            example = repr(self.dictionary.values[0].as_py()) if self.count else "none"
            raise TypeError(f"{value!r} is no vertex of this graph, whose ids are strings, such as {example}")
        try:
            found = int(self.dictionary.lookup([value])[0])
        except KeyError:
            return -1
        if len(self._remembered) < REMEMBERED:
            self._remembered[key] = found
        return found

    def find_all(self, values: Any) -> NDArray[Any]:
        """Return the vertices of ids; many are found together."""
        from gravel.stages.vertex_ids.dictionary import UnknownId

        arrow = hasattr(values, "to_pylist")
        try:
            return self.dictionary.lookup(values if arrow else several(values))
        except UnknownId as unknown:
            self.vertex(unknown.value)
            raise

    def subset(self, vertices: NDArray[Any]) -> Ids:
        """Return the ids of some vertices, which ascend, as those of the vertices 0, 1, 2, ..."""
        from gravel.stages.vertex_ids.dictionary import Dictionary

        return Encoded(Dictionary(self.take(vertices)))

    def take(self, vertices: Any) -> Any:
        """Return the ids of vertices as an Arrow array; null for a negative number."""
        return self.dictionary.take(vertices)

    def nearest(self, value: Any, count: int = 3) -> list[Any]:
        """List the ids most similar to one that does not occur."""
        return self.dictionary.nearest(value, count)


class Objects(Ids):
    """Ids that are Python objects of any hashable kind, as the nodes of a NetworkX graph."""

    kind = "Python objects"

    def __init__(self, values: Sequence[Hashable]) -> None:
        self.values = list(values)
        self.count = len(self.values)
        self._vertex = {value: vertex for vertex, value in enumerate(self.values)}

    def __reduce__(self) -> Any:
        return Objects, (self.values,)

    @property
    def nbytes(self) -> int:
        """Bytes of the list and of the table; the objects themselves are the caller's."""
        return 8 * self.count + self._vertex.__sizeof__()

    def find(self, value: Any) -> int:
        """Return the vertex of an id, -1 where there is none."""
        return self._vertex.get(value, -1)

    def listed(self, vertices: Any) -> list[Any]:
        """Return the ids of vertices; None for a negative number."""
        return [self.values[vertex] if vertex >= 0 else None for vertex in vertices.tolist()]

    def subset(self, vertices: NDArray[Any]) -> Ids:
        """Return the ids of some vertices, which ascend, as those of the vertices 0, 1, 2, ..."""
        return Objects(self.listed(vertices))

    def take(self, vertices: Any) -> Any:
        """Return the ids of vertices as an Arrow array; raises TypeError where Arrow has no type for them."""
        import numpy
        import pyarrow

        try:
            return pyarrow.array(self.listed(numpy.asarray(vertices)))
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, pyarrow.ArrowNotImplementedError) as error:
            raise TypeError(
                f"Arrow has no type for these ids ({error}); name the vertices by strings or integers"
            ) from None

    def nearest(self, value: Any, count: int = 3) -> list[Any]:
        """List the first ids of the same type as a value, or the first of all."""
        alike = [each for each in self.values if type(each) is type(value)]
        return (alike or self.values)[:count]


def several(ids: Any) -> Sequence[Any]:
    """Return ids as a sequence; one alone makes a sequence of one."""
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        return [ids]
    return ids if hasattr(ids, "__len__") else list(ids)  # type: ignore[return-value]
