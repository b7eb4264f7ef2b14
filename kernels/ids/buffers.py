"""Arrays of sets of ids; `gravel.kernels.buffers` adds them up."""

from __future__ import annotations

from gravel.kernels.buffers import Buffer, Table, table

BLOCK = 8
"""Words of a bitmap on the host that share one count: 64 bytes, a cache line."""

GROUP_BITS = 256
"""Ids of a bitmap that share one count on a GPU, as in bitmap.cu."""


def words_within(memory: int) -> int:
    """Count the words of a bitmap that takes half of so many bytes."""
    return max(BLOCK, memory // 16 // BLOCK * BLOCK)


def words(count: int, touched: int | None = None) -> Buffer:
    """A bitmap on the host, of which no page of zeros takes memory before it is `touched`."""
    return Buffer("words", "u8", count, 0, "host", (), touched)


def counts(words: int) -> Buffer:
    """Ids before each block of a bitmap on the host."""
    return Buffer("before", "i8", words // BLOCK + 1, None, "host")


def outside(count: int) -> Buffer:
    """Ids that a bitmap on the host does not cover; no page is taken where there are none."""
    return Buffer("outside", "i8", count, None, "host")


def bitmap(span: int) -> Table:
    """A bitmap over so many ids, with its counts, while CuPy sums them up."""
    groups = span // GROUP_BITS + 1
    words = table(words=("u4", groups * (GROUP_BITS // 32), 0))
    return *words, *table(before=("u4", groups + 1, 0), counts=("u4", groups), CuPy=("u4", groups))


def from_anywhere(edges: int) -> Table:
    """What sorting the ends of edges takes: distinct ones of each part, these joined, and sorted by CuPy."""
    each = ("i8", (2, edges))
    return table(parts=each, joined=each, distinct=each, sorted=each, CuPy=each)


def slots_for(rows: int) -> int:
    """Count the slots of a table, at least two for each text."""
    return 1 << max(10, (2 * rows).bit_length())


def numbers_of_texts(rows: int) -> Table:
    """For each text the first that equals it, the number of that, and which texts differ; and their slots."""
    each = ("u4", rows)
    return table(first_equal=each, numbers=each, listed=each, slots=("u8", slots_for(rows), 0))


def texts(rows: int, size: int) -> Table:
    """What texts of so many bytes take at most, with those that differ and the vertices of all."""
    given = table(text=("u1", size), offsets=("i8", rows + 1))
    made = table(different=("u1", size), new_offsets=("i8", rows), ranks=("u4", rows), vertices=("u4", rows))
    return *given, *numbers_of_texts(rows), *made
