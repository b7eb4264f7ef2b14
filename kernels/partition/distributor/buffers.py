"""Arrays of what divides a graph among ranks: of a graph by ranges of rows, and of one that ranks generate.

Bounds of counts come from plans, and counts from those who make the arrays (`gravel.kernels.buffers`).
"""

from __future__ import annotations

from dataclasses import dataclass

from gravel.kernels.buffers import Buffer, Table, during, edges, table, vertex_type
from gravel.kernels.csr.buffers import columns, keys

HISTOGRAM = 1 << 16
"""Counts of a histogram by degree (`gravel.kernels.partition.census`)."""

COUNTING_BLOCKS = 8
"""Blocks of rows that each thread counts with histograms of their own, for even work."""

TILE_ARCS = 2048
"""Arcs that a block divides at once (`gravel.kernels.partition.chunks_cuda`)."""

PIECE_ROWS = 1 << 20
"""Rows whose degrees a GPU counts together."""

PART_EDGES = 1 << 20
"""Edges that a rank makes between two barriers: 16 MiB of arcs in 32-bit ids, which hides what a barrier of
a few workers costs (about 1 ms)."""

PART_EDGES_CUDA = 1 << 26
"""The same on a GPU, which makes them in about 10 ms."""

SORT_ARCS = 1 << 27
"""Arcs that a GPU sorts at once, at 64-bit keys out of place."""


@dataclass(frozen=True)
class Size:
    """Sizes of a graph that is divided; `delegates` is a bound, and 0 for stripes.

    `ranks_at_once` are made in one pass over the graph.
    """

    vertices: int
    arcs: int
    ranks: int
    ranks_at_once: int
    delegates: int
    striped: bool

    @property
    def vertex(self) -> str:
        """Type of a vertex."""
        return vertex_type(self.vertices)

    @property
    def passed(self) -> int:
        """Ranks of a pass, at most."""
        return min(self.ranks, self.ranks_at_once)

    def delegate_rows(self, rows: int) -> int:
        """Rows of delegates that so many rows of the graph have on all ranks of a pass."""
        return self.passed * min(self.delegates, rows)


def result(size: Size) -> Table:
    """Subgraphs of all ranks, with offsets of 32 bits, the list and masks of filled rows."""
    n, delegates, by_degree = size.vertices, size.ranks * size.delegates, not size.striped
    return table(
        columns=(size.vertex, size.arcs),
        row_offsets=("u4", (2 if by_degree else 1) * n + 2 * delegates + 2 * size.ranks),
        sources=("u4", n * by_degree),
    )


def ends(blocks: int = 1) -> Buffer:
    """Arcs by the degree of either end, which each block of rows counts on the host."""
    return Buffer("ends", "i8", (2 * blocks, HISTOGRAM), 0, "host", ("counted",))


def census(vertices: int) -> Table:
    """Degrees as the census takes them, and what it counts: vertices, and arcs by either end."""
    return table(
        "device",
        "counted",
        degrees=("u2", vertices),
        of_degree=("i8", HISTOGRAM, 0),
        ends=("i8", (2, HISTOGRAM), 0),
    )


def delegate_sums(words: int, place: str, *phases: str) -> Buffer:
    """Delegates before each word of flags, and all of them."""
    return Buffer("before", "u4", words + 1, 0, place, phases)


