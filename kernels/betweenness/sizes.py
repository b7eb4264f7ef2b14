"""Bytes that betweenness takes beside the graph; it imports nothing: plans stay cheap."""

from __future__ import annotations

LANES = 32
"""Sources that one word of a row serves on a GPU: a lane of a warp each."""

MAX_WORDS = 2
"""Words of a row. Arcs are read once for 64 sources then, and a row of path counts has 512 bytes."""

PIECE = 512
"""Arcs of a row that a warp sums at a time on a GPU; longer rows are spread over the grid in such pieces."""

MAX_BLOCKS = 2 * 160
"""Searches side by side: two a multiprocessor, of which no GPU of today has more."""


def thread_bytes(vertices: int, itemsize: int, sums: int) -> int:
    """State what a thread takes for a search of its own, and for its sums."""
    return vertices * (4 + 8 + 8 + itemsize) + 8 * sums


def block_bytes(vertices: int, itemsize: int) -> int:
    """State what a block of a GPU takes for a search of its own."""
    return vertices * (4 + 8 + 8 + itemsize) + 12


def row_bytes(vertices: int, pieces: int, words: int, sums: int) -> int:
    """State what a batch of `LANES` sources a word takes on a GPU, with so many pieces of long rows."""
    sources = LANES * words
    # Path counts, shares and levels of each source; bits reached, and those of two levels.
    rows = vertices * (sources * (8 + 8 + 2) + 3 * 4 * words)
    return rows + pieces * (8 * sources + 4 * words) + 8 * sums + 16 * sources + 8 * (words + 1)


def device_bytes(
    vertices: int, arcs: int, itemsize: int, sources: int, sums: int, *, symmetric: bool = True
) -> int:
    """State at most what a batch takes on a GPU, whatever the form, for so many sources."""
    words = max(1, min(MAX_WORDS, -(-sources // LANES)))
    # Rows longer than a piece have at most twice the pieces that their arcs fill.
    pieces = 2 * arcs // PIECE
    listed = pieces * (2 * itemsize + 16) * (1 if symmetric else 2)
    in_rows = row_bytes(vertices, pieces, words, sums) + listed
    one_by_one = min(MAX_BLOCKS, sources) * block_bytes(vertices, itemsize) + 8 * sums
    # Lengths of rows, and the places of long ones, are there while these are listed.
    # The sums of all are beside those of a part.
    return max(in_rows, one_by_one) + 8 * sums + 16 * vertices
