"""Arrays of building sorted rows; `vertex` is the type of columns, `gravel.kernels.buffers` adds them up."""

from __future__ import annotations

from gravel.kernels.buffers import Buffer, Table, edges, sorting, table

TILE = 256 * 16
"""Sorted keys that a block of a GPU takes: its threads, and ROUNDS of build.cu for each."""


ROW = Buffer("offset", "i8", 1).nbytes
"""Bytes of a row on either side: its offset."""


def keys(arcs: int, place: str = "device", *phases: str) -> Buffer:
    """Row and column of each arc, to be sorted; on the host column and weight."""
    return Buffer("keys", "u8", arcs, None, place, phases)


def unpacked(vertices: int, arcs: int, tile: int = TILE) -> Table:
    """What makes rows of sorted keys, but columns: offsets, the arcs before each tile, and those it keeps."""
    tiles = -(-arcs // tile)
    before, kept = ("i8", tiles + 1, 0), ("i8", tiles)
    return table(row_offsets=("i8", vertices + 1, 0), before=before, kept=kept)


def columns(arcs: int, vertex: str, place: str = "device", *phases: str) -> Buffer:
    """The columns of rows."""
    return Buffer("columns", vertex, arcs, None, place, phases)


def on_device(vertices: int, count: int, arcs: int, vertex: str) -> Table:
    """State what `gravel.kernels.csr.build` takes on a GPU at most, with its edges, `count` of them."""
    made = columns(arcs, vertex, "device", "unpacked")
    return *edges(count, vertex), keys(arcs), *unpacked(vertices, arcs), *sorting(arcs, "sorted"), made


def arc_of_range(vertex: str) -> Table:
    """What an arc of a range of rows takes on a GPU, which comes as an edge of its own."""
    return *edges(1, vertex), keys(1), *sorting(1)


def ends(vertices: int) -> Buffer:
    """Counts of arcs, which become the ends of rows; the first two elements stay free."""
    return Buffer("offsets", "i8", vertices + 2, 0, "host")


def on_host(vertices: int, arcs: int, vertex: str) -> Table:
    """What `gravel.kernels.csr.build` takes on the CPU beside its edges."""
    return ends(vertices), columns(arcs, vertex, "host")


def split(arcs: int) -> Table:
    """Columns and weights that sorted keys become."""
    return table("host", "split", "merged", columns=("u4", arcs), weights=("u4", arcs))


def weighted(vertices: int, arcs: int) -> Table:
    """What `gravel.kernels.csr.weighted.build_weighted` takes beside its edges.

    Where duplicates become one arc, what is left is copied.
    """
    copies = table("host", "merged", kept_columns=("u4", arcs), kept_weights=("u4", arcs))
    return ends(vertices), keys(arcs, "host", "split"), *split(arcs), *copies


def weighted_edges(count: int) -> Table:
    """Both ends of edges, and their weights as they are stored."""
    return *edges(count, "u4", "host"), *table("host", weights=("u4", count))


def reversed_rows(vertices: int, arcs: int, vertex: str, *, weights: bool) -> Table:
    """What `gravel.kernels.csr.reversed.reversed_rows` takes on the CPU; the tails of arcs come first."""
    if not weights:
        return *table("host", tails=(vertex, arcs)), *on_host(vertices, arcs, vertex)
    each = ("u4", arcs)
    return ends(vertices), *table("host", tails=each, order=("i8", arcs), columns=each, weights=each)


def both_ways(vertices: int, arcs: int, vertex: str, *, weights: bool) -> Table:
    """What building rows of arcs and of their reverses takes on the CPU; the tails of arcs come first."""
    tails = table("host", tails=("u4" if weights else vertex, arcs))
    return *tails, *(weighted(vertices, 2 * arcs) if weights else on_host(vertices, 2 * arcs, vertex))
