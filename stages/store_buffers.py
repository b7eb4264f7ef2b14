"""What arrays take on their way to the store, beside what a stage holds itself."""

from __future__ import annotations

SINK_BYTES = 9 << 20
"""Of each array that is written: eight chunks that wait for a thread or the disk, and one that fills."""

SAMPLE_BYTES = 20 << 20
"""Measured: how fast the disk is, and how well a chunk shrinks, is tried once."""


def sink_bytes(*arrays: int) -> int:
    """Bound the host memory of arrays of these bytes that are written at the same time."""
    return min(SAMPLE_BYTES, sum(arrays)) + sum(min(SINK_BYTES, size) for size in arrays)
