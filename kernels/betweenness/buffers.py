"""Arrays of betweenness, beside the graph; `gravel.kernels.buffers` adds them up."""

from __future__ import annotations

from gravel.kernels.buffers import Table, table, total
from gravel.kernels.distances.buffers import pieces_of_rows
from gravel.kernels.ordered import buffers as ordered

LANES = 32
"""Sources that one word of a row serves on a GPU: a lane of a warp each."""

MAX_WORDS = 2
"""Words of a row. Arcs are read once for 64 sources then, and a row of path counts has 512 bytes."""

PIECE = 512
"""Arcs of a row that a warp sums at a time on a GPU; longer rows are spread over the grid in such pieces."""

MAX_BLOCKS = 2 * 160
"""Searches side by side: two a multiprocessor, of which no GPU of today has more."""


def workspace(vertices: int, item: int, sums: int) -> Table:
    """What a thread takes for a search of its own, and for its sums; `item` are bytes of a vertex."""
    level, part, queue = ("i4", vertices, -1), ("f8", vertices, 0), (f"u{item}", vertices)
    return table("host", level=level, paths=part, share=part, queue=queue, sums=("f8", sums, 0))


def weighted_workspace(vertices: int, item: int, sums: int, *, is_float: bool) -> Table:
    """The same for searches by weights; distances are float64 where weights `is_float`, else int64."""
    searched = ordered.workspace(vertices, item, "f8" if is_float else "i8")
    part = ("f8", vertices, 0)
    return searched + table("host", paths=part, share=part, sums=("f8", sums, 0))


def one_by_one(vertices: int, item: int, blocks: int) -> Table:
    """What blocks of a GPU take for a search of their own each."""
    places = max(1, blocks * vertices)
    return table(
        level=("u4", places),
        queue=(f"u{item}", places),
        paths=("f8", places),
        share=("f8", places),
        sources=("i8", blocks, 0),
        reached=("u4", blocks, 0),
    )


def in_rows(vertices: int, pieces: int, words: int, sums: int) -> Table:
    """What a batch of `LANES` sources a word takes on a GPU, with so many pieces of long rows.

    Path counts, shares and levels of each source; bits reached, and those of two levels.
    """
    sources, rows = LANES * words, max(1, vertices)
    return table(
        **dict.fromkeys(("seen", "bits_0", "bits_1"), ("u4", rows * words)),
        level=("u2", rows * sources),
        paths=("f8", rows * sources),
        share=("f8", rows * sources),
        piece_sums=("f8", max(1, pieces * sources)),
        piece_bits=("u4", max(1, pieces * words)),
        sources=("i8", sources, 0),
        reached=("u8", sources, 0),
        live_0=("u4", words + 1, 0),
        live_1=("u4", words + 1, 0),
        sums=("f8", sums, 0),
    )


def on_device(
    vertices: int, arcs: int, item: int, sources: int, sums: int, *, symmetric: bool = True
) -> Table:
    """State at most what a batch takes on a GPU, whatever the form, for so many sources."""
    words = max(1, min(MAX_WORDS, -(-sources // LANES)))
    # Rows longer than a piece have at most twice the pieces that their arcs fill.
    pieces = 2 * arcs // PIECE
    listed = pieces_of_rows(item, pieces * (1 if symmetric else 2))
    rows = (*in_rows(vertices, pieces, words, sums), *listed)
    blocks = *one_by_one(vertices, item, min(MAX_BLOCKS, sources)), *table(sums=("f8", sums))
    # The sums of all are beside those of a part, and lengths of rows and places of long ones are listed.
    return *max(rows, blocks, key=total), *table(all_sums=("f8", sums), lengths=("i8", (2, vertices)))
