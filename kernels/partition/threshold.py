"""The degree threshold that the cost model finds fastest while delegates and nn arcs stay few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from kernels.partition.census import Census, Division, take_census
from kernels.partition.machines import H200_PEER, Machine
from kernels.partition.model import Searching, fastest

STEPS = 32
"""Thresholds that are tried between the least and the most: the paper finds a wide range near the best."""


@dataclass(frozen=True)
class Limits:
    """How many delegates and nn arcs there may be.

    Attributes
    ----------
    delegates_per_local : delegates for each vertex of a rank; the paper keeps d under 4 n / p.
    delegate_share : delegates among all vertices. Not in the paper, whose graphs are scale-free: it keeps
        meshes and roads, where every vertex is as good as the next, from turning all into delegates.
    larger_share, few_delegates : the same where nothing else keeps nn arcs few, for so many delegates at
        most: small graphs are skewed less, and a mask of 128 KiB costs little more than none.
    nn_share : arcs between normal vertices, where there is a choice; the paper wishes for less than 10 %.
    mask_bytes : of a delegate mask, "several tens of MBs" (section V-A).

    """

    delegates_per_local: float = 4.0
    delegate_share: float = 1 / 16
    larger_share: float = 1 / 4
    few_delegates: int = 1 << 20
    nn_share: float = 0.1
    mask_bytes: int = 32 << 20

    def most_delegates(self, vertices: int, ranks: int, *, larger: bool = False) -> float:
        """Give the most delegates that a graph may have; `larger` where nn arcs are many otherwise."""
        most = self.delegate_share * vertices
        if larger:
            most = max(most, min(self.larger_share * vertices, self.few_delegates))
        return min(self.delegates_per_local * vertices / ranks, most, 8 * self.mask_bytes)


def choose(
    divisions: Sequence[Division],
    *,
    vertices: int,
    ranks: int,
    hosts: int = 1,
    machine: Machine = H200_PEER,
    searching: Searching | None = None,
    limits: Limits | None = None,
) -> Division:
    """Choose among the divisions of one graph at several thresholds; there has to be one.

    The fastest of those that keep delegates and nn arcs few; where none does, that of the smallest threshold
    that keeps the delegates few; where none does that either, that of the largest.
    """
    bounds = limits or Limits()
    for larger in (False, True):
        most = bounds.most_delegates(vertices, ranks, larger=larger)
        both = [
            each for each in divisions if each.delegates <= most and each.nn <= bounds.nn_share * each.arcs
        ]
        if both:
            return fastest(
                both, vertices=vertices, ranks=ranks, hosts=hosts, machine=machine, searching=searching
            )
    few = [each for each in divisions if each.delegates <= bounds.most_delegates(vertices, ranks)]
    if few:
        return min(few, key=lambda each: each.threshold)
    return max(divisions, key=lambda each: each.threshold)


def choose_threshold(
    census: Census, ranks: int, *, hosts: int = 1, machine: Machine = H200_PEER, **limits: Any
) -> int:
    """Choose a threshold for p ranks on h hosts by a census of the graph.

    Parameters
    ----------
    limits : those of `Limits`, by name.

    """
    bounds = Limits(**limits)
    vertices, arcs = census.vertices, int(census.busier.sum())
    if vertices == 0 or arcs == 0:
        return 0
    above = vertices - census.of_degree.cumsum()
    lows = [
        int((above <= bounds.most_delegates(vertices, ranks, larger=larger)).argmax())
        for larger in (False, True)
    ]
    fits = int(census.busier.cumsum().searchsorted(bounds.nn_share * arcs, side="right")) - 1
    high = min(census.largest, fits)
    tried = set(lows)
    for low in lows:
        first = max(low, 1)
        if high > low:
            tried |= {round(first * (high / first) ** (step / STEPS)) for step in range(STEPS + 1)}
    return choose(
        [census.at(each) for each in sorted(tried)],
        vertices=vertices,
        ranks=ranks,
        hosts=hosts,
        machine=machine,
        limits=bounds,
    ).threshold


def suggest_threshold(
    row_offsets: NDArray[Any], column_indices: NDArray[Any], ranks: int, **limits: Any
) -> int:
    """Choose the threshold of a whole graph for p ranks, as `choose_threshold`.

    Parameters
    ----------
    row_offsets, column_indices : int64 and uint32 or uint64.
    limits : those of `Limits`, by name; `hosts` and `machine`, too.

    """
    return choose_threshold(take_census(row_offsets, column_indices), ranks, **limits)
