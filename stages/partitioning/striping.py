"""A graph striped over ranks, range by range (Merrill, Garland, Grimshaw 2012, section 6.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gravel.stages.partitioning.ranges import Rows, ranges

if TYPE_CHECKING:
    from gravel.kernels.partition import RankSize
    from gravel.kernels.partition.chunks import Share
    from gravel.stages.artifacts import Array, Graph
    from gravel.stages.context import Context

RANKS_AT_ONCE = 64
"""Ranks that are written in one pass over the graph: each has two arrays open."""


@dataclass(frozen=True)
class StripeTask:
    """Rows to divide among the ranks `low` to `high` - 1."""

    rows: Rows
    ranks: int
    low: int
    high: int


def stripe_range(task: StripeTask) -> list[Share]:
    """Divide a range's rows."""
    from gravel.kernels.striped import stripe_rows

    offsets, columns = task.rows.read()
    return stripe_rows(offsets, columns, task.rows.first, ranks=task.ranks, low=task.low, high=task.high)


def write_stripes(context: Context, graph: Graph, ranks: int) -> tuple[dict[str, Array], list[RankSize], int]:
    """Write all ranks' rows on all workers; returns the arrays by name, their sizes, the largest degree."""
    from gravel.kernels.partition import RankSize
    from gravel.stages.partitioning.writing import RankWriter

    arrays: dict[str, Array] = {}
    sizes: list[RankSize] = []
    largest = 0
    for low in range(0, ranks, RANKS_AT_ONCE):
        high = min(ranks, low + RANKS_AT_ONCE)
        writers = [
            RankWriter(context, rank, graph.column_indices.dtype, names=("nn",)) for rank in range(low, high)
        ]
        cuts = list(ranges(graph))
        tasks = (StripeTask(rows, ranks, low, high) for rows in cuts)
        for rows, shares in zip(cuts, context.map(stripe_range, tasks), strict=True):
            for writer, share in zip(writers, shares, strict=True):
                writer.add(share)
                largest = max(largest, int(share.lengths["nn"].max(initial=0)))
            context.progress(low * graph.arc_count + rows.end * (high - low), ranks * graph.arc_count, "arcs")
        for writer in writers:
            found, size = writer.close()
            arrays.update(found)
            sizes.append(RankSize((*size.arcs, 0, 0, 0), size.subgraph_bytes, size.list_bytes))
    return arrays, sizes, largest
