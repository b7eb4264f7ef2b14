"""Memory of a device: what is taken beside arrays, what is given back, and an allocation that failed."""

from __future__ import annotations

SORT_BYTES_PER_KEY = 9
"""What CuPy's sort takes beside 64-bit keys: a copy of each, and counters of CUB's radix sort, 256 words of
32 bits for a tile. On an H100 a tile has 5,760 keys, and the counters take 0.18 bytes of a key."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an allocation on the device failed: CuPy's, or one that a sort makes for itself."""
    return isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"


def give_free_blocks_back() -> None:
    """Give the device what CuPy's pool keeps and nobody uses, before arrays of other sizes are made.

    The pool cuts a new array from the smallest free block that holds it. What a step has left behind is
    mostly no use to the next one, which would take as much again.
    """
    import cupy

    cupy.get_default_memory_pool().free_all_blocks()


def free_bytes() -> int:
    """Count what the device has left, with what CuPy's pool keeps and nobody uses."""
    import cupy

    free = cupy.cuda.runtime.memGetInfo()[0]
    return int(free) + int(cupy.get_default_memory_pool().free_bytes())
