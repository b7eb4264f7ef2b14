"""What the searches with one queue of vertices share; see `kernels/bfs/baseline.cuh`."""

from __future__ import annotations

from typing import Any

ROUNDS, COUNTER_WORDS = 3, 32  # as in baseline.cuh


def check_block(block: int) -> None:
    """Raise ValueError unless a block can have so many threads."""
    if block % 32 or not 32 <= block <= 1024:
        raise ValueError(f"block is {block}; it must be a multiple of 32 up to 1024")


def vertex_queue(vertices: int, dtype: Any) -> tuple[Any, Any]:
    """Make a queue that every vertex enters once, and its counters."""
    import cupy

    return cupy.empty(max(1, vertices), dtype), cupy.zeros(ROUNDS * COUNTER_WORDS, cupy.uint64)
