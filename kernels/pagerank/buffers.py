"""Arrays of PageRank beside its rows and their weights; `gravel.kernels.buffers` adds them up."""

from __future__ import annotations

from gravel.kernels.buffers import Table, table

VERTICES = 1024
"""Vertices whose changes are added up together on a GPU, as in commit.cu."""

LEAST_UNIT = 128
"""Arcs of the shortest unit of an encoded row that is long."""

MAX_CHUNKS = 1 << 14
"""Chunks of rows on the CPU, each with sums of its own."""


def ranks(vertices: int, chunks: int) -> Table:
    """What each vertex passes on along an arc, now and next, and sums of the chunks of rows, on the CPU."""
    each = ("f8", vertices)
    shares, parts = ("f8", (2, vertices)), ("f8", (2, chunks))
    return table("host", rank=each, inverse=(*each, 0), shares=shares, parts=parts)


def on_host(vertices: int, *, encoded: bool = False, personalized: bool = False) -> Table:
    """What `pagerank` takes on the CPU, with what leaves each vertex; `encoded` rows are counted first."""
    jumps = vertices * personalized
    given = table("host", outgoing=("f8", vertices), jumps=("f8", jumps), teleport=("f8", jumps))
    counted = table("host", arcs=("i8", vertices * encoded), dangling=("u1", vertices))
    return *given, *counted, *ranks(vertices, MAX_CHUNKS)


def ranks_on_device(vertices: int) -> Table:
    """Ranks on a GPU, what rows add up to, and sums of groups of vertices."""
    groups = -(-vertices // VERTICES)
    return table(rank=("f8", vertices), sums=("f8", vertices, 0), parts=("f8", 2 * groups, 0))


def on_device(vertices: int, arcs: int) -> Table:
    """What `pagerank` takes on a GPU, whatever the layout, with what leaves each vertex.

    CuPy makes copies while it divides. Long encoded rows have units, of which plain ones have fewer tiles.
    """
    each = ("f8", vertices)
    given = table(outgoing=each, teleport=each, inverse=each, shares=each)
    read = table(units=("i8", vertices), of_units=("f8", (2, arcs // LEAST_UNIT)))
    return *given, *ranks_on_device(vertices), *read, *table(CuPy=("f8", (2, vertices)))
