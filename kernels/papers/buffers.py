"""Arrays of what papers search by, beside the rows that they read: see `gravel.kernels.bfs.buffers`."""

from __future__ import annotations

from gravel.kernels.bfs.buffers import CHECKPOINT_BYTES, Size, frontier_queues
from gravel.kernels.buffers import Table, table, vertex_type
from gravel.kernels.components.buffers import HUB_ARCS

ROUNDS, COUNTER_WORDS = 3, 32  # as in baselines/baseline.cuh
FLEX_PROGRESS = 4
HUB_DEGREE = 64  # arcs beyond which `flex` sets a vertex aside


def edge_queues(size: Size) -> Table:
    """Queues of vertices, and of ends and tails of arcs."""
    return frontier_queues(size, edges=True)


def vertex_queue(size: Size, *, words: int = 0) -> Table:
    """A queue that every vertex enters once, its counters, and words that a strategy has beside."""
    counters = ("u8", ROUNDS * COUNTER_WORDS, 0)
    beside = table(progress=("u8", words, 0)) if words else ()
    return *table(queue=(size.vertex, max(1, size.vertices)), counters=counters), *beside


def sliding_queue(size: Size) -> Table:
    """State at most what a search by one queue of vertices takes."""
    return vertex_queue(size, words=FLEX_PROGRESS)


def rounds(size: Size) -> Table:
    """Counters of a search that has no queue."""
    return table(counters=("u8", ROUNDS, 0))


def flex(size: Size, *, hubs: int, blocks: int) -> Table:
    """What a combined kernel of FlexBFS has beside its queue: vertices set aside, and shares of blocks."""
    return table(hubs=(size.vertex, max(1, hubs)), shares=("u8", blocks + 1, 0))


def flex_search(size: Size) -> Table:
    """State at most what a search by FlexBFS takes."""
    return *sliding_queue(size), *flex(size, hubs=size.arcs // HUB_DEGREE, blocks=1)


def passes(vertex: str, vertices: int, hubs: int) -> Table:
    """Arrays of passes.cu: labels, the largest component, whether a pass changed any, and long rows."""
    return table(component=(vertex, vertices), giant=(vertex, 1), changed=("u4", 1, 0), hubs=(vertex, hubs))


def passes_on_device(vertices: int, arcs: int, stream: int | None) -> Table:
    """State at most what passes take beside rows; `stream` are bytes of encoded ones."""
    vertex = vertex_type(vertices)
    checkpoints = table(checkpoints=(vertex, (stream or 0) // CHECKPOINT_BYTES))
    return *passes(vertex, vertices, arcs // HUB_ARCS + 1), *checkpoints
