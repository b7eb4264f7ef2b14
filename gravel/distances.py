"""Distances between two sets of vertices."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from gravel.labels import Labelled, Labels
from gravel.measured_rows import searched_rows
from gravel.measures import chosen_vertices, since
from gravel.vertex_ids import Ids, listed, vertex_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.graphs import Graph


class Distances(Labelled):
    """The distance from each source to each target: `array`, int32 (sources, targets), -1 for unreached.

    Rows and columns are in the order of the arguments; tables have a row for each pair.
    """

    def __init__(
        self,
        ids: Ids,
        sources: NDArray[Any],
        targets: NDArray[Any],
        array: NDArray[Any],
        milliseconds: float,
    ) -> None:
        self.array = array
        self.milliseconds = milliseconds
        self._ids, self._sources, self._targets = ids, sources, targets

    def __getitem__(self, pair: tuple[Any, Any]) -> int:
        """Return the distance from a source to a target; raises KeyError for others."""
        places = [
            (vertices == vertex_of(self._ids, each)).nonzero()[0]
            for vertices, each in zip((self._sources, self._targets), pair, strict=True)
        ]
        if not all(map(len, places)):
            raise KeyError(f"the distance from {pair[0]!r} to {pair[1]!r} was not asked for")
        return int(self.array[places[0][0], places[1][0]])

    def __repr__(self) -> str:
        return f"<gravel.Distances: {len(self._sources):,} sources, {len(self._targets):,} targets>"

    def _columns(self) -> dict[str, Labels]:
        import numpy

        source = numpy.repeat(self._sources, len(self._targets))
        target = numpy.tile(self._targets, len(self._sources))
        return {
            "source": Labels("source", source, self._ids, vertices=True),
            "target": Labels("target", target, self._ids, vertices=True),
            "distance": Labels("distance", self.array.reshape(-1), self._ids, vertices=False),
        }


def distances(graph: Graph, sources: Any, targets: Any, direction: Any) -> Distances:
    """Compute distances between two sets; see `Graph.distances`."""
    import numpy

    from gravel.kernels.arrays import on_host
    from gravel.memory import refuse_need
    from gravel.stages.stage import Need

    begins, ends = chosen_vertices(graph, sources), chosen_vertices(graph, targets)
    size = 4 * len(begins) * len(ends)
    what = f"{len(begins):,} x {len(ends):,} distances"
    refuse_need(what, Need(size, 0, ()), graph._machine, graph._host_memory, "Ask for fewer at a time")
    started = time.perf_counter()
    array = numpy.empty((len(begins), len(ends)), numpy.int32)
    starts, others, rows = begins, ends, array
    if len(ends) < len(begins):  # the smaller set is searched from, against the direction
        starts, others, rows = ends, begins, array.T
        direction = {"out": "in", "in": "out"}.get(direction, direction)
    if not _found_together(graph._directed(direction), starts, others, rows):
        for place, name in enumerate(listed(graph._ids, starts)):
            labels = graph.bfs(name, "distance", direction=direction).distance
            assert labels is not None
            rows[place] = on_host(labels.array[others])
    return Distances(graph._ids, begins, ends, array, since(started))


def _found_together(graph: Graph, starts: NDArray[Any], others: NDArray[Any], rows: NDArray[Any]) -> bool:
    """Fill in distances by searches of many vertices at once, on a GPU with room for them; says if it did."""
    from gravel.errors import NotEnoughMemory
    from gravel.kernels.distances.between import batch_that_fits, distances_between
    from gravel.kernels.layouts.layout import body_name
    from gravel.stages.measuring.rows import where_searched

    machine, placement = graph._machine, graph._placement
    if machine.backend != "cuda" or placement not in ("auto", "device") or len(starts) < 2 or not len(others):
        return False
    if where_searched(graph._stored, placement, machine.device_memory) not in ("decoded", "encoded"):
        return False  # a single search may read rows in host memory
    try:
        there = searched_rows(graph, "distances")
    except NotEnoughMemory:
        return False
    # Of encoded rows the bytes are counted in the place of arcs.
    size = len(there.rows.arrays[body_name(there.rows)])
    batch = batch_that_fits(
        len(graph), size, there.rows.dtype.itemsize, len(starts), len(others), there.memory
    )
    if batch < 2:
        return False
    if there.permutation is not None:
        starts, others = there.permutation[starts], there.permutation[others]
    distances_between(there.rows, starts, others, symmetric=not graph.directed, batch=batch, into=rows)
    return True
