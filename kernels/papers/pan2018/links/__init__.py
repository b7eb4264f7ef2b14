"""What messages between the ranks of a rank group take, by their size and by what carries them.

The patterns are those of a search over ranks (Pan, Pearce, Owens, IPDPS 2018, sections V and VI-A):

========  ===================================================================================
meet      all ranks wait for each other, and nothing is carried
pair      a message from one rank to another, there and back, of which one way counts
exchange  every rank has a message for every other rank
cut       the same with more for each, cut into messages of the size (the paper's sweep)
reduce    the OR of all ranks' masks of the size, known to all
========  ===================================================================================

A `Link` carries them; `measure` makes the curves. All ranks call both at the same time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Protocol

from gravel.kernels.exchange import RankGroup

__all__ = [
    "PATTERNS",
    "TRANSPORTS",
    "Link",
    "Measured",
    "RankGroup",
    "carried_bytes",
    "measure",
    "sizes_between",
]

PATTERNS = ("meet", "pair", "exchange", "cut", "reduce")

TRANSPORTS = ("wire", "peer", "nccl")
"""`wire` carries values between workers, `peer` lets GPUs read each other's memory, `nccl` is NCCL."""

LEAST_SECONDS = 2e-3
"""Of turns that are timed together: a thousand times what clocks tell apart."""

MAX_TURNS = 1000

MAX_CUTS = 256
"""Messages to each rank into which `cut` cuts at most."""

WORD = 8
"""Bytes of which every size is a multiple."""


class Link(Protocol):
    """One rank's end of a transport."""

    name: str
    patterns: tuple[str, ...]

    def run(self, pattern: str, size: int, turns: int) -> float:
        """Do a pattern with messages of so many bytes, `turns` times; returns the seconds of all.

        Raises RuntimeError when the others did not come.
        """
        ...

    def arrived(self, pattern: str, size: int) -> bool:
        """Tell whether the last turn brought what the others sent."""
        ...

    def close(self) -> None:
        """Let go of what was taken; all ranks do at the same time."""
        ...


@dataclass(frozen=True)
class Measured:
    """One point of a curve. `bytes` is a message's, `carried` what a rank receives in a turn."""

    transport: str
    pattern: str
    bytes: int
    carried: int
    seconds: float  # of a turn on the slowest rank, the median of the repetitions
    fastest: float  # repetition
    turns: int
    repeats: int


def sizes_between(smallest: int, largest: int, step: int) -> tuple[int, ...]:
    """List message sizes in whole words, each `step` times the one before."""
    sizes, size = [], max(WORD, smallest)
    while size < largest:
        sizes.append(-(-size // WORD) * WORD)
        size *= step
    return (*sizes, -(-largest // WORD) * WORD)


def carried_bytes(pattern: str, size: int, ranks: int, total: int) -> int:
    """Count what a rank receives in a turn."""
    if pattern == "meet":
        return 0
    if pattern == "pair":
        return size
    return (ranks - 1) * (-(-total // size) * size if pattern == "cut" else size)


def measure(
    group: RankGroup,
    link: Link,
    sizes: Sequence[int],
    *,
    repeats: int,
    total: int,
    point_seconds: float = math.inf,
) -> tuple[Measured, ...]:
    """Time every pattern with every size, alike on all ranks.

    Parameters
    ----------
    sizes : of messages, in bytes, multiples of 8.
    repeats : of as many turns as take `LEAST_SECONDS`, at most.
    total : bytes for each other rank that `cut` cuts into messages.
    point_seconds : that the turns of one point may take, or the first one, if that takes longer. A point
        whose turns take long is repeated less often.

    Raises RuntimeError when a message did not arrive as it was sent.

    """
    found = []
    for pattern in link.patterns:
        for size in sizes[:1] if pattern == "meet" else sizes:
            if pattern == "cut" and not total / MAX_CUTS <= size <= total:
                continue
            # Of there and back one way counts, but both take time.
            most = point_seconds / 2 if pattern == "pair" else point_seconds
            turns, times = _timed(group, link, pattern, size, repeats=repeats, most=most)
            if not all(group.all_gather(link.arrived(pattern, size))):
                raise RuntimeError(f"{link.name} {pattern} of {size} bytes did not bring what was sent")
            carried = carried_bytes(pattern, size, group.size, total)
            point = (0 if pattern == "meet" else size, carried, median(times), min(times), turns, len(times))
            found.append(Measured(link.name, pattern, *point))
    return tuple(found)


def _timed(
    group: RankGroup, link: Link, pattern: str, size: int, *, repeats: int, most: float
) -> tuple[int, list[float]]:
    """Give the turns that were timed together, and seconds of a turn by repetition; alike on all ranks."""

    def run(turns: int) -> float:
        group.barrier()
        return float(max(group.all_gather(link.run(pattern, size, turns))))

    # The first turn finds nothing ready, which matters less the longer it takes.
    first = run(1)
    if 2 * first > most:
        return 1, [first]
    both = run(2)
    turns = _turns(both / 2)
    left = (most - first - both) / max(turns * both / 2, 1e-9)
    if left < 1:
        return 2, [both / 2]
    return turns, [run(turns) / turns for _ in range(int(min(left, repeats)))]


def _turns(seconds: float) -> int:
    return max(1, min(MAX_TURNS, int(LEAST_SECONDS / max(seconds, 1e-9))))
