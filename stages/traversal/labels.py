"""Labels of one search after another: mapped back to `symmetrize`'s vertex ids and written."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gravel.kernels.arrays import on_host

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from gravel.kernels.bfs import BFSResult
    from gravel.kernels.relabel_cuda import LabelsBack
    from gravel.stages.context import Context
    from gravel.stages.traversal.graph import SearchedGraph


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


class LabelWriter:
    """The output arrays, and the workspace to bring labels back.

    Labels of a device come back on the device, since scattered reads are an order of magnitude faster there,
    and are copied to the host after that.
    """

    def __init__(self, context: Context, graph: SearchedGraph, output: str, searches: int) -> None:
        self._on_device = graph.backend == "cuda" and context.keeps_device_arrays
        sink: Any = _OnDevice if self._on_device else context.sink
        self._rows = LabelRows(sink, graph.vertex_count, output, rows=searches)
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

    def append(self, result: BFSResult) -> tuple[NDArray[Any] | None, NDArray[Any] | None, float]:
        """Write one search's rows; returns them, valid until the next call, and the time to map them back."""
        distance, predecessor, milliseconds = result.distance, result.predecessor, 0.0
        if self._back is not None:
            distance, predecessor, milliseconds = self._back.run(distance, predecessor)
        if self._on_device:
            self._rows.append(distance, predecessor)
            # Levels are counted from the distances, where they are; a tree's on the host.
            return distance, None if distance is not None else on_host(predecessor), milliseconds
        distance, predecessor = on_host(distance), on_host(predecessor)
        self._rows.append(distance, predecessor)
        return distance, predecessor, milliseconds

    def close(self) -> tuple[Any, Any]:
        """End the arrays and hand them out."""
        return self._rows.close()


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
