"""What a device has no room for."""

from __future__ import annotations


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an allocation on the device failed: CuPy's, or one that a sort makes for itself."""
    return isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
