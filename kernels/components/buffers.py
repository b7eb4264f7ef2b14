"""Arrays of searches for connected components, beside the rows that they read: a table for each of them.

Searches make their arrays from these tables (`gravel.kernels.buffers`), and plans state them by `on_device`.
`vertex` is the type of a vertex, "u4" or "u8".
"""

from __future__ import annotations

from gravel.kernels.buffers import Table, table, vertex_type
from gravel.kernels.strategy import strategies_in

HUB, TILE, COUNTERS = 4096, 2048, 80
"""Arcs of a row that is shared by the grid, vertices of a tile, and counters, as in afforest_tiles.cu and
tile.cuh."""

HUB_ARCS = 7 * 32
"""Arcs of a row of afforest_rows.cu's UNITS units at least, each but the last of 32 neighbours or more."""

HEADS = 2
"""First neighbours of every vertex that are joined before any row, as Sutton et al. take. Of rows in host
memory more took longer: 23.5 ms with what fits 5.8 GB, 16.2 with these (3.7 G arcs on an H200)."""


def columns(vertex: str, vertices: int, arcs: int) -> Table:
    """Arrays of afforest.cu: labels, rows of many arcs and their count, and a barrier."""
    one, hubs = ("u8", 1, 0), (vertex, arcs // HUB + 1)
    return table(component=(vertex, vertices), hubs=hubs, hub_count=one, arrivals=one)


def tiles(vertex: str, vertices: int, arcs: int, *, hub: int = HUB) -> Table:
    """Arrays of afforest_tiles.cu: labels, bits of who is alone, roots of tiles, rows of `hub` arcs or more.

    afforest_rows.cu has the same.
    """
    return table(
        component=(vertex, vertices),
        alone=("u4", vertices // 32 + 1),
        roots=(vertex, vertices // 8 + TILE),
        hubs=(vertex, arcs // hub + 1),
        counters=("u8", COUNTERS, 0),
    )


def heads(vertex: str, vertices: int, rounds: int) -> Table:
    """First neighbours of every vertex."""
    return table(heads=(vertex, (rounds, vertices)))


def back(vertex: str, vertices: int) -> Table:
    """Labels of a renumbered graph as they are brought back: the order, and the smallest vertex of each."""
    each = (vertex, vertices)
    return table(labels=each, order=each, smallest=each)


def on_device(strategy: str, vertices: int, arcs: int, stream: int | None) -> Table:
    """State at most what a search takes beside rows on the device; `stream` are bytes of encoded ones."""
    known = strategies_in("gravel.kernels.components").get(strategy)
    if known is not None and (own := known.own_buffers()) is not None:
        of_paper: Table = own(vertices, arcs, stream)
        return of_paper
    vertex = vertex_type(vertices)
    if stream is None:
        return tiles(vertex, vertices, arcs)
    return *heads(vertex, vertices, HEADS), *tiles(vertex, vertices, arcs, hub=HUB_ARCS)


def elsewhere(vertices: int, arcs: int) -> Table:
    """State at most what a search of rows that lie elsewhere takes on the device, with the rows' offsets.

    First neighbours and buffers are not among it: see `gravel.kernels.placement.plan`.
    """
    beside = table(offsets=("i8", vertices + 1), longer=("u4", vertices // 32 + 1))
    return *beside, *tiles(vertex_type(vertices), vertices, arcs, hub=HUB_ARCS)
