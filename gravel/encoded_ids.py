"""Ids of one Arrow type: integers, which need no dictionary, and all others."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from gravel.vertex_ids import missing_id, not_for_devices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.stages.vertex_ids.dictionary import Dictionary

REMEMBERED = 1 << 16
"""Looked-up ids that are kept, so that a search from the same source again costs nothing."""


class Integers:
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

    def vertex(self, value: Any) -> int:
        """Return the vertex of an id, -1 where there is none; raises TypeError for what is no integer."""
        if type(value) is not int:
            value = self._integer(value)
        if self.values is None:
            position: int = value - self.first
            return position if 0 <= position < self.count else -1
        place = self._place(value)
        return place if place < self.count and self.values[place] == value else -1

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
        """Return the ids of vertices as a CuPy array of int64; `missing_id` for a negative number."""
        import cupy

        from gravel.kernels.ids.names_cuda import named

        return named(cupy.asarray(vertices), self.first, self._values_on_device, missing_id(self))

    @cached_property
    def _values_on_device(self) -> Any:
        import cupy

        return None if self.values is None else cupy.asarray(self.values)

    def nearest(self, value: Any, count: int = 3) -> list[Any]:
        """List the ids around a number."""
        place = value - self.first if self.values is None else self._place(value)
        begin = max(0, min(place - count // 2, self.count - count))
        import numpy

        return list(self.take(numpy.arange(begin, min(begin + count, self.count))).to_pylist())

    def _place(self, value: int) -> int:
        import bisect

        assert self.values is not None
        return bisect.bisect_left(self.values, value)

    def _integer(self, value: Any) -> int:
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            example = f", such as {self.nearest(self.first, 1)[0]!r}" if self.count else ""
            raise TypeError(f"{value!r} is no vertex of this graph, whose ids are integers{example}")
        return int(value.__index__())


class Encoded:
    """Ids of a dictionary, ascending: strings, UUIDs, dates, times."""

    def __init__(self, dictionary: Dictionary) -> None:
        from gravel.id_types import type_name

        self.dictionary = dictionary
        self.count = len(dictionary)
        self.kind = type_name(dictionary.values.type)

    def __reduce__(self) -> Any:
        return Encoded, (self.dictionary,)

    @property
    def nbytes(self) -> int:
        """Bytes of the ids in memory."""
        return int(self.dictionary.values.nbytes)

    @cached_property
    def _remembered(self) -> dict[Any, int]:
        return {}

    def vertex(self, value: Any) -> int:
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
            raise TypeError(
                f"{value!r} is no vertex of this graph, whose ids are strings, such as {self._example}"
            )
        try:
            found = int(self.dictionary.lookup([value])[0])
        except KeyError:
            return -1
        if len(self._remembered) < REMEMBERED:
            self._remembered[key] = found
        return found

    def take(self, vertices: Any) -> Any:
        """Return the ids of vertices as an Arrow array; null for a negative number."""
        return self.dictionary.take(vertices)

    def on_device(self, vertices: Any) -> Any:
        """Raise TypeError."""
        raise not_for_devices(self.kind)

    def nearest(self, value: Any, count: int = 3) -> list[Any]:
        """List the ids that are most like one that does not occur."""
        return self.dictionary.nearest(value, count)

    @property
    def _example(self) -> str:
        return repr(self.dictionary.values[0].as_py()) if self.count else "none"
