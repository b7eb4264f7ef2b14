"""The direction of each visit: forward work counted, backward work estimated (section IV-B).

An unvisited destination checks its possible parents one by one. Each is on the frontier with
probability a = q / (q + s), for q new sources of the subgraph and s that are not visited; so the expected
number of checks is a geometric series, at most 1 / a, and the backward work of u unvisited destinations is
u (q + s) / q.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Ends:
    """Of one kind of row on one rank, those that are not empty: how many are new, how many unvisited."""

    unvisited: int
    new: int = 0
    arcs: int = 0  # of the new ones

    def advance(self, new: int, arcs: int) -> None:
        """Take in the next frontier."""
        self.unvisited -= new
        self.new = new
        self.arcs = arcs


def is_backward(
    was_backward: bool, sources: Ends, destinations: int, *, to_backward: float, to_forward: float
) -> bool:
    """Decide a visit's direction; `destinations` counts those with possible parents that are not visited."""
    if not sources.new:
        return was_backward
    # Both sides times q, as GPUs compare them.
    forward_work = float(sources.arcs) * sources.new
    backward_work = float(destinations) * (float(sources.new) + sources.unvisited)
    if was_backward:
        return not forward_work < to_forward * backward_work
    return forward_work > to_backward * backward_work
