"""Arrays of searches in a fixed order, added up by `gravel.kernels.buffers`; `item` are bytes of a vertex."""

from __future__ import annotations

from gravel.kernels.buffers import Table, table

UNSEEN = -1
"""The place in the heap of a vertex that no search has seen."""


def workspace(vertices: int, item: int, distance: str) -> Table:
    """What a search by weights takes; `distance` is "i8" or "f8".

    `place` is `UNSEEN` before and after, and the heap has each vertex once.
    """
    vertex, number, key = (f"u{item}", vertices), ("i8", vertices), (distance, vertices)
    found = table("host", place=(*number, UNSEEN), best=key, order=vertex, before=vertex)
    return found + table("host", keys=key, numbers=number, vertices=vertex)


def strong_components(vertices: int, item: int) -> Table:
    """What Tarjan's algorithm takes for strongly connected components, with their members."""
    vertex, number, zero = (f"u{item}", vertices), ("i8", vertices), ("i8", vertices, 0)
    found = table("host", preorder=zero, lowlink=number, done=("u1", vertices, 0), cursor=number)
    stacks = table("host", stack=vertex, waiting=vertex, members=vertex)
    return *found, *stacks, *table("host", offsets=("i8", vertices + 1, 0))
