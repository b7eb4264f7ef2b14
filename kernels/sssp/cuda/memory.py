"""What a search on a GPU takes; imports nothing, so that planning stays cheap."""

from __future__ import annotations

HUB, STATE = 4096, 16  # as in delta_stepping.cu


def device_bytes(vertices: int, arcs: int, index: int, word: int) -> int:
    """Count queues, marks and labels of a search beside the rows; `index` and `word` are widths in bytes."""
    return vertices * (word + 8 + 5 * index) + index * (arcs // HUB + 1) + 8 * STATE
