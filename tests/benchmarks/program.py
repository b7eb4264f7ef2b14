"""What a benchmark is made of: its command line, lines that it prints at once, and clocks."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any


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
