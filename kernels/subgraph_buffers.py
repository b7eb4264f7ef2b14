"""Arrays of induced subgraphs and of cores; `gravel.kernels.buffers` adds them up."""

from __future__ import annotations

from gravel.kernels.buffers import Buffer, Table, table


def numbers(vertices: int, vertex: str, place: str = "device") -> Buffer:
    """The vertex of the subgraph that each row of the parent is, all ones for one that is not chosen."""
    return Buffer("number", vertex, vertices, (1 << 8 * int(vertex[1:])) - 1, place)


def row_ends(chosen: int, place: str = "device") -> Buffer:
    """Where the rows of chosen vertices end."""
    return Buffer("row_offsets", "i8", chosen + 1, 0, place)


def arcs_kept(arcs: int, vertex: str, weighted: bool, place: str = "device") -> Table:
    """Columns of the subgraph, and weights of 4 bytes where there are any."""
    return table(place, columns=(vertex, arcs), weights=("u4", arcs * weighted))


def on_host(vertices: int, chosen: int, arcs: int, vertex: str, *, weighted: bool) -> Table:
    """What `gravel.kernels.subgraph.induced` takes on the CPU: its result, and places and lengths of rows."""
    rows = table("host", at=("i8", chosen), lengths=("i8", chosen))
    made = *arcs_kept(arcs, vertex, weighted, "host"), row_ends(chosen, "host")
    return numbers(vertices, vertex, "host"), *rows, *made


def on_device(vertices: int, chosen: int, arcs: int, vertex: str, *, weighted: bool, permuted: bool) -> Table:
    """State at most what the same takes on a GPU, with the parent; keys sort rows that are `permuted`."""
    columns, weights = (vertex, arcs), ("u4", arcs * weighted)
    parent = table(parent_offsets=("i8", vertices + 1), parent_columns=columns, parent_weights=weights)
    made = *arcs_kept(arcs, vertex, weighted), row_ends(vertices)
    rows = table(starts=("i8", vertices), at=("u8", chosen), chosen=("u8", chosen))
    each = ("u8", arcs * permuted)
    sort = table(places=each, tails=each, keys=each, CUB=each)
    return *parent, *made, numbers(vertices, vertex), *rows, *sort


def cores(vertices: int) -> Table:
    """What `gravel.kernels.cores.core_numbers` takes; NumPy counts and sorts degrees, and numbers places."""
    each = ("i8", vertices)
    return table("host", place=each, NumPy=("i8", (3, vertices)))
