"""Shortest paths between pairs of vertices, under the caller's ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from gravel.labels import Labelled, Labels
from gravel.vertex_ids import Ids, listed, several, vertex_of

if TYPE_CHECKING:
    from gravel.graphs import Graph
    from gravel.stages.turning import Direction

BY = ("auto", "arcs", "weights")


class Paths(Labelled):
    """Shortest paths of pairs, in the order in which they were asked for.

    `distance` has their lengths, -1 for none, or inf of float weights. `milliseconds` is the time of the
    searches.
    """

    def __init__(self, ids: Ids, sources: Any, targets: Any, found: Any) -> None:
        self.distance = found.length
        self.milliseconds = float(found.milliseconds)
        self._ids, self._sources, self._targets, self._found = ids, sources, targets, found

    def __len__(self) -> int:
        return len(self.distance)

    def __getitem__(self, pair: int) -> list[Any] | None:
        """Return the ids on a path, both ends included; None where there is none."""
        if self._found.vertices is None:
            raise ValueError("lengths alone were found; ask for output='both'")
        low, high = self._found.offsets[range(len(self))[pair] :][
            :2
        ]  # as lists do, IndexError beyond the end
        return listed(self._ids, self._found.vertices[low:high]) if low < high else None

    def __iter__(self) -> Iterator[list[Any] | None]:
        return (self[pair] for pair in range(len(self)))

    def lengths(self) -> list[int | float | None]:
        """Return the lengths as Python's numbers, None where there is no path."""
        return [each if 0 <= each < float("inf") else None for each in self.distance.tolist()]

    def __repr__(self) -> str:
        pairs = f"{len(self):,} pair{'' if len(self) == 1 else 's'}"
        return f"<gravel.Paths: {pairs} in {self.milliseconds:.3g} ms>"

    def _columns(self) -> dict[str, Labels]:
        return {
            "source": Labels("source", self._sources, self._ids, vertices=True),
            "target": Labels("target", self._targets, self._ids, vertices=True),
            "distance": Labels("distance", self.distance, self._ids, vertices=False),
        }


def between(
    graph: Graph,
    sources: Sequence[Any],
    targets: Sequence[Any],
    output: str,
    by: str,
    direction: Direction,
) -> Paths:
    """Find paths; see `Graph.paths`."""
    import numpy

    from gravel.rows import called
    from gravel.stages.pairs import find_between

    sources, targets = several(sources), several(targets)
    if len(sources) != len(targets):
        raise ValueError(f"there are {len(sources)} sources and {len(targets)} targets")
    if output not in ("both", "distance"):
        raise ValueError(f"output is {output!r}; it can be 'both' or 'distance'")
    starts, ends = (
        numpy.fromiter((vertex_of(graph._ids, each) for each in side), numpy.int64, len(side))
        for side in (sources, targets)
    )
    key = ("pairs", by, direction)
    prepared = graph._lent(key, lambda: _prepared(graph._directed(direction), by))
    found = called(find_between, *prepared, starts, ends, path=output == "both")
    graph._prepared[key] = prepared
    return Paths(graph._ids, starts, ends, found)


def _prepared(graph: Graph, by: str) -> tuple[Any, Any]:
    from gravel.memory import free_host_bytes, refuse_need
    from gravel.rows import called
    from gravel.shortest_paths import NEEDS_WEIGHTS
    from gravel.stages.compressing.weights import unpacked_weights
    from gravel.stages.pairs import prepare_pairs
    from gravel.stages.paths import STAGE, PathsParameters, RandomPairs
    from gravel.stages.traversal.opening import read_graph
    from gravel.stages.traversal.placing import extent_of

    if by not in BY:
        raise ValueError(f"by is {by!r}; it can be {', '.join(BY)}")
    stored, machine = graph._stored, graph._machine
    if by == "weights" and stored.weights is None:
        raise ValueError(NEEDS_WEIGHTS)
    asked, extent = PathsParameters(pairs=RandomPairs(random=1)), extent_of(stored)
    need = STAGE.estimate(asked, {"input": (extent,)}, machine)
    hint = "Use a machine with more memory, or a workflow with the stage paths"
    refuse_need(f"a path in {extent.vertices:,} vertices", need, machine, graph._host_memory, hint)
    weights = None if by == "arcs" else unpacked_weights(stored.weights)
    read = called(read_graph, stored, machine)
    room = free_host_bytes(machine, graph._host_memory is not None)[0]
    if read.backend == "cuda":
        rows = read.row_offsets.nbytes + read.columns.nbytes
        room = machine.device_memory - rows - (0 if weights is None else weights.nbytes)
    return read, called(prepare_pairs, read, weights, room)
