"""Arrays of a rank that builds its part of a graph from files, all within its `memory`.

An eighth is for edges and ids on their way, and what vertices take comes next: the rest is for arcs, most of
which are on disk. While ids are numbered there are no arcs, and a quarter is for sorting them.
"""

from __future__ import annotations

from gravel.kernels.buffers import Buffer, Table, edges, table, total, vertex_type
from gravel.kernels.csr.buffers import columns
from gravel.kernels.partition.distributor.buffers import (
    PART_EDGES,
    arcs_by_owner,
    counted_rows,
    delegate_index,
    kinds_of_arcs,
    known_degrees,
)

WEIGHT = "u4"
"""The type of a weight, whichever of three it is: four bytes."""

EXCHANGED, SORTED, LEAST_ARCS = 8, 4, 8
"""Parts of the memory, one of so many: for what is on its way, for ids, and for arcs at least."""

LEAST_PART = 1 << 10
"""Edges that are sent at once at least: fewer are not worth a message."""


def exchanged(part: int, ranks: int, *, weighted: bool = False) -> Table:
    """Return the arrays of so many edges at once: they are read, turned into arcs that go, and others come.

    At worst all ranks send both arcs of all their edges here. The same room is for ids. With weights, which
    are read as float64, a column is 64 bits wide.
    """
    moved = table("host", came=("u8", (2 * ranks, part)), sent=("u8", (2, part)))
    if weighted:
        moved += table("host", rows=("u4", (2 * ranks, part)), read=("f8", part), weights=(WEIGHT, part))
    return *edges(part, "u8", "host"), *arcs_by_owner(2 * part, "u8"), *moved


def edges_at_once(memory: int, ranks: int, *, weighted: bool = False) -> int:
    """Choose how many edges a rank reads and sends at once."""
    each = total(exchanged(1, ranks, weighted=weighted), "host")
    return max(LEAST_PART, min(PART_EDGES, memory // EXCHANGED // each))


def offsets(rows: int) -> Buffer:
    """Offsets of rows."""
    return Buffer("offsets", "i8", rows + 1, 0, "host")


def weights(arcs: int, weight: str) -> Buffer:
    """Weights of arcs."""
    return Buffer("weights", weight, arcs, None, "host")


def of_vertices(own: int, vertices: int) -> Table:
    """Return what a rank takes at most for its own vertices and for those of the graph.

    Arcs are counted, rows get offsets, and arcs of each kind are counted; there are delegates and their rows.
    """
    return (
        *counted_rows(own),
        *kinds_of_arcs(own),
        *known_degrees(vertices),
        *delegate_index(vertices, "host"),
        *(offsets(own) for _ in range(4)),
        *table("host", NumPy=("i8", own), delegates=("i8", (5, vertices // 16))),
    )


def building(own: int, vertices: int, arcs: int, part: int, ranks: int, *, weighted: bool = False) -> Table:
    """Return what a rank takes that sends so many edges at once, and has all of its arcs in memory.

    With weights, these are keys that become columns and weights.
    """
    return (
        *exchanged(part, ranks, weighted=weighted),
        *of_vertices(own, vertices),
        columns(2 * arcs, "u8" if weighted else vertex_type(vertices), "host"),
    )


def room_for_arcs(memory: int, vertices: int, ranks: int) -> tuple[int, str]:
    """Return the bytes that each rank's vertices leave for arcs, and why these are too few, if they are."""
    room = memory - memory // EXCHANGED - total(of_vertices(-(-vertices // ranks), vertices), "host")
    if room >= memory // LEAST_ARCS:
        return room, ""
    return room, (
        f"{vertices:,} vertices over {ranks:,} ranks leave {max(0, room):,} of {memory:,} bytes for the arcs "
        "of each rank"
    )
