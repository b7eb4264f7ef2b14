"""How fast a disk takes what is written to it."""

from __future__ import annotations

import os
import time
from pathlib import Path

SAMPLE_BYTES = 256 << 20


def write_rate(folder: Path) -> float:
    """Write a sample to a folder and wait for the disk; returns bytes in a second."""
    # No file system shrinks what repeats that far away, and random bytes take three times as long as it.
    block = os.urandom(1 << 20)
    sample = folder / ".disk-rate"
    began = time.perf_counter()
    with sample.open("wb", buffering=0) as file:
        for _ in range(SAMPLE_BYTES >> 20):
            file.write(block)
        os.fsync(file.fileno())
    taken = time.perf_counter() - began
    sample.unlink()
    return SAMPLE_BYTES / taken
