"""The degree threshold that the cost model finds fastest while delegates and nn arcs stay few.

`suggest` is the one place that chooses: `threshold: auto` and the suggestions of a report call it with the
same thresholds, the powers of the square root of 2 of a census. Of those that keep (`Limits`)

    d <= min(4 n / p, n / 16, 8 * 32 Mi)   delegates; n / 4 and 2^20 for n / 16 where nn is not met otherwise
    nn <= m / 10                           arcs between normal vertices

it takes the one for which `gravel.kernels.partition.model.predict` gives the least time of a search,

    local work + masks + normal vertices + barriers

on p ranks. 4 n / p, a tenth and "several tens of MBs" are from Pan, Pearce, Owens 2018 (sections V-A and
VI-B), n / 16 is gravel's. The paper sweeps thresholds instead, and finds a wide range near the best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from gravel.kernels.partition.census import Census, Division
from gravel.kernels.partition.machines import H200_PEER, Machine
from gravel.kernels.partition.model import Searching, fastest, hosts_of


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


def suggest(
    divisions: Sequence[Division],
    *,
    vertices: int,
    ranks: int,
    hosts: int | None = None,
    machine: Machine = H200_PEER,
    searching: Searching | None = None,
    limits: Limits | None = None,
) -> Division:
    """Choose among the divisions of one graph at several thresholds; there has to be one.

    The fastest of those that keep delegates and nn arcs few; where none does, that of the smallest threshold
    that keeps the delegates few; where none does that either, that of the largest. Without `hosts` the ranks
    are on as few as have room for them.
    """
    bounds = limits or Limits()
    hosts = hosts_of(ranks, machine) if hosts is None else hosts
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
    census: Census, ranks: int, *, hosts: int | None = None, machine: Machine = H200_PEER, **limits: Any
) -> int:
    """Choose a threshold for p ranks by a census of the graph, as `suggest` does; 0 for one without arcs.

    Parameters
    ----------
    limits : those of `Limits`, by name.

    """
    if census.vertices == 0 or census.largest == 0:
        return 0
    facts: dict[str, Any] = {"vertices": census.vertices, "ranks": ranks, "hosts": hosts}
    return suggest(census.curve(), **facts, machine=machine, limits=Limits(**limits)).threshold


def suggest_threshold(
    row_offsets: NDArray[Any], column_indices: NDArray[Any], ranks: int, **limits: Any
) -> int:
    """Choose the threshold of a whole graph for p ranks, as `choose_threshold`.

    Parameters
    ----------
    row_offsets, column_indices : int64 and uint32 or uint64.
    limits : those of `Limits`, by name; `hosts` and `machine`, too.

    """
    from gravel.kernels.partition.census_cpu import take_census

    return choose_threshold(take_census(row_offsets, column_indices), ranks, **limits)
