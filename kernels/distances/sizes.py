"""Bytes that searches from many sources take beside the graph; it imports nothing: plans stay cheap."""

from __future__ import annotations

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


def workspace_bytes(vertices: int, words: int, itemsize: int) -> int:
    """State what a thread takes for rows of bits, but for what does not grow with the graph."""
    return vertices * (3 * 8 * words + 2 + 2 * itemsize)


def queue_bytes(vertices: int, itemsize: int) -> int:
    """State what a thread takes for a search of its own."""
    return vertices * (1 + itemsize)


def widest(
    vertices: int, itemsize: int, sources: int, threads: int, memory: int, per_thread: int = 0
) -> tuple[int, int, int]:
    """Choose the threads and the words of a batch on the CPU within `memory`; returns what it takes, too.

    One thread with one word is returned where nothing fits.
    """

    def taken(threads: int, words: int) -> int:
        return threads * (workspace_bytes(vertices, words, itemsize) + per_thread)

    threads = max(1, min(threads, -(-sources // WORD)))
    words = min(MAX_WORDS, -(-sources // (WORD * threads)))
    while words > 1 and taken(threads, words) > memory:
        words -= 1
    while threads > 1 and taken(threads, words) > memory:
        threads -= 1
    return threads, words, taken(threads, words)


def row_words(sources: int) -> int:
    """Choose the words of a row on a GPU by default, in memory enough."""
    return next((each for each in (2, 8, 32) if 32 * each >= sources), 32)


def device_bytes(vertices: int, arcs: int, itemsize: int, sources: int) -> int:
    """State at most what a batch takes on a GPU by default, for so many sources."""
    return _device_bytes(vertices, arcs // 256, itemsize, sources)


def encoded_device_bytes(vertices: int, stream: int, itemsize: int, sources: int) -> int:
    """State the same for rows that are read encoded, of so many bytes, checkpoints of varint included."""
    return _device_bytes(vertices, stream // 512, itemsize, sources) + itemsize * (stream // 256 + 1)


def _device_bytes(vertices: int, filled: int, itemsize: int, sources: int) -> int:
    words = row_words(sources)
    # Rows longer than a piece have at most twice the pieces that they fill.
    pieces = 2 * filled * (2 * itemsize + 16)
    # What is made before a batch, lengths of rows and places of long ones among it: 69 bytes a vertex at
    # Kronecker 16, 18 and 20 on an H200 (tests/stages/statements).
    pieces += 72 * vertices
    return 3 * 4 * words * vertices + 12 * (vertices // 32 + 1) + pieces + 64 * 32 * words


def independent_bytes(vertices: int, itemsize: int, blocks: int, *, bits: bool) -> int:
    """State what searches of their own take on a GPU, by so many blocks, whose bits may lie in its memory.

    A batch of bits for as many sources takes more, so that `device_bytes` holds for both.
    """
    queues = vertices + (blocks - 1) * -(-vertices // QUEUE_SHARE)
    return itemsize * (RECORD * vertices + queues) + (blocks * 4 * -(-vertices // 32) if bits else 0)


def least_device_bytes(vertices: int, itemsize: int) -> int:
    """State what the narrowest batch takes at least on a GPU, in either form."""
    together = 3 * 4 * row_words(1) * vertices
    return min(together, independent_bytes(vertices, itemsize, 1, bits=False))
