"""What arrays take on their way to the store, beside what a stage holds itself."""

from __future__ import annotations

DIGEST_BYTES = 16 << 20
"""Of all arrays that are written: 1 MiB on each of up to 16 threads, which digest what was written."""

SINK_BYTES = 9 << 20
"""A bound for each array that is written."""

REST_BYTES = 20 << 20
"""A bound for what writing takes beside: digests, and what the allocator keeps."""


def digest_bytes(*arrays: int) -> int:
    """Return the host memory of threads that digest arrays of these bytes."""
    return min(DIGEST_BYTES, sum(arrays))


def sink_bytes(*arrays: int) -> int:
    """Bound the host memory of arrays of these bytes that are written at the same time."""
    return min(REST_BYTES, sum(arrays)) + sum(min(SINK_BYTES, size) for size in arrays)
