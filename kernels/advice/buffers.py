"""Arrays of sampling a whole graph on the CPU; `gravel.kernels.buffers` adds them up."""

from __future__ import annotations

from gravel.kernels.buffers import Table, table


def growth(vertices: int, queued: int) -> Table:
    """The queue of the search that finds how deep a graph is, and what it has seen."""
    return table("host", queue=("i8", queued), seen=("u1", vertices, 0))


def sampled(vertices: int) -> Table:
    """What sampling takes of vertices at most: that search, with lengths of rows."""
    return *growth(vertices, vertices), *table("host", lengths=("i8", vertices))
