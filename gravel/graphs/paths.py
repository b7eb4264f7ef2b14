"""Shortest paths from one vertex by weights, and those between pairs of vertices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy

from gravel.conversion.ids import several
from gravel.graphs.prepared import searched_with
from gravel.graphs.stage_calls import InMemory, called
from gravel.kernels.arrays import on_host
from gravel.memory import free_host_bytes, refuse_need
from gravel.results.searches import Paths, ShortestPaths
from gravel.stages.rows.decoding import unpacked_weights

if TYPE_CHECKING:
    from gravel.conversion.ids import Ids
    from gravel.graphs.rows import PlacedRows
    from gravel.results.searches import TakeSubgraph
    from gravel.stages.turning import Direction

BY = ("auto", "arcs", "weights")

NEEDS_WEIGHTS = "shortest paths need weights, and this graph has none: gravel.graph(..., weights=...)"


class PreparedPaths:
    """Weighted rows, ready for one search after another."""

    def __init__(self, ids: Ids, search: Any, permutation: Any) -> None:
        self._ids, self._search, self._permutation = ids, search, permutation

    def run(self, source: Any, vertex: int, take: TakeSubgraph | None = None) -> ShortestPaths:
        """Search from a vertex; results have memory of their own. `take` makes subgraphs for them."""
        from gravel.stages.traversal.labels import labels_back

        permutation = self._permutation
        found = self._search.run(vertex if permutation is None else int(permutation[vertex]))
        if permutation is None:
            labels = found.distance, found.predecessor
        else:
            labels = labels_back(on_host(permutation), found)[:2]
        record = {"milliseconds": found.milliseconds, "strategy": self._search.strategy}
        return ShortestPaths(self._ids, source, vertex, lambda: labels, record, take=take)


def prepare_paths(
    rows: PlacedRows, ids: Ids, output: str, strategy: str, tuning: dict[str, Any]
) -> PreparedPaths:
    """Make weighted rows ready; raises ValueError for rows without weights, and `NotEnoughMemory`."""
    from gravel.stages.traversal.search import prepare_search

    if rows.stored.weights is None:
        raise ValueError(NEEDS_WEIGHTS)
    searched, parameters = searched_with(
        rows, algorithm="shortest_paths", strategy=strategy, output=output, tuning=tuning
    )
    search, _ = called(prepare_search, InMemory(rows.machine), searched, parameters)
    return PreparedPaths(ids, search, searched.permutation)


def between(
    rows: PlacedRows,
    ids: Ids,
    sources: Sequence[Any],
    targets: Sequence[Any],
    output: str,
    by: str,
    direction: Direction,
) -> Paths:
    """Find paths; see `Graph.paths`."""
    from gravel.stages.paths import find_between

    sources, targets = several(sources), several(targets)
    if len(sources) != len(targets):
        raise ValueError(f"there are {len(sources)} sources and {len(targets)} targets")
    if output not in ("both", "distance"):
        raise ValueError(f"output is {output!r}; it can be 'both' or 'distance'")
    starts, ends = (
        numpy.fromiter(map(ids.vertex, side), numpy.int64, len(side)) for side in (sources, targets)
    )
    key = ("pairs", by, direction)
    prepared = rows.lent(key, lambda: _prepare_pairs(rows.in_direction(direction), by))
    found = called(find_between, *prepared, starts, ends, path=output == "both")
    rows.prepared[key] = prepared
    return Paths(ids, starts, ends, found)


def _prepare_pairs(rows: PlacedRows, by: str) -> tuple[Any, Any]:
    from gravel.stages.paths import STAGE, PathsParameters, RandomPairs, prepare_pairs
    from gravel.stages.traversal.buffers import extent_of
    from gravel.stages.traversal.search import read_graph

    if by not in BY:
        raise ValueError(f"by is {by!r}; it can be {', '.join(BY)}")
    stored, machine = rows.stored, rows.machine
    if by == "weights" and stored.weights is None:
        raise ValueError(NEEDS_WEIGHTS)
    asked, extent = PathsParameters(pairs=RandomPairs(random=1)), extent_of(stored)
    need = STAGE.estimate(asked, {"input": (extent,)}, machine)
    hint = "Use a machine with more memory, or a workflow with the stage paths"
    refuse_need(f"a path in {extent.vertices:,} vertices", need, machine, rows.host_memory, hint)
    weights = None if by == "arcs" else unpacked_weights(stored.weights)
    read = called(read_graph, stored, machine)
    room = free_host_bytes(machine, rows.host_memory is not None)[0]
    if read.backend == "cuda":
        rows_bytes = read.row_offsets.nbytes + read.columns.nbytes
        room = machine.device_memory - rows_bytes - (0 if weights is None else weights.nbytes)
    return read, called(prepare_pairs, read, weights, room)
