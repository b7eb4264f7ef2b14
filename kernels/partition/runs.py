"""Values of all ranks' vertices in the order of the graph's vertices, in runs that ranks put together.

A rank has every p-th vertex. Ranks that write labels of all vertices into one array write runs of it, which
end where pieces of the array do: no two ranks write to one piece.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.buffers import Table, table
from gravel.kernels.exchange import Endpoint, Ticket, swap

STEP = 1 << 19
"""Vertices that a rank puts together at once."""

Runs = Sequence[tuple[int, int]]
Steps = Generator[Ticket, dict[int, Any], None]


def runs_of(vertices: int, ranks: int, *, before: int, piece: int) -> list[Runs]:
    """Cut the vertices into runs for each rank, whose labels follow `before` elements of an array.

    A piece of the array is of the same rank whatever lies before.
    """
    together = piece * max(1, -(-vertices // (piece * ranks)))
    runs: list[list[tuple[int, int]]] = [[] for _ in range(ranks)]
    first = 0
    while first < vertices:
        place = before + first
        last = min(vertices, first + together - place % together)
        runs[place // together % ranks].append((first, last))
        first = last
    return list(runs)


def in_order_program(
    end: Endpoint,
    own: NDArray[Any],
    runs: Sequence[Runs],
    take: Callable[[int, NDArray[Any]], None],
    *,
    dtype: Any = None,
    step: int = STEP,
) -> Steps:
    """Give each rank the values of its runs: `take(first, values)` gets those of some vertices at a time.

    Parameters
    ----------
    own : of the own vertices; they travel as `dtype`.
    runs : of each rank, first vertices and those after the last.

    """
    kind = numpy.dtype(dtype or own.dtype)
    blocks = [
        [(low, min(low + step, last)) for first, last in of_rank for low in range(first, last, step)]
        for of_rank in runs
    ]

    def part(first: int, last: int) -> NDArray[Any]:
        ends = (-(-(each - end.rank) // end.size) for each in (first, last))
        return own[slice(*ends)].astype(kind, copy=False)

    for turn in range(max(map(len, blocks))):
        now = [of_rank[turn] if turn < len(of_rank) else (0, 0) for of_rank in blocks]
        parcels = {rank: part(*now[rank]) for rank in end.others}
        arrived = yield from swap(end, parcels)
        first, last = now[end.rank]
        if first == last:
            continue
        arrived[end.rank] = part(first, last)
        values = numpy.empty(last - first, kind)
        for rank, some in arrived.items():
            values[(rank - first) % end.size :: end.size] = some
        take(first, values)


def putting_in_order(vertices: int, dtype: str) -> Table:
    """What a rank takes for that: values as they go, as they come, and in order."""
    return table("host", ordered=(dtype, (3, min(vertices, STEP))))
