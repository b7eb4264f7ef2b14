"""The connected components of a graph, weak or strong ones."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from gravel.kernels.arrays import on_host
from gravel.results.labels import Labelled, Labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.conversion.ids import Ids


class Components(Labelled):
    """The component of every vertex; the id of a component is that of its first vertex.

    `milliseconds` is the time of finding them, `strategy` what found them.
    """

    def __init__(self, ids: Ids, labels: Any, milliseconds: float, strategy: str) -> None:
        self._ids = ids
        self._labels = labels
        self.milliseconds = milliseconds
        self.strategy = strategy

    @property
    def component(self) -> Labels:
        """The component of each vertex, as the id of its first vertex."""
        return Labels("component", self._labels, self._ids, vertices=True)

    @cached_property
    def _counts(self) -> NDArray[Any]:
        import numpy

        return numpy.bincount(on_host(self._labels), minlength=1)

    @property
    def count(self) -> int:
        """The number of components."""
        return int((self._counts > 0).sum())

    def __len__(self) -> int:
        return self.count

    @property
    def sizes(self) -> NDArray[Any]:
        """The vertices of each component, the largest first."""
        import numpy

        found: NDArray[Any] = numpy.sort(self._counts[self._counts > 0])[::-1]
        return found

    @property
    def largest(self) -> Any:
        """The ids of the largest component's vertices, as an Arrow array."""
        import numpy

        return self._members(int(numpy.argmax(self._counts)))

    def of(self, vertex: Any) -> Any:
        """Return the ids of all vertices in the component of a vertex, as an Arrow array."""
        return self._members(int(self._labels[self._ids.vertex(vertex)]))

    def same(self, one: Any, other: Any) -> bool:
        """Say whether two vertices are in one component."""
        first, second = (self._labels[self._ids.vertex(each)] for each in (one, other))
        return int(first) == int(second)

    def __repr__(self) -> str:
        largest = int(self.sizes[0]) if self.count else 0
        return (
            f"<gravel.Components: {self.count:,} of {self._ids.count:,} vertices, up to {largest:,} in one, "
            f"{self._took}, {self.strategy}>"
        )

    def _repr_html_(self) -> str:
        from gravel.results.picture import bars, table

        facts = {
            "components": f"{self.count:,} of {self._ids.count:,} vertices",
            "time": self._took,
            "strategy": self.strategy,
        }
        return table("gravel.Components", facts) + bars(
            "vertices of the largest components", self.sizes[:24].tolist()
        )

    def _columns(self) -> dict[str, Labels]:
        import numpy

        everything = Labels("vertex", numpy.arange(self._ids.count), self._ids, vertices=True)
        return {"vertex": everything, "component": self.component}

    def _members(self, label: int) -> Any:
        import numpy

        return self._ids.take(numpy.flatnonzero(on_host(self._labels) == label))
