"""Vertex ids as the input file writes them, resolved to internal indices."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from gravel.stages.artifacts import Array, VertexIds
from gravel.stages.errors import StageError

BLOCK = 65_536  # ids read at once; half a chunk of the store

MAX_NAMED = 5  # unknown ids named in one message


def find_vertices(vertex_ids: VertexIds, wanted: Sequence[int]) -> tuple[int, ...]:
    """Return the internal index of each id.

    `vertex_ids.ids` is int64, ascending, and read in blocks around the places of a binary search. Raises
    StageError that names the ids that are not in the graph, each with the nearest one that is.
    """
    count = vertex_ids.vertex_count
    ascending: Any = (
        range(vertex_ids.first, vertex_ids.first + count)
        if vertex_ids.ids is None
        else _Blocks(vertex_ids.ids, count)
    )
    found, unknown = [], []
    for each in wanted:
        place = bisect.bisect_left(ascending, each)
        if place < count and ascending[place] == each:
            found.append(place)
            continue
        around = [int(ascending[at]) for at in (place - 1, place) if 0 <= at < count]
        nearest = min(around, key=lambda known: abs(known - each), default=None)
        unknown.append((each, nearest))
    if unknown:
        raise StageError(*_unknown_message(unknown, count))
    return tuple(found)


def _unknown_message(unknown: list[tuple[int, int | None]], count: int) -> tuple[str]:
    if count == 0:
        return (f"source {unknown[0][0]} is not in the graph, which has no vertices",)
    named = [f"{each} (the nearest id that is: {nearest})" for each, nearest in unknown[:MAX_NAMED]]
    more = f" and {len(unknown) - MAX_NAMED} more" if len(unknown) > MAX_NAMED else ""
    if len(unknown) == 1:
        return (f"source {named[0].replace(' (', ' is not in the graph (', 1)}",)
    return (f"these sources are not in the graph: {', '.join(named)}{more}",)


class _Blocks:
    """An array that is read a block at a time, for a search by bisection."""

    def __init__(self, array: Array, count: int) -> None:
        self.count = count
        self._block = lru_cache(maxsize=64)(lambda number: array[number * BLOCK : (number + 1) * BLOCK])

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, position: int) -> int:
        return int(self._block(position // BLOCK)[position % BLOCK])
