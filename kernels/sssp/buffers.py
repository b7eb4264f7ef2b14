"""Arrays of shortest paths, beside the rows that they read; `gravel.kernels.buffers` adds them up."""

from __future__ import annotations

from gravel.kernels.buffers import Table, exact, table
from gravel.kernels.sssp.concentrated import BUCKETS

HUB, STATE, ROUND, WIDE = 512, 24, 6, 14  # as in delta_stepping.cu


def room_of(index: int, word: int) -> int:
    """Count the vertices of a frontier that one block keeps in shared memory, with their words."""
    return 21504 // (index + word + 12)  # two frontiers in the 48 KiB of a block, with where their rows are


def on_device(vertices: int, arcs: int, item: int) -> Table:
    """Marks, queues and state of a search on a GPU; `item` are bytes of a vertex."""
    marks, hubs = ("u4", vertices), (f"u{item}", arcs // HUB + 1)
    return table(marks=marks, piled=marks, queues=(f"u{item}", 4 * vertices), hubs=hubs, state=("u8", STATE))


def labels(vertices: int, item: int, word: int, *, tree: bool) -> Table:
    """Words of `word` bytes by which distances are counted, and predecessors."""
    words = table(words=(f"u{word}", vertices))
    return words + table(tree=(f"u{item}", vertices)) if tree else words


def ordered(arcs: int, item: int) -> Table:
    """A copy of rows in the order of weights on a GPU."""
    return table(columns=(f"u{item}", arcs), keys=("u4", arcs))


def ordered_bytes(arcs: int, item: int) -> int:
    """Count what such a copy takes, and what tells whether it pays."""
    return exact((*ordered(arcs, item), *table(counts=("u8", BUCKETS))))


def queues(vertices: int) -> Table:
    """Four queues of a search on the CPU, the round of each vertex's last entry, and whether it is piled."""
    queue, marks = ("i8", vertices), ("i4", vertices, 0)
    return table("host", near=queue, other=queue, far=queue, kept=queue, marks=marks, piled=marks)


def light_heavy(vertices: int) -> Table:
    """What is expanded and what is left in searches of rows in the order of weights on the CPU."""
    marks = ("u1", vertices)
    return table("host", expanded=("i8", vertices), is_expanded=(*marks, 0), left=marks)
