"""The connected components of a graph, weak or strong ones."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from gravel.kernels.arrays import on_host
from gravel.labels import Labelled, Labels
from gravel.vertex_ids import Ids, vertex_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.graphs import Graph


CONNECTIONS = ("weak", "strong")


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
        """How many components there are."""
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
        return self._members(int(self._labels[vertex_of(self._ids, vertex)]))

    def same(self, one: Any, other: Any) -> bool:
        """Say whether two vertices are in one component."""
        first, second = (self._labels[vertex_of(self._ids, each)] for each in (one, other))
        return int(first) == int(second)

    def __repr__(self) -> str:
        largest = int(self.sizes[0]) if self.count else 0
        return (
            f"<gravel.Components: {self.count:,} of {self._ids.count:,} vertices, up to {largest:,} in one, "
            f"{self.milliseconds:.3g} ms, {self.strategy}>"
        )

    def _repr_html_(self) -> str:
        from gravel.picture import bars, table

        facts = {
            "components": f"{self.count:,} of {self._ids.count:,} vertices",
            "time": f"{self.milliseconds:.3g} ms",
            "strategy": self.strategy,
        }
        return table("gravel.Components", facts) + bars(
            "vertices of the largest components", [int(each) for each in self.sizes[:24]]
        )

    def _columns(self) -> dict[str, Labels]:
        import numpy

        everything = Labels("vertex", numpy.arange(self._ids.count), self._ids, vertices=True)
        return {"vertex": everything, "component": self.component}

    def _members(self, label: int) -> Any:
        import numpy

        return self._ids.take(numpy.flatnonzero(on_host(self._labels) == label))


def find(graph: Graph, strategy: str, connection: str = "weak") -> Components:
    """Find the components of a graph; see `Graph.components`."""
    if connection not in CONNECTIONS:
        raise ValueError(f"connection is {connection!r}; it can be {', '.join(map(repr, CONNECTIONS))}")
    if connection == "strong" and (graph.directed or strategy != "auto"):
        return _find_strong(graph, strategy)
    from gravel.mapping import components_back
    from gravel.prepared import searched_graph
    from gravel.stages.traversal.components import prepared_find

    if not len(graph):
        import numpy

        return Components(graph._ids, numpy.zeros(0, numpy.uint32), 0.0, strategy)
    from gravel.rows import called

    searched, strategy = searched_graph(graph, strategy)
    run, _, _, _ = called(prepared_find, searched, strategy, {})
    found = called(run)
    labels = found.component
    if searched.permutation is not None:
        labels = components_back(searched.permutation, labels)
    elif labels is found.component and len(labels):
        labels = labels.copy() if getattr(labels, "base", None) is not None else labels
    return Components(graph._ids, labels, found.milliseconds, found.strategy)


def _find_strong(graph: Graph, strategy: str) -> Components:
    from gravel.kernels.strong_components import strong_components

    on_gpu = graph._machine.backend == "cuda"
    rows = _rows_on_gpu(graph) if on_gpu else tuple(map(on_host, _rows(graph)))
    found = strong_components(*rows, strategy=strategy)
    return Components(graph._ids, found.component, found.milliseconds, found.strategy)


def _rows_on_gpu(graph: Graph) -> tuple[Any, ...]:
    """Return the rows of successors and of predecessors on the GPU; raises as `Graph.components` does."""
    from gravel.kernels.placement.device_copies import on_device
    from gravel.kernels.strong_components.cuda.forward_backward import device_bytes
    from gravel.memory import refuse_device

    if graph._placement in ("pinned", "split", "streamed"):
        raise ValueError(
            f"strong components need rows in GPU memory or on the CPU, and these are {graph._placement}; "
            "place the graph with place('device') or place('host')"
        )
    rows = *_rows(graph), *_rows(graph._directed("in"))
    taken = device_bytes(len(graph), len(rows[1]), rows[1].dtype.itemsize)
    refuse_device("strong components", sum(int(each.nbytes) for each in rows) + taken, graph._machine)
    return tuple(map(on_device, rows))


def _rows(graph: Graph) -> tuple[Any, Any]:
    from gravel.arranging import plain_rows

    stored = plain_rows(graph)
    return stored.row_offsets, stored.column_indices
