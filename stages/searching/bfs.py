"""Searches from several sources: measured one by one, mapped back and streamed out."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from stages.errors import StageError
from stages.searching.strategy import checked_tuning, machine_name, refuse_choice

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kernels.bfs import BFSResult, Search
    from stages.artifacts import Measurement, Traversal
    from stages.context import Context, Sink
    from stages.searching.graph import SearchedGraph


def search_all(
    context: Context,
    graph: SearchedGraph,
    sources: NDArray[Any],
    *,
    strategy: str,
    output: str,
    max_depth: int | None,
    tuning: dict[str, Any],
) -> tuple[Traversal, Measurement]:
    """Search from every source, after one search that compiles and is not measured.

    Raises `StageError` for a strategy or a tuning constant that does not fit this graph.
    """
    import numpy

    from kernels.cuda.wake import wake
    from stages.artifacts import Measurement, Traversal

    search = _prepare(graph, strategy, output, max_depth, tuning)
    rows = _Rows(context, graph, output)
    records: list[dict[str, Any]] = []
    numbered = sources if graph.permutation is None else graph.permutation[sources].astype(numpy.int64)
    for done, (source, start) in enumerate(zip(sources.tolist(), numbered.tolist(), strict=True)):
        if done == 0:
            search.run(start)
        # Labels were copied to the host in between, and an idle GPU lowers its clocks.
        if graph.backend == "cuda":
            wake()
        result = search.run(start)
        distance, predecessor = rows.on_host(result)
        record = _counts(graph, start, result, distance, predecessor)
        back = rows.append(distance, predecessor)
        records.append(
            {
                "source": source,
                "milliseconds": result.milliseconds,
                "map_back_milliseconds": back,
                **record,
            }
        )
        context.progress(done + 1, len(sources), "searches")
    distances, predecessors = rows.close()
    notes = list(graph.notes)
    if max_depth is not None:
        notes.append(f"arcs of vertices at distance {max_depth} are counted, and were not followed")
    traversal = Traversal(
        algorithm="bfs",
        sources=numpy.asarray(sources, numpy.int64),
        distance=distances,
        predecessor=predecessors,
        vertex_count=graph.vertex_count,
        max_depth=max_depth,
    )
    measurement = Measurement(
        algorithm="bfs",
        strategy=search.strategy,
        reason=search.reason,
        backend=graph.backend,
        hardware=machine_name(context.machine, graph.backend),
        prepare_milliseconds=search.prepare_milliseconds,
        searches=records,
        notes=notes,
    )
    return traversal, measurement


def _prepare(
    graph: SearchedGraph, strategy: str, output: str, max_depth: int | None, tuning: dict[str, Any]
) -> Search:
    if graph.partition is not None:
        from kernels.partition import prepare as over_ranks

        refuse_choice(strategy, tuning)
        return over_ranks(graph.partition, output=output, max_depth=max_depth)
    from kernels.bfs import choose, prepare

    try:
        choice = choose(graph.row_offsets, graph.columns, symmetric=graph.symmetric, strategy=strategy)
        checked_tuning("kernels.bfs", choice.strategy, graph.backend, tuning)
        return prepare(
            graph.row_offsets,
            graph.columns,
            strategy=choice,
            output=output,
            symmetric=graph.symmetric,
            max_depth=max_depth,
            **tuning,
        )
    except ValueError as error:
        raise StageError(str(error)) from None


class _Rows:
    """The output arrays, and the workspace to bring labels back to `symmetrize`'s numbering."""

    def __init__(self, context: Context, graph: SearchedGraph, output: str) -> None:
        import numpy

        n = graph.vertex_count
        tree = numpy.int32 if n < 1 << 31 else numpy.int64
        self._permutation = graph.permutation
        self._distances: Sink | None = None
        self._predecessors: Sink | None = None
        if output != "predecessor":
            self._distances = context.sink(numpy.int32, (n,))
        if output != "distance":
            self._predecessors = context.sink(tree, (n,))
        if self._permutation is not None:
            from kernels.relabel import invert

            self._distance = numpy.empty(n if self._distances else 0, numpy.int32)
            self._predecessor = numpy.empty(n if self._predecessors else 0, tree)
            self._inverse = numpy.empty_like(self._permutation)
            invert(self._permutation, self._inverse)

    def on_host(self, result: BFSResult) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
        """Copy labels from the device, where they are there."""
        from kernels.strategy import backend_of

        labels = result.distance, result.predecessor
        distance, predecessor = (
            each.get() if each is not None and backend_of(each) == "cuda" else each for each in labels
        )
        return distance, predecessor

    def append(self, distance: NDArray[Any] | None, predecessor: NDArray[Any] | None) -> float:
        """Write one search's rows; returns the milliseconds that mapping them back took."""
        milliseconds = 0.0
        if self._permutation is not None:
            from kernels.relabel import distances_back, predecessors_back

            started = time.perf_counter()
            if distance is not None:
                distances_back(self._permutation, distance, self._distance)
                distance = self._distance
            if predecessor is not None:
                predecessors_back(self._permutation, self._inverse, predecessor, self._predecessor)
                predecessor = self._predecessor
            milliseconds = (time.perf_counter() - started) * 1e3
        if self._distances is not None and distance is not None:
            self._distances.append(distance.reshape(1, -1))
        if self._predecessors is not None and predecessor is not None:
            self._predecessors.append(predecessor.reshape(1, -1))
        return milliseconds

    def close(self) -> tuple[Any, Any]:
        """End the arrays and hand them out."""
        return (
            self._distances.close() if self._distances is not None else None,
            self._predecessors.close() if self._predecessors is not None else None,
        )


def _counts(
    graph: SearchedGraph,
    source: int,
    result: BFSResult,
    distance: NDArray[Any] | None,
    predecessor: NDArray[Any] | None,
) -> dict[str, Any]:
    """Count what a search reached, in the searched numbering and outside of the measured time."""
    import numpy

    from kernels.level_statistics import distances_of_tree, level_sums

    if distance is None:
        distance = numpy.empty(graph.vertex_count, numpy.int32)
        distances_of_tree(predecessor, source, distance)
    depth = int(distance.max())
    vertices, arcs = numpy.zeros(depth + 1, numpy.int64), numpy.zeros(depth + 1, numpy.int64)
    ends = graph.ends if graph.ends is not None else numpy.empty(0, numpy.int64)
    summed = level_sums(distance, graph.host_offsets, ends, vertices, arcs)
    total = int(arcs.sum())
    edges = total
    if graph.symmetric:
        edges = (int(summed) if graph.ends is not None else total) // 2
    return {
        "reached": int(vertices.sum()),
        "arcs": total,
        "edges": edges,
        "depth": depth,
        "levels": {
            "vertices": vertices.tolist(),
            "arcs": arcs.tolist(),
            "pulled": [level for level, way in enumerate(result.directions[: depth + 1]) if way == "pull"],
        },
    }
