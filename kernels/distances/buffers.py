"""Arrays of searches from many sources, beside the graph; `gravel.kernels.buffers` adds them up."""

from __future__ import annotations

from gravel.kernels.buffers import Table, exact, table
from gravel.kernels.ordered import buffers as ordered

WORD = 64
"""Bits of a word on the CPU: sources that one column of words serves."""

MAX_WORDS = 16
"""Words of a vertex: at Kronecker 16 and 18, 1,024 sources take 5 times as long as 64."""

BATCH = 1024
"""Sources of a batch on a GPU by default: a row is a cache line, a word for each lane of a warp."""

RECORD = 4
"""Neighbours of a record of searches of their own on a GPU, as in `independent.cu`."""

QUEUE_SHARE = 16
"""The part of the vertices for which a block of such searches has a queue, beside its room: frontiers of deep
graphs are far smaller, and searches with larger ones run again with a queue for all. On USA-road-NE such
queues take as long (H100)."""


def workspace(vertices: int, words: int, item: int) -> Table:
    """What a thread takes for rows of bits; `item` are bytes of a vertex."""
    row, mark, queue = ("u8", vertices * words), ("u1", vertices), (f"u{item}", vertices)
    rows = table("host", row_0=row, row_1=row, row_2=row)
    return rows + table("host", mark_0=mark, mark_1=mark, queue_0=queue, queue_1=queue)


def own_search(vertices: int, item: int) -> Table:
    """What a thread takes for a search of its own."""
    return table("host", visited=("u1", vertices, 0), queue=(f"u{item}", vertices))


def own_weighted_search(vertices: int, item: int, *, is_float: bool) -> Table:
    """The same by weights; distances are float64 where weights `is_float`, else int64."""
    return ordered.workspace(vertices, item, "f8" if is_float else "i8")


def sums_of_vertices(vertices: int, dtype: str = "i8") -> Table:
    """What is added up for each vertex over all sources; `dtype` is that of distances."""
    total, largest = (dtype, vertices, 0), (dtype, vertices, -1)
    return table("host", reached=("i8", vertices, 0), total=total, largest=largest)


def sums_of_sources(sources: int, dtype: str = "i8") -> Table:
    """What is found of each source; `dtype` is that of distances."""
    length, reciprocal = (dtype, sources, 0), ("f8", sources, 0)
    return table("host", reached=("i8", sources, 0), total=length, reciprocal=reciprocal, eccentricity=length)


def bounds_kept(vertices: int, most: int) -> Table:
    """Bounds of eccentricities from below and from above, which begin with `most`."""
    return table(lower=("i8", vertices, 0), upper=("i8", vertices, most))


def bounds(vertices: int) -> Table:
    """What they take at most while one search is taken in, with its distances."""
    number = ("i8", vertices)
    names = ("degree", "undecided", "distance", "least", "larger", "new_lower", "new_upper", "low", "high")
    search = table(**dict.fromkeys(names, number), found=("i4", vertices), reached=("u1", (4, vertices)))
    return (*bounds_kept(vertices, 0), *search)


def widest(
    vertices: int, itemsize: int, sources: int, threads: int, memory: int, per_thread: int = 0
) -> tuple[int, int, int]:
    """Choose the threads and the words of a batch on the CPU within `memory`; returns what it takes, too.

    One thread with one word is returned where nothing fits.
    """

    def bytes_for(threads: int, words: int) -> int:
        return threads * (exact(workspace(vertices, words, itemsize)) + per_thread)

    threads = max(1, min(threads, -(-sources // WORD)))
    words = min(MAX_WORDS, -(-sources // (WORD * threads)))
    while words > 1 and bytes_for(threads, words) > memory:
        words -= 1
    while threads > 1 and bytes_for(threads, words) > memory:
        threads -= 1
    return threads, words, bytes_for(threads, words)


def row_words(sources: int) -> int:
    """Choose the words of a row on a GPU by default, in memory enough."""
    return next((each for each in (2, 8, 32) if 32 * each >= sources), 32)


def rows_of_bits(vertices: int, words: int) -> Table:
    """What a batch on a GPU has of vertices: rows of bits, marks of vertices, and what it counts by."""
    bits, marks = ("u4", max(1, vertices * words)), ("u4", max(1, -(-vertices // 32)))
    return table(
        **dict.fromkeys(("seen", "front_0", "front_1"), bits),
        **dict.fromkeys(("marks_0", "marks_1", "complete"), marks),
        live=("u4", words, 0),
        counts=("u8", 32 * words, 0),
        totals=("u8", 2, 0),
        reported=("u8", 2, 0),
    )


def outputs(sources: int, levels: int, vertices: int | None) -> Table:
    """What a batch on a GPU leaves its results in, of sources, and of vertices where they are asked for."""
    each = dict.fromkeys(("sources", "reached", "total", "eccentricity"), ("i8", sources, 0))
    by_level = ("i8", max(1, sources * levels), 0)
    of_sources = table(**each, reciprocal=("f8", sources, 0), by_level=by_level)
    if vertices is None:
        return of_sources
    sums = ("i8", vertices, 0)
    return of_sources + table(vertex_reached=sums, vertex_total=sums, vertex_largest=("i8", vertices, -1))


def independent(vertices: int, item: int, blocks: int, *, capacity: int, bits: bool) -> Table:
    """What searches of their own take on a GPU, by so many blocks, whose `bits` may lie in its memory.

    One of them has a queue of all vertices, the others one of `capacity`.
    """
    words, queued = blocks * -(-vertices // 32) if bits else 1, vertices + (blocks - 1) * capacity
    records = (f"u{item}", max(1, RECORD * vertices))
    return table(visited=("u4", max(1, words)), queues=(f"u{item}", max(1, queued)), records=records)


def pieces_of_rows(item: int, count: int) -> Table:
    """Long rows, at most as many as their pieces (`gravel.kernels.cuda.pieces`)."""
    rows = (f"u{item}", count)
    return table(first=("i8", count + 1), long_rows=rows, piece_rows=rows, begins=("i8", count))


def on_device(vertices: int, arcs: int, item: int, sources: int, *, stream: int | None = None) -> Table:
    """State at most what a batch takes on a GPU by default, for so many sources.

    `stream` are the bytes of rows that are read encoded, whose checkpoints are among it. A batch of searches
    of their own for as many sources takes less.
    """
    words = row_words(sources)
    # Rows longer than a piece have at most twice the pieces that they fill.
    filled = arcs // 256 if stream is None else stream // 512
    return (
        *rows_of_bits(vertices, words),
        *pieces_of_rows(item, 2 * filled),
        # Lengths of rows and places of long ones, before a batch is made; measured at Kronecker 16, 18 and 20
        # on an H200 (tests/stages/statements).
        *table(lengths=("i8", (9, vertices))),
        *outputs(32 * words, 3, None),
        *table(checkpoints=(f"u{item}", 0 if stream is None else stream // 256 + 1)),
    )


def least_device_bytes(vertices: int, item: int) -> int:
    """State what the narrowest batch takes at least on a GPU, in either form."""
    together = exact(rows_of_bits(vertices, row_words(1))[:3])
    return min(together, exact(own_searches(vertices, item, 1, bits=False)))


def own_searches(vertices: int, item: int, blocks: int, *, bits: bool) -> Table:
    """The same as `independent` where no results of vertices are asked for."""
    capacity = -(-vertices // QUEUE_SHARE)
    return independent(vertices, item, blocks, capacity=capacity, bits=bits)
