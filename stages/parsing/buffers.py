"""Arrays of edges on their way from a file, on the host; `gravel.kernels.buffers` adds them up."""

from __future__ import annotations

from gravel.kernels import buffers
from gravel.kernels.buffers import Buffer, Table, table

SHORTEST_LINE = 4
"""Bytes of a line that holds an edge at least: two digits, what is between them, and its end."""


def pieces(threads: int, size: int) -> Buffer:
    """Pieces of text that are parsed or wait for it, one that is read, and one that waits for that."""
    return Buffer("pieces", "u1", (threads + 3, size), place="host")


def rows_of(size: int) -> int:
    """Bound the lines of so many bytes."""
    return size // SHORTEST_LINE + 1


def texts(size: int) -> Table:
    """Letters of both ends of the edges in so many bytes, where each begins, and weights."""
    rows = rows_of(size)
    return table("host", text=("u1", size), offsets=("i8", 2 * rows + 1), weight=("f8", rows))


def edges(count: int, kind: str = "i8", *, weights: int = 0) -> Table:
    """Both ends of edges, and weights as files have them."""
    return *buffers.edges(count, kind, "host"), *table("host", weight=("f8", weights))
