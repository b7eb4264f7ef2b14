"""What a search on a GPU takes; imports no NumPy, so that planning stays cheap."""

from __future__ import annotations

from gravel.kernels.sssp.concentrated import BUCKETS

HUB, STATE, ROUND, WIDE = 512, 24, 6, 14  # as in delta_stepping.cu


def room_of(index: int, word: int) -> int:
    """Count the vertices of a frontier that one block keeps in shared memory, with their words."""
    return 21504 // (index + word + 12)  # two frontiers in the 48 KiB of a block, with where their rows are


def device_bytes(vertices: int, arcs: int, index: int, word: int) -> int:
    """Count queues, marks and labels of a search beside the rows; `index` and `word` are widths in bytes."""
    return vertices * (word + 8 + 5 * index) + index * (arcs // HUB + 1) + 8 * STATE


def ordered_bytes(arcs: int, index: int) -> int:
    """Count what a copy of rows in the order of weights takes beside that, and what tells whether it pays."""
    return arcs * (index + 4) + 8 * BUCKETS
