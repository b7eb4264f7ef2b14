"""Arrays of betweenness, beside the graph; `gravel.kernels.buffers` adds them up."""

from __future__ import annotations

from dataclasses import replace

from gravel.kernels.buffers import Buffer, Table, total
from gravel.kernels.distances.buffers import pieces_of_rows

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
    table = (
        Buffer("level", "i4", vertices, fill=-1),
        Buffer("paths", "f8", vertices, fill=0),
        Buffer("share", "f8", vertices, fill=0),
        Buffer("queue", f"u{item}", vertices),
        Buffer("sums", "f8", sums, fill=0),
    )
    return tuple(replace(each, place="host") for each in table)


def one_by_one(vertices: int, item: int, blocks: int) -> Table:
    """What blocks of a GPU take for a search of their own each."""
    places = max(1, blocks * vertices)
    return (
        Buffer("level", "u4", places),
        Buffer("queue", f"u{item}", places),
        Buffer("paths", "f8", places),
        Buffer("share", "f8", places),
        Buffer("sources", "i8", blocks, fill=0),
        Buffer("reached", "u4", blocks, fill=0),
    )


def in_rows(vertices: int, pieces: int, words: int, sums: int) -> Table:
    """What a batch of `LANES` sources a word takes on a GPU, with so many pieces of long rows.

    Path counts, shares and levels of each source; bits reached, and those of two levels.
    """
    sources, rows = LANES * words, max(1, vertices)
    return (
        *(Buffer(name, "u4", rows * words) for name in ("seen", "bits_0", "bits_1")),
        Buffer("level", "u2", rows * sources),
        Buffer("paths", "f8", rows * sources),
        Buffer("share", "f8", rows * sources),
        Buffer("piece_sums", "f8", max(1, pieces * sources)),
        Buffer("piece_bits", "u4", max(1, pieces * words)),
        Buffer("sources", "i8", sources, fill=0),
        Buffer("reached", "u8", sources, fill=0),
        Buffer("live_0", "u4", words + 1, fill=0),
        Buffer("live_1", "u4", words + 1, fill=0),
        Buffer("sums", "f8", sums, fill=0),
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
    blocks = (*one_by_one(vertices, item, min(MAX_BLOCKS, sources)), Buffer("sums", "f8", sums))
    return (
        *max(rows, blocks, key=total),
        # The sums of all are beside those of a part.
        Buffer("all_sums", "f8", sums),
        # Lengths of rows, and the places of long ones, are there while these are listed.
        Buffer("lengths", "i8", (2, vertices)),
    )