def delegate_flags(vertices: int, place: str, *phases: str) -> Buffer:
    """Flags of all vertices, those of delegates set."""
    return Buffer("words", "u8", max(1, -(-vertices // 64)), 0, place, phases)


def delegate_index(vertices: int, place: str = "device", *phases: str) -> Table:
    """Return the table of `DelegateIndex` without degrees: flags of all vertices, and sums of them."""
    words = delegate_flags(vertices, place, *phases)
    return words, delegate_sums(words.nbytes // 8, place, *phases)


def delegates(count: int, vertex: str, place: str, *phases: str) -> Table:
    """Delegates and their degrees."""
    return table(place, *phases, vertices=(vertex, count), degrees=("i8", count))


def row_offsets(rows: int, arcs: int, place: str = "host", *phases: str) -> Buffer:
    """Offsets of rows that have so many arcs in all."""
    return Buffer("row_offsets", "u4" if arcs < 1 << 32 else "i8", rows + 1, 0, place, phases)


def tile_sums(buckets: int, arcs: int, tile: int) -> Buffer:
    """Arcs of each bucket before each tile, and all of them."""
    return Buffer("tiles", "i8", buckets * -(-arcs // tile) + 1, 0, phases=("divided",))


def lengths_of_ranks(rows: int) -> Buffer:
    """Lengths of all subgraphs' rows on a GPU."""
    return Buffer("lengths", "u4", rows, 0, phases=("divided",))


def columns_of_rank(vertex: str, arcs: int) -> Buffer:
    """Columns of a rank's subgraph, or of all together, on a GPU."""
    return Buffer("shared", vertex, arcs, phases=("divided",))


def rows_of_range(rows: int, ranks: int, delegates: int) -> Table:
    """Lengths of a range's rows: of nn and nd, and on each rank of dn and dd."""
    return table("host", "divided", normal=("u4", (2, rows), 0), delegate=("u4", (2, ranks, delegates), 0))


def lengths_of_range(rows: int) -> Buffer:
    """Lengths of a range's rows in stripes."""
    return Buffer("lengths", "u4", rows, None, "host", ("divided",))


def columns_of_range(vertex: str, nn: int, nd: int = 0, dn: int = 0, dd: int = 0) -> Table:
    """Columns of what a range adds to some ranks, those of a subgraph together."""
    return table("host", "divided", nn=(vertex, nn), nd=("u4", nd), dn=("u4", dn), dd=("u4", dd))


def dividing(size: Size, rows: int, arcs: int, *, whole: bool = False) -> Table:
    """Return what dividing so many rows takes of a GPU, with the result where it is the `whole` graph.

    Of rows of a piece there are the offset, the length, and what finding those above the threshold takes.
    """
    n, d, by_degree = size.vertices, size.delegates, not size.striped
    buckets = size.passed * (4 if by_degree else 1)
    lengths = 2 * (rows + size.delegate_rows(rows)) if by_degree else rows
    piece = table("device", "counted", "listed", piece=("i8", (5, min(n, PIECE_ROWS))))
    listing = (
        *census(n),
        *table("device", "counted", piece_counts=("i8", HISTOGRAM)),
        *delegate_index(n, "device", "listed", "divided"),
        *table("device", "listed", "divided", delegate_degrees=("i8", d)),
        *table("device", "listed", listed=(size.vertex, d)),
    )
    filled = n * by_degree
    sources = table("device", "divided", sources=("u4", filled), sources_found=("i8", filled // size.ranks))
    offsets = row_offsets(2 * (n + size.ranks * d) if by_degree else n, size.arcs, "device", "divided")
    return (
        *table(offsets=("i8", rows + 1), columns=(size.vertex, arcs)),
        *piece,
        *(listing if by_degree else ()),
        columns_of_rank(size.vertex, arcs),
        lengths_of_ranks(lengths),
        tile_sums(buckets, arcs, TILE_ARCS),
        *((offsets, *sources) if whole else ()),
    )


def dividing_on_cpu(size: Size, rows: int, arcs: int, *, threads: int, waiting: int) -> Table:
    """Return what dividing takes of the host: a range on every thread, and shares that wait or are written.

    Ranges have at most so many rows and arcs, and share none.
    """
    n, d = size.vertices, size.delegates
    waiting_rows, columns = min(n, waiting * rows), columns_of_range(size.vertex, waiting * arcs)
    if size.striped:
        return lengths_of_range(waiting_rows), *columns
    return (
        ends(COUNTING_BLOCKS * threads),
        *table("host", "counted", lengths=("i8", threads * rows)),
        *table("host", "listed", NumPy=("i8", (4, rows))),
        *delegate_index(n, "host", "listed", "divided"),
        *delegates(d, size.vertex, "host", "listed", "divided"),
        *rows_of_range(waiting_rows, 1, size.delegate_rows(waiting_rows)),
        *columns,
    )


def counted_rows(own: int, *phases: str) -> Table:
    """Arcs of the own rows, two entries later: the room that `gravel.kernels.csr.rows.RowBuilder` needs."""
    return table("host", *phases, counts=("i8", own + 2, 0))


def known_degrees(vertices: int, place: str = "host", *phases: str) -> Table:
    """Degrees of all vertices, as the census takes them; on the host their classes."""
    return table(place, *phases, degrees=("u1" if place == "host" else "u2", vertices))


def arcs_by_owner(arcs: int, vertex: str, place: str = "host", *, with_heads: bool = True) -> Table:
    """Arcs as they are sent: rows of their owner, and heads."""
    return table(place, rows=("u4", arcs), heads=(vertex, arcs * with_heads))


def kinds_of_arcs(own: int) -> Table:
    """Arcs of each own row to normal vertices, to delegates, and between delegates, which become offsets."""
    return table("host", nn=("u4", own + 1, 0), nd=("u4", own + 1, 0), half=("u4", own + 1, 0))


def columns_by_kind(vertex: str, nn: int, nd: int = 0, half: int = 0) -> Table:
    """Columns of a rank's nn and nd, and both ends of the arcs between delegates that it decides."""
    return table("host", nn=(vertex, nn), nd=("u4", nd), tails=("u4", half), heads=("u4", half))


def weights_by_kind(weight: str, nn: int, nd: int, half: int) -> Table:
    """Weights of the same arcs."""
    return table("host", nn_weights=(weight, nn), nd_weights=(weight, nd), half_weights=(weight, half))


def rows_of_delegates(delegates: int, arcs: int) -> Table:
    """Lengths of delegates' rows, and their columns."""
    return table("host", counts=("i8", delegates, 0), columns=("u4", arcs))


def distributing(own: int, vertices: int, arcs: int, part: int) -> Table:
    """Return what a rank on the CPU takes while it makes its `arcs` of a graph, in parts of so many edges.

    Edges are drawn and then turned, arcs go and as many come, and delegates are sorted. Each thread counts.
    """
    vertex, delegates = vertex_type(vertices), vertices // 8
    return (
        *counted_rows(own),
        *kinds_of_arcs(own),
        *known_degrees(vertices),
        *arcs_by_owner(4 * part, vertex),
        *edges(2 * part, vertex, "host"),
        columns(arcs, vertex, "host"),
        *columns_by_kind(vertex, arcs),
        *delegate_index(vertices, "host"),
        *rows_of_delegates(delegates, 0),
        *during((ends(12),)),
        *table(
            "host",
            sources=("u4", own),
            filled=("u1", (4, own)),
            delegates=("i8", (2, delegates)),
        ),
    )


def offsets_on_gpu(rows: int) -> Buffer:
    """Counts of arcs of rows, which become their offsets."""
    return Buffer("offsets", "i8", rows + 1, 0)


def classified(arcs: int, vertex: str) -> Table:
    """Kinds of arcs, the columns that these have, and their rows."""
    return table("device", "classified", kinds=("u1", arcs), values=(vertex, arcs), rows=("u4", arcs))


def distributing_on_gpu(own: int, vertices: int, arcs: int, part: int, sorted_arcs: int) -> Table:
    """Return the same of a GPU, which sorts so many arcs at once; its mailbox has room for two parts."""
    vertex, words = vertex_type(vertices), -(-vertices // 64)
    return (
        *known_degrees(vertices, "device"),
        *arcs_by_owner(8 * part, vertex, "device"),
        *edges(part, vertex),
        *(columns(arcs, vertex) for _ in range(2)),
        *(offsets_on_gpu(own) for _ in range(6)),
        *delegate_index(vertices),
        *table(begins=("i8", words), delegates=("i8", vertices // 12)),
        keys(5 * sorted_arcs, "device", "sorted"),
        *classified(sorted_arcs, vertex),
        *table("device", "classified", CuPy=("i8", (3, sorted_arcs))),
    )
