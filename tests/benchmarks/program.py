"""What a benchmark is made of: its command line, lines that it prints at once, clocks of calls and disks."""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SAMPLE_BYTES = 256 << 20


def parser_of(text: str | None) -> argparse.ArgumentParser:
    """Make the parser of a program whose help is its docstring."""
    return argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)


def say(*words: Any) -> None:
    """Print a line at once."""
    print(*words, flush=True)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the milliseconds of a call by the clock, and its result."""
    started = time.perf_counter()
    found = work()
    return (time.perf_counter() - started) * 1e3, found


def event_median(work: Callable[[], Any], repeats: int) -> float:
    """Return the median milliseconds of calls on a GPU that is awake, after one that compiles."""
    from gravel.kernels.cuda import event_milliseconds
    from gravel.kernels.cuda.wake import wake

    work()
    times = []
    for _ in range(repeats):
        wake()
        times.append(event_milliseconds(work))
    return statistics.median(times)


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
