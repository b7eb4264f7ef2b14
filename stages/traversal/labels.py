"""Labels of one search after another: mapped back to `symmetrize`'s vertex ids, written and counted.

The classes that the table of implementations names take results by `add`, which returns the fields of the
search's record, and by `close` return the fields of the artifact and those that all records share.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gravel.kernels.arrays import backend_of, on_host
from gravel.stages.context import Context, written
from gravel.stages.traversal.records import reached, work_record

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from gravel.kernels.bfs import BFSResult
    from gravel.kernels.components import ComponentsResult
    from gravel.kernels.relabel_cuda import LabelsBack
    from gravel.kernels.sssp import SSSPResult
    from gravel.stages.traversal.graph import SearchedGraph
    from gravel.stages.traversal.parameters import TraverseParameters


TYPES = ("int8", "int16", "int32")
"""What distances are stored as: most graphs are so shallow that a byte holds them."""


def smallest_type(depth: int) -> numpy.dtype[Any]:
    """Return the first of `TYPES` that holds distances from -1 up to `depth`."""
    import numpy

    return numpy.dtype(next(name for name in TYPES if depth <= numpy.iinfo(name).max))


class Distances:
    """Rows of distances; `make(dtype)` starts their array, a sink or anything that appends as one does.

    A search that is deeper than those before it has their rows written once more, in a wider type.
    """

    def __init__(self, make: Callable[[numpy.dtype[Any]], Any]) -> None:
        self._make = make
        self._type = smallest_type(0)
        self._rows: Any = None

    def append(self, distance: NDArray[numpy.int32]) -> None:
        """Add the distances of one search: int32 (vertices,), NumPy or CuPy, -1 for what it did not reach."""
        self._fit(smallest_type(int(distance.max())))
        self._rows.append(distance.astype(self._type).reshape(1, -1))

    def close(self) -> Any:
        """End the array and hand it out, (searches, vertices)."""
        self._fit(self._type)
        return self._rows.close()

    def _fit(self, wanted: numpy.dtype[Any]) -> None:
        if self._rows is None:
            self._rows, self._type = self._make(wanted), wanted
        elif wanted.itemsize > self._type.itemsize:
            narrow = self._rows.close()
            self._rows, self._type = self._make(wanted), wanted
            for row in range(len(narrow)):
                self._rows.append(narrow[row : row + 1].astype(wanted))


class LabelRows:
    """Distances and predecessors of one search after another, each an array with a row for each search.

    `sink(dtype, row_shape, **facts)` starts such an array; there is none for what `output` leaves out.
    """

    def __init__(self, sink: Callable[..., Any], vertex_count: int, output: str, **facts: Any) -> None:
        import numpy

        row = (vertex_count,)
        self.tree = numpy.int32 if vertex_count < 1 << 31 else numpy.int64
        self.distances: Distances | None = None
        if output in ("both", "distance"):
            self.distances = Distances(lambda dtype: sink(dtype, row, **facts))
        self.predecessors = sink(self.tree, row, **facts) if output in ("both", "predecessor") else None

    def append(self, distance: Any | None, predecessor: Any | None) -> None:
        """Add the labels of one search, (vertices,) each; what the output leaves out is not looked at."""
        if self.distances is not None and distance is not None:
            self.distances.append(distance)
        if self.predecessors is not None and predecessor is not None:
            self.predecessors.append(predecessor.reshape(1, -1))

    def close(self) -> tuple[Any, Any]:
        """End the arrays and hand them out, None for what there is not."""
        return (
            None if self.distances is None else self.distances.close(),
            None if self.predecessors is None else self.predecessors.close(),
        )


class Labels:
    """What searches of one graph find, and how it gets into a traversal."""

    def __init__(
        self, context: Context, graph: SearchedGraph, parameters: TraverseParameters, searches: int
    ) -> None:
        self._context, self._graph, self._searches = context, graph, searches

    def add(self, source: Any, result: Any) -> dict[str, Any]:
        """Take what a search found; returns fields of its record."""
        raise NotImplementedError

    def warm(self, result: Any) -> None:
        """Compile what mapping back takes the time of a search for."""

    def notes(self) -> list[str]:
        """Say what the labels alone do not tell."""
        return []


class SearchLabels(Labels):
    """Distances and predecessors of breadth-first searches, and the workspace to bring them back.

    Labels of a device come back on the device, since scattered reads are an order of magnitude faster there,
    and are copied to the host after that.
    """

    def __init__(
        self, context: Context, graph: SearchedGraph, parameters: TraverseParameters, searches: int
    ) -> None:
        super().__init__(context, graph, parameters, searches)
        self._on_device = graph.backend == "cuda" and context.keeps_device_arrays
        sink: Any = _OnDevice if self._on_device else context.sink
        self._rows = LabelRows(sink, graph.vertex_count, parameters.output, rows=searches)
        self._back: _OnHost | LabelsBack | None = None
        if graph.permutation is not None:
            made: type[_OnHost | LabelsBack] = _OnHost
            if graph.backend == "cuda":
                from gravel.kernels import relabel_cuda

                made = relabel_cuda.LabelsBack
            self._back = made(
                graph.permutation,
                distance=self._rows.distances is not None,
                predecessor=self._rows.predecessors is not None,
                tree=self._rows.tree,
            )

    def add(self, source: int, result: BFSResult) -> dict[str, Any]:
        """Write the labels of one search, and count what it reached."""
        distance, predecessor, milliseconds = result.distance, result.predecessor, 0.0
        if self._back is not None:
            distance, predecessor, milliseconds = self._back.run(distance, predecessor)
        if self._on_device:
            self._rows.append(distance, predecessor)
            # Levels are counted from the distances, where they are; a tree's on the host.
            predecessor = None if distance is not None else on_host(predecessor)
        else:
            distance, predecessor = on_host(distance), on_host(predecessor)
            self._rows.append(distance, predecessor)
        return {
            "map_back_milliseconds": milliseconds,
            "batch": result.batch,
            **work_record(result),
            **reached(self._graph, source, result, distance, predecessor),
        }

    def close(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """End the arrays."""
        distance, predecessor = self._rows.close()
        return {"distance": distance, "predecessor": predecessor}, {}


class _OnDevice:
    """Rows that are gathered on the device, and leave it once, at the end; `rows` are as many as come."""

    def __init__(self, dtype: Any, row_shape: tuple[int, ...], *, rows: int) -> None:
        import cupy

        self._whole = cupy.empty((rows, *row_shape), dtype)
        self._filled = 0

    def append(self, rows: Any) -> None:
        self._whole[self._filled : self._filled + len(rows)] = rows
        self._filled += len(rows)

    def close(self) -> Any:
        return self._whole


class _OnHost:
    """As `gravel.kernels.relabel_cuda.LabelsBack`, on the CPU."""

    def __init__(self, permutation: NDArray[Any], *, distance: bool, predecessor: bool, tree: Any) -> None:
        import numpy

        from gravel.kernels.relabel import invert

        n = len(permutation)
        self._permutation = permutation
        self._distance = numpy.empty(n if distance else 0, numpy.int32)
        self._predecessor = numpy.empty(n if predecessor else 0, tree)
        self._inverse = numpy.empty_like(permutation)
        invert(permutation, self._inverse)

    def run(self, distance: Any | None, predecessor: Any | None) -> tuple[Any | None, Any | None, float]:
        from gravel.kernels.relabel import distances_back, predecessors_back

        started = time.perf_counter()
        if distance is not None:
            distances_back(self._permutation, distance, self._distance)
            distance = self._distance
        if predecessor is not None:
            predecessors_back(self._permutation, self._inverse, predecessor, self._predecessor)
            predecessor = self._predecessor
        return distance, predecessor, (time.perf_counter() - started) * 1e3


class PathLabels(Labels):
    """Distances and predecessors of shortest paths, of the type that a search finds them in, on the host."""

    def __init__(
        self, context: Context, graph: SearchedGraph, parameters: TraverseParameters, searches: int
    ) -> None:
        import numpy

        super().__init__(context, graph, parameters, searches)
        self._sinks: dict[str, Any] = {}
        self._degrees: NDArray[Any] = numpy.diff(numpy.asarray(graph.first_offsets))

    def warm(self, result: SSSPResult) -> None:
        """Compile what maps labels back."""
        labels_back(self._graph.permutation, result)

    def add(self, source: int, result: SSSPResult) -> dict[str, Any]:
        """Write the labels of one search, and count what it reached."""
        import numpy

        distance, predecessor, back = labels_back(self._graph.permutation, result)
        for name, label in (("distance", distance), ("predecessor", predecessor)):
            if label is not None:
                if name not in self._sinks:
                    self._sinks[name] = self._context.sink(label.dtype, label.shape, rows=self._searches)
                self._sinks[name].append(label.reshape(1, -1))
        found = numpy.isfinite(distance) & (distance >= 0)
        arcs = int(self._degrees[found].sum())
        extra = self._graph.extra_ends
        ends = arcs if extra is None else arcs + int(on_host(extra)[found].sum())
        return {
            "map_back_milliseconds": back,
            "batch": 1,
            "reached": int(found.sum()),
            "arcs": arcs,
            "edges": ends // 2 if self._graph.symmetric else arcs,
            "depth": 0,
            "levels": {"vertices": [], "arcs": [], "pulled": []},
            "rounds": result.rounds,
            "longest": distance[found].max().item(),
        }

    def close(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """End the arrays, (searches, vertices)."""
        return {name: sink.close() for name, sink in self._sinks.items()}, {}


def labels_back(permutation: Any, result: SSSPResult) -> tuple[Any, Any | None, float]:
    """Bring labels to the host and to the numbering before `permutation`; with the milliseconds of that."""
    import numpy

    from gravel.kernels.relabel import distances_back, invert, predecessors_back

    distance = on_host(result.distance)
    predecessor = None if result.predecessor is None else on_host(result.predecessor)
    if permutation is None:
        return distance, predecessor, 0.0
    started = time.perf_counter()
    there, distance = distance, numpy.empty_like(distance)
    distances_back(permutation, there, distance)
    if predecessor is not None:
        inverse = numpy.empty_like(permutation)
        invert(permutation, inverse)
        there, predecessor = predecessor, numpy.empty_like(predecessor)
        predecessors_back(permutation, inverse, there, predecessor)
    return distance, predecessor, (time.perf_counter() - started) * 1e3


class ComponentLabels(Labels):
    """The component of each vertex, as the last of several runs finds it."""

    _found: ComponentsResult | None = None

    def add(self, source: None, result: ComponentsResult) -> dict[str, Any]:
        """Keep the labels of the last run alone, so that those of the next take no more."""
        self._searches -= 1
        self._found = None if self._searches else result
        return {}

    def close(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Map the labels back where they were found, and write them."""
        found, graph = self._found, self._graph
        assert found is not None
        component, back = self._written(found.component)
        ends = graph.arc_count + (0 if graph.extra_ends is None else int(graph.extra_ends.sum()))
        record = {
            "map_back_milliseconds": back,
            "batch": 1,
            "reached": graph.vertex_count,
            "arcs": graph.arc_count,
            "edges": ends // 2 if graph.symmetric else graph.arc_count,
            "depth": 0,
            "levels": {"vertices": [], "arcs": [], "pulled": []},
        }
        return {"component": component, "converged": found.converged}, record

    def _written(self, component: Any) -> tuple[Any, float]:
        """Map labels back and write them; with the milliseconds of mapping."""
        component, back = components_back(self._graph.permutation, component)
        return written(self._context, on_host(component)), back

    def notes(self) -> list[str]:
        """Say what a strategy that passes over all arcs did."""
        if self._found is None or self._found.passes is None:
            return []
        count = self._found.passes
        passes = f"{count} pass{'' if count == 1 else 'es'} over all arcs"
        if self._found.converged:
            return [passes]
        return [f"{passes} left components in parts: the labels are not those of whole components"]


def components_back(permutation: Any, component: Any) -> tuple[Any, float]:
    """Bring labels to the numbering before `permutation`, where they lie; with the milliseconds of that."""
    if permutation is None:
        return component, 0.0
    if backend_of(component) == "cuda":
        from gravel.kernels.components.cuda.relabel import components_back as back_on_device

        found: tuple[Any, float] = back_on_device(permutation, component)
        return found
    import numpy

    from gravel.kernels import relabel

    smallest, result = numpy.empty_like(component), numpy.empty_like(component)
    started = time.perf_counter()
    relabel.components_back(permutation, component, smallest, result)
    return result, (time.perf_counter() - started) * 1e3
