"""Arrays of shortest paths, beside the rows that they read; `gravel.kernels.buffers` adds them up."""

from __future__ import annotations

from dataclasses import replace

from gravel.kernels.buffers import Buffer, Table, exact
from gravel.kernels.sssp.concentrated import BUCKETS

HUB, STATE, ROUND, WIDE = 512, 24, 6, 14  # as in delta_stepping.cu


def room_of(index: int, word: int) -> int:
    """Count the vertices of a frontier that one block keeps in shared memory, with their words."""
    return 21504 // (index + word + 12)  # two frontiers in the 48 KiB of a block, with where their rows are


def on_device(vertices: int, arcs: int, item: int) -> Table:
    """Marks, queues and state of a search on a GPU; `item` are bytes of a vertex."""
    return (
        Buffer("marks", "u4", vertices),
        Buffer("piled", "u4", vertices),
        Buffer("queues", f"u{item}", 4 * vertices),
        Buffer("hubs", f"u{item}", arcs // HUB + 1),
        Buffer("state", "u8", STATE),
    )


def labels(vertices: int, item: int, word: int, *, tree: bool) -> Table:
    """Words of `word` bytes by which distances are counted, and predecessors."""
    predecessors = Buffer("tree", f"u{item}", vertices)
    return Buffer("words", f"u{word}", vertices), *((predecessors,) if tree else ())


def ordered(arcs: int, item: int) -> Table:
    """A copy of rows in the order of weights on a GPU."""
    return Buffer("columns", f"u{item}", arcs), Buffer("keys", "u4", arcs)


def ordered_bytes(arcs: int, item: int) -> int:
    """Count what such a copy takes, and what tells whether it pays."""
    return exact((*ordered(arcs, item), Buffer("counts", "u8", BUCKETS)))


def queues(vertices: int) -> Table:
    """Four queues of a search on the CPU, the round of each vertex's last entry, and whether it is piled."""
    table = (
        *(Buffer(f"queue_{i}", "i8", vertices) for i in range(4)),
        Buffer("marks", "i4", vertices, fill=0),
        Buffer("piled", "i4", vertices, fill=0),
    )
    return tuple(replace(each, place="host") for each in table)


def light_heavy(vertices: int) -> Table:
    """What is expanded and what is left in searches of rows in the order of weights on the CPU."""
    table = (
        Buffer("expanded", "i8", vertices),
        Buffer("is_expanded", "u1", vertices, fill=0),
        Buffer("left", "u1", vertices),
    )
    return tuple(replace(each, place="host") for each in table)
