"""The ids that a caller's data has, for the vertices 0, 1, 2, ... that kernels know."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from gravel.errors import UnknownVertex

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray


class Ids(Protocol):
    """What a graph asks of its ids; see `gravel.encoded_ids`."""

    count: int

    @property
    def kind(self) -> str:
        """What the ids are, in a word."""
        ...

    @property
    def nbytes(self) -> int:
        """Bytes of the ids in memory."""
        ...

    def vertex(self, value: Any) -> int:
        """Return the vertex of an id, -1 where there is none."""
        ...

    def take(self, vertices: Any) -> Any:
        """Return the ids of vertices as an Arrow array; null for a negative number."""
        ...

    def on_device(self, vertices: Any) -> Any:
        """Return the ids of vertices as a CuPy array; raises TypeError where they are no integers."""
        ...

    def nearest(self, value: Any, count: int = 3) -> list[Any]:
        """List ids that are like one that does not occur."""
        ...


class Objects:
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

    def vertex(self, value: Any) -> int:
        """Return the vertex of an id, -1 where there is none."""
        return self._vertex.get(value, -1)

    def listed(self, vertices: Any) -> list[Any]:
        """Return the ids of vertices; None for a negative number."""
        return [self.values[vertex] if vertex >= 0 else None for vertex in vertices.tolist()]

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

    def on_device(self, vertices: Any) -> Any:
        """Raise TypeError."""
        raise not_for_devices(self.kind)

    def nearest(self, value: Any, count: int = 3) -> list[Any]:
        """List the first ids of the same type as a value, or the first of all."""
        alike = [each for each in self.values if type(each) is type(value)]
        return (alike or self.values)[:count]


def vertex_of(ids: Ids, value: Any) -> int:
    """Return the vertex of an id; raises `UnknownVertex`, or TypeError for another kind of id."""
    found = ids.vertex(value)
    if found < 0:
        raise UnknownVertex(value, ids.kind, ids.nearest(value))
    return found


def several(ids: Any) -> Sequence[Any]:
    """Return ids as a sequence; one alone makes a sequence of one."""
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        return [ids]
    return ids if hasattr(ids, "__len__") else list(ids)  # type: ignore[return-value]


def listed(ids: Ids, vertices: NDArray[Any]) -> list[Any]:
    """Return the ids of vertices as Python objects; None for a negative number."""
    return ids.listed(vertices) if isinstance(ids, Objects) else list(ids.take(vertices).to_pylist())


def not_for_devices(kind: str) -> TypeError:
    """Make the error of ids that are no integers and are asked for on a GPU."""
    return TypeError(f"{kind} cannot lie in a CuPy array; `array` has the positions of the vertices")


def missing_id(ids: Ids) -> int:
    """Return what stands for no vertex among integer ids: -1, or the smallest int64 where -1 is an id."""
    return -1 if ids.vertex(-1) < 0 else -(1 << 63)


def as_numpy(ids: Ids, vertices: NDArray[Any]) -> NDArray[Any]:
    """Return the ids of vertices as a NumPy array.

    Integers come as int64, with -1 for a negative vertex, or with the smallest int64 where -1 is an id. All
    others come as Python objects, with None.
    """
    import numpy

    if ids.kind == "integers":
        taken = ids.take(vertices).fill_null(missing_id(ids))
        found: NDArray[numpy.int64] = taken.to_numpy(zero_copy_only=False)
        return found.astype(numpy.int64, copy=False)
    array = numpy.empty(len(vertices), object)
    array[:] = listed(ids, vertices)
    return array
