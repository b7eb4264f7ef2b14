"""Arrays of a rank that builds its part of a graph from files: of edges at once, and of vertices."""

from __future__ import annotations

from gravel.kernels.buffers import Table, table, vertex_type
from gravel.kernels.partition.distributor.buffers import counted_rows, kinds_of_arcs, known_degrees

EXCHANGED = 8
"""The share of the memory, one part of so many, that is on its way between ranks."""


def exchanged(part: int, ranks: int) -> Table:
    """Return the arrays of so many edges at once: they are read, turned into arcs that go, and others come.

    At worst all ranks send both arcs of all their edges here. The same room is for ids.
    """
    return table(
        "host",
        edges=("u8", (2, part)),
        rows=("u4", (2, part)),
        heads=("u8", (2, part)),
        came=("u8", (2 * ranks, part)),
        sent=("u8", (2, part)),
    )


def part_edges(memory: int, ranks: int, largest: int) -> int:
    """Choose how many edges a rank reads and sends at once, `largest` at most."""
    one = sum(each.nbytes for each in exchanged(1, ranks))
    return max(1 << 10, min(largest, memory // EXCHANGED // one))


def of_vertices(own: int, vertices: int) -> Table:
    """Return what a rank holds for each vertex, of its own and of the graph, while it divides its arcs."""
    words = -(-vertices // 64)
    return (
        *counted_rows(own),
        *kinds_of_arcs(own),
        *known_degrees(vertices),
        *table(
            "host",
            offsets=("i8", (2, own)),
            starts=("i8", (3, own)),
            words=("u8", words),
            before=("u4", words),
            delegates=(vertex_type(vertices), vertices // 8),
        ),
    )
