"""The arcs that a search reads, counted from its distances where it does not count them itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gravel.kernels.arrays import on_host
from gravel.stages.traversal.encoded import columns_on_host
from gravel.stages.traversal.records import add_statistics

if TYPE_CHECKING:
    from gravel.kernels.bfs import Search
    from gravel.stages.traversal.graph import SearchedGraph

BOTTOM_UP = "arcs of bottom-up levels are counted: of each unvisited vertex up to the first in the frontier"


def add_gathered(
    graph: SearchedGraph, search: Search, starts: Sequence[int], records: Sequence[dict[str, Any]]
) -> list[str]:
    """Search once more from every start, and add `expanded`, the arcs that were read; returns notes.

    Where a search with statistics does not count arcs, those of levels that were searched bottom-up follow
    from the distances. They stay unknown in a search that gives none.
    """
    notes = add_statistics(graph, search, starts, records, None)
    pulled = [
        (start, record)
        for start, record in zip(starts, records, strict=True)
        if "expanded" not in record and record["levels"]["pulled"]
    ]
    if not pulled:
        return []
    from gravel.kernels.pulled import pulled_arcs

    offsets, columns = on_host(graph.row_offsets), columns_on_host(graph)
    for start, record in pulled:
        distance = on_host(search.run(start).distance)
        if distance is None:
            return notes
        levels = record["levels"]
        levels["expanded"] = list(levels["arcs"])
        for level in levels["pulled"]:
            levels["expanded"][level] = int(pulled_arcs(distance, offsets, columns, level))
        record["expanded"] = sum(levels["expanded"])
    return [BOTTOM_UP]
