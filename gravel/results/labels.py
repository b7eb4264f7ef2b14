"""Labels of all vertices, under the caller's ids."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from gravel.errors import tell_of_memory
from gravel.kernels.arrays import on_host
from gravel.pipeline.core.durations import format_seconds

if TYPE_CHECKING:
    import pandas
    from numpy.typing import NDArray

    from gravel.conversion.ids import Ids


SHOWN = 6
"""Number of values that `repr` shows."""


class _ToArrays:
    """What becomes NumPy's and CuPy's arrays by `to_numpy` and `to_cupy`."""

    def __getattr__(self, name: str) -> Any:
        if name in ("numpy", "cupy"):
            raise AttributeError(f"{type(self).__name__} has no {name}(): call to_{name}()")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class Labels(_ToArrays):
    """Values of all vertices, in the order of `graph.vertices`.

    `array` has them as the kernels made them, where the graph lies: NumPy's or CuPy's. Where the values are
    vertices (predecessors, components), it has their positions, and all methods give their ids. Of lengths of
    paths, -1 and inf say that there is none, which Arrow and pandas show as null.
    """

    def __init__(self, name: str, array: Any, ids: Ids, *, vertices: bool, lengths: bool = False) -> None:
        self.name = name
        self.array = array
        self._ids = ids
        self._vertices = vertices
        self._lengths = lengths

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, vertex: Any) -> Any:
        """Return the value of the vertex with this id; None where a vertex has no predecessor."""
        import numpy

        value = self.array[self._ids.vertex(vertex)].item()
        return self._ids.listed(numpy.array([value], numpy.int64))[0] if self._vertices else value

    def __repr__(self) -> str:
        host = on_host(self.array[:SHOWN])
        if self._lengths and host.dtype.kind == "f":
            host = host.astype("float32")  # the weights are: further digits are those of their rounding
        first = map(repr, self._ids.listed(host)) if self._vertices else map(str, host)
        more = ", ..." if len(self) > SHOWN else ""
        return f"<gravel.Labels: {self.name} of {len(self):,} vertices: {', '.join(first)}{more}>"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        found = self.to_numpy()
        return found if dtype is None else found.astype(dtype, copy=False)

    def to_numpy(self) -> NDArray[Any]:
        """Return the values as a NumPy array.

        A missing predecessor is -1 among integers (the smallest int64 where -1 is an id), else None. The
        distance of an unreached vertex is -1, or inf of float weights.
        """
        host = on_host(self.array)
        return self._ids.numpy(host) if self._vertices else host

    def to_cupy(self) -> Any:
        """Return the values as a CuPy array; raises TypeError where they are ids that are no integers."""
        if self._vertices:
            return self._ids.on_device(self.array)
        import cupy

        return cupy.asarray(self.array)

    def to_arrow(self) -> Any:
        """Return the values as an Arrow array, null for a missing predecessor and an unreached vertex."""
        import numpy
        import pyarrow

        host = on_host(self.array)
        if self._vertices:
            return self._ids.take(host)
        return pyarrow.array(host, mask=(host < 0) | numpy.isinf(host) if self._lengths else None)

    def to_pandas(self) -> pandas.Series[Any]:
        """Return the values as a pandas Series indexed by the vertices' ids.

        Distances are of a type with nulls: `Int32`, `Int64` or `Float64`. So are integers of predecessors.
        """
        import numpy

        values = self._series()
        values.index = as_series(self._ids.take(numpy.arange(len(self)))).array
        values.name = self.name
        return values

    def _series(self) -> pandas.Series[Any]:
        return as_series(self.to_arrow(), nullable=self._lengths)


class Labelled(_ToArrays, ABC):
    """A result as columns: `vertex` and labels, or `source`, `target` and the values of pairs or edges."""

    milliseconds: float

    def __init_subclass__(cls) -> None:
        tell_of_memory(cls)

    @property
    def _took(self) -> str:
        """How long the result took, as it is shown."""
        return format_seconds(self.milliseconds / 1e3)

    @abstractmethod
    def _columns(self) -> dict[str, Labels]:
        """Return the columns by name, `vertex` first."""

    def to_numpy(self) -> dict[str, Any]:
        """Return the columns by name as NumPy arrays, the ids first; all have one length."""
        return {name: each.to_numpy() for name, each in self._columns().items()}

    def to_cupy(self) -> dict[str, Any]:
        """Return the columns by name as CuPy arrays; raises TypeError where ids are no integers."""
        return {name: each.to_cupy() for name, each in self._columns().items()}

    def to_arrow(self) -> Any:
        """Return the columns as an Arrow table, the ids first."""
        import pyarrow

        return pyarrow.table({name: each.to_arrow() for name, each in self._columns().items()})

    def to_pandas(self) -> pandas.DataFrame:
        """Return the columns as a pandas DataFrame, the ids first."""
        import pandas

        return pandas.DataFrame({name: each._series() for name, each in self._columns().items()}, copy=False)


tell_of_memory(Labels)
tell_of_memory(Labelled)


def columns_of_pairs(
    ids: Ids, sources: Any, targets: Any, name: str, values: Any, *, lengths: bool = False
) -> dict[str, Labels]:
    """Return the columns of pairs of vertices that have a value each; `lengths` as of `Labels`."""
    return {
        "source": Labels("source", sources, ids, vertices=True),
        "target": Labels("target", targets, ids, vertices=True),
        name: Labels(name, values, ids, vertices=False, lengths=lengths),
    }


def as_series(array: Any, *, nullable: bool = False) -> Any:
    """Return an Arrow array as a pandas Series; integers stay integers where some are missing.

    With `nullable` numbers are of a type with nulls also where none is missing.
    """
    import pandas
    import pyarrow

    kind = array.type
    if pyarrow.types.is_integer(kind) and (nullable or array.null_count):
        name = str(kind).replace("uint", "UInt").replace("int", "Int")
    elif pyarrow.types.is_floating(kind) and nullable:
        name = "Float64"
    else:
        return array.to_pandas()
    return array.to_pandas(types_mapper={kind: pandas.api.types.pandas_dtype(name)}.get)
