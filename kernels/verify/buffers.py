"""Arrays of checks on the CPU, beside graph and labels; `gravel.kernels.buffers` adds them up.

Rows named NumPy are what it makes on its way, as it was measured.
"""

from __future__ import annotations

from gravel.kernels.buffers import Buffer, Table, table

UNKNOWN = -2
"""The level of a vertex whose predecessors were not followed yet."""


def levels(vertices: int) -> Buffer:
    """Levels that are counted along predecessors."""
    return Buffer("levels", "i4", vertices, UNKNOWN, "host")


def missing(vertices: int) -> Buffer:
    """Marks of vertices whose tree edge is no arc."""
    return Buffer("missing", "b1", vertices, 0, "host")


def search(vertices: int) -> Table:
    """What `check_bfs` takes."""
    return levels(vertices), missing(vertices), *table("host", NumPy=("u1", (2, vertices)))


def marks(vertices: int) -> Table:
    """Which vertices have their tree edge, and which rules the arcs of each break."""
    return table("host", has=("u1", vertices, 0), faults=("u1", vertices, 0))


def paths(vertices: int) -> Table:
    """What `check_sssp` takes, with distances in their exact type, where NumPy tests vertices."""
    tests = table("host", exact=("i8", vertices), NumPy=("u1", (7, vertices)))
    return *tests, levels(vertices), *marks(vertices)


def components(vertices: int, vertex: str) -> Table:
    """What `check_components` takes: a union-find, for which NumPy first looks up labels of labels."""
    return table("host", parents=(vertex, vertices), NumPy=("u1", (int(vertex[1:]) + 2, vertices)))


def strong_searches(vertices: int) -> Table:
    """Labels, a queue, what was seen, and arcs that enter each label."""
    number = ("i8", vertices)
    return table("host", label=number, queue=number, seen=("b1", vertices), entering=(*number, 0))


def strong_components(vertices: int, arcs: int, vertex: str) -> Table:
    """What `check_strong_components` takes; NumPy sorts arcs by heads, then vertices by labels."""
    arc = 2 * int(vertex[1:]) + 8
    turned = table("host", "turned", offsets=("i8", vertices + 1), NumPy=("u1", (arc, arcs)))
    return *strong_searches(vertices), *turned, *table("host", "sorted", NumPy=("i8", (5, vertices)))


def pagerank(vertices: int) -> Table:
    """What `check_pagerank` takes: where the surfer jumps to, ranks after a step, and how far they change."""
    each = ("f8", vertices)
    return table("host", jumps=(*each, 0), stepped=(*each, 0), changes=each)
