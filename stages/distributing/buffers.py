"""Arrays of a rank that builds its part of a graph from files, all within its `memory`.

An eighth is for edges and ids on their way, and what vertices take comes next: the rest is for arcs, most of
which are on disk. While ids are numbered there are no arcs, and a quarter is for sorting them.
"""

from __future__ import annotations

from typing import NamedTuple

from gravel.kernels.buffers import Buffer, Table, during, edges, table, total, vertex_type
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
    """Return what a rank takes at most for its own vertices and for those of the graph, delegates aside.

    Arcs are counted and sorted into rows, which get offsets; there is a census, and the rows are divided.
    """
    kinds = {each.name: each for each in kinds_of_arcs(own)}
    return (
        *counted_rows(own, "sorted"),
        *during((offsets(own),), "sorted", "census", "divided"),
        *known_degrees(vertices, "host", "census"),
        *table("host", "census", classes=("u1", own)),
        *during((kinds["nn"], kinds["nd"]), "divided", "turned"),
        *during((kinds["half"],), "divided"),
        *table("host", "turned", sources=("u4", (2, own))),
    )


def of_delegates(vertices: int) -> Table:
    """Return what delegates take, a sixteenth of the vertices: gathered, in an index, and with their rows."""
    count = vertices // 16
    return (
        *table("host", "census", gathered=("i8", (3, count))),
        *delegate_index(vertices, "host", "divided"),
        *table("host", "divided", "turned", delegates=("i8", (2, count))),
        *table("host", "turned", rows=("i8", (2, count))),
    )


def building(own: int, vertices: int, arcs: int, part: int, ranks: int, *, weighted: bool = False) -> Table:
    """Return what a rank takes that sends so many edges at once, and has all of its arcs in memory.

    With weights, these are keys that become columns and weights.
    """
    return (
        *exchanged(part, ranks, weighted=weighted),
        *of_vertices(own, vertices),
        *of_delegates(vertices),
        columns(2 * arcs, "u8" if weighted else vertex_type(vertices), "host"),
    )


class Room(NamedTuple):
    """The bytes that are left for arcs, whether what vertices take is in files, and why they are too few."""

    arcs: int
    in_files: bool
    problem: str


def room_for_arcs(memory: int, vertices: int, ranks: int) -> Room:
    """Divide the memory of each rank: vertices are in files where they leave too little for arcs."""
    left, least = memory - memory // EXCHANGED, memory // LEAST_ARCS
    delegates, own = of_delegates(vertices), of_vertices(-(-vertices // ranks), vertices)
    room = left - total((*delegates, *own), "host")
    if room >= least:
        return Room(room, False, "")
    room = left - total(delegates, "host")
    problem = f"{vertices:,} vertices leave {max(0, room):,} of {memory:,} bytes for the arcs of each rank"
    return Room(room, True, problem if room < least else "")
