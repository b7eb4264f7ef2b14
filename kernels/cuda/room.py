"""Memory of a device: what is taken beside arrays, what is given back, and an allocation that failed."""

from __future__ import annotations

USABLE = 0.95
"""Share of a device's free memory for arrays: blocks of its pools are larger than what is in them."""

CONTEXT_BYTES = 768 << 20
"""What a process takes of a device beside arrays: CUDA's context, modules that are compiled and loaded, and
what libraries keep for themselves, as measured on an H200."""

MODULE_BYTES = 256 << 20
"""The same where the context is there already."""

HOST_LIBRARIES = ("numpy", "pyarrow")

DEVICE_LIBRARIES = ("cupy", "cupy_backends")
"""CuPy and what it is linked with: a sort of Thrust that finds no room raises MemoryError with the words
`std::bad_alloc`, as host libraries do."""


def usable_bytes(free: int, reserve: int = CONTEXT_BYTES) -> int:
    """Return how much of what is free arrays may take: the least of a share and all but a reserve."""
    return max(0, min(int(free * USABLE), free - reserve))


def is_device_memory(error: BaseException) -> bool:
    """Say whether it was the device's memory that ran out, not the host's."""
    module = type(error).__module__.partition(".")[0]
    if module in HOST_LIBRARIES or not is_out_of_memory(error):
        return False
    if module in DEVICE_LIBRARIES:
        return True
    import traceback

    frames = traceback.walk_tb(error.__traceback__)
    names = [frame.f_globals.get("__name__", "").partition(".")[0] for frame, _ in frames]
    return bool(names) and names[-1] in DEVICE_LIBRARIES


def device_memory() -> str:
    """Say how much of the device is free, with how much there is; nothing where it does not answer."""
    try:
        import cupy

        free, total = cupy.cuda.runtime.memGetInfo()
    except Exception:  # it is a help: that it cannot be said must not hide what failed
        return ""
    return f"{free / (1 << 30):.3g} GiB of its {total / (1 << 30):.3g} GiB are free"


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
