"""Labels of all vertices, under the caller's ids."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from gravel.errors import tell_of_memory
from gravel.kernels.arrays import on_host

if TYPE_CHECKING:
    import pandas
    from numpy.typing import NDArray

    from gravel.conversion.ids import Ids


SHOWN = 6
"""Number of values that `repr` shows."""


class Labels:
    """Values of all vertices, in the order of `graph.vertices`.

    `array` has them as the kernels made them, where the graph lies: NumPy's or CuPy's. Where the values are
    vertices (predecessors, components), it has their positions, and all methods give their ids.
    """

    def __init__(self, name: str, array: Any, ids: Ids, *, vertices: bool) -> None:
        self.name = name
        self.array = array
        self._ids = ids
        self._vertices = vertices

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, vertex: Any) -> Any:
        """Return the value of the vertex with this id; None where a vertex has no predecessor."""
        import numpy

        value = self.array[self._ids.vertex(vertex)].item()
        return self._ids.listed(numpy.array([value], numpy.int64))[0] if self._vertices else value

    def __repr__(self) -> str:
        host = on_host(self.array[:SHOWN])
        first = self._ids.listed(host) if self._vertices else host.tolist()
        more = ", ..." if len(self) > SHOWN else ""
        return f"<gravel.Labels: {self.name} of {len(self):,} vertices: {', '.join(map(repr, first))}{more}>"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        found = self.numpy()
        return found if dtype is None else found.astype(dtype, copy=False)

    def numpy(self) -> NDArray[Any]:
        """Return the values as a NumPy array.

        A missing predecessor is -1 among integers (the smallest int64 where -1 is an id), else None.
        """
        host = on_host(self.array)
        return self._ids.numpy(host) if self._vertices else host

    def cupy(self) -> Any:
        """Return the values as a CuPy array; raises TypeError where they are ids that are no integers."""
        if self._vertices:
            return self._ids.on_device(self.array)
        import cupy

        return cupy.asarray(self.array)

    def to_arrow(self) -> Any:
        """Return the values as an Arrow array; a missing predecessor is null, an unreached distance -1."""
        import pyarrow

        host = on_host(self.array)
        return self._ids.take(host) if self._vertices else pyarrow.array(host)

    def to_pandas(self) -> pandas.Series[Any]:
        """Return the values as a pandas Series indexed by the vertices' ids."""
        import numpy

        values = as_series(self.to_arrow())
        values.index = as_series(self._ids.take(numpy.arange(len(self)))).array
        values.name = self.name
        return values


class Labelled(ABC):
    """A result as columns: `vertex` and labels, or `source`, `target` and the values of pairs or edges."""

    def __init_subclass__(cls) -> None:
        tell_of_memory(cls)

    @abstractmethod
    def _columns(self) -> dict[str, Labels]:
        """Return the columns by name, `vertex` first."""

    def numpy(self) -> dict[str, Any]:
        """Return the columns by name as NumPy arrays, the ids first; all have one length."""
        return {name: each.numpy() for name, each in self._columns().items()}

    def cupy(self) -> dict[str, Any]:
        """Return the columns by name as CuPy arrays; raises TypeError where ids are no integers."""
        return {name: each.cupy() for name, each in self._columns().items()}

    def to_arrow(self) -> Any:
        """Return the columns as an Arrow table, the ids first."""
        import pyarrow

        return pyarrow.table({name: each.to_arrow() for name, each in self._columns().items()})

    def to_pandas(self) -> pandas.DataFrame:
        """Return the columns as a pandas DataFrame, the ids first."""
        import pandas

        return pandas.DataFrame(
            {name: as_series(each.to_arrow()) for name, each in self._columns().items()}, copy=False
        )


tell_of_memory(Labels)
tell_of_memory(Labelled)


def columns_of_pairs(ids: Ids, sources: Any, targets: Any, name: str, values: Any) -> dict[str, Labels]:
    """Return the columns of pairs of vertices that have a value each."""
    return {
        "source": Labels("source", sources, ids, vertices=True),
        "target": Labels("target", targets, ids, vertices=True),
        name: Labels(name, values, ids, vertices=False),
    }


def as_series(array: Any) -> Any:
    """Return an Arrow array as a pandas Series; integers stay integers where some are missing."""
    import pandas
    import pyarrow

    if array.null_count and pyarrow.types.is_integer(array.type):
        return array.to_pandas(types_mapper={array.type: pandas.Int64Dtype()}.get)
    return array.to_pandas()
