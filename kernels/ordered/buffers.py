"""Arrays of a search by weights in a fixed order; `gravel.kernels.buffers` adds them up."""

from __future__ import annotations

from gravel.kernels.buffers import Table, table

UNSEEN = -1
"""The place in the heap of a vertex that no search has seen."""


def workspace(vertices: int, item: int, distance: str) -> Table:
    """What a search takes; `item` are bytes of a vertex, `distance` is "i8" or "f8".

    `place` is `UNSEEN` before and after, and the heap has each vertex once.
    """
    vertex, number, key = (f"u{item}", vertices), ("i8", vertices), (distance, vertices)
    found = table("host", place=(*number, UNSEEN), best=key, order=vertex, before=vertex)
    return found + table("host", keys=key, numbers=number, vertices=vertex)
