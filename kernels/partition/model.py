"""A cost model of a search over p ranks on h hosts (Pan, Pearce, Owens 2018, sections IV-B and V).

Time is local work, delegates' masks, normal vertices and barriers, one after the other: nothing is taken to
overlap. Volumes are the paper's: a bit for each delegate, in words of 8 bytes, and 4 bytes for each nn arc,
of which (p - 1) / p are cut; where nn is visited backward, a bit of each vertex with arcs instead.
On a host every rank reads the other ranks' masks; between hosts masks go up and down a tree.

Local work is, on each rank: arcs that are expanded, first checks of normal vertices and of delegates (whose
first columns lie side by side), further checks of delegates and nn arcs (each in a row that lies elsewhere),
cut nn arcs, labels, and what a level takes that finds hardly anything. All but delegates' checks get fewer
with more ranks. `tests/kernels/partition/test_machines.py` holds it against what searches took.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from gravel.kernels.partition.census import Division
from gravel.kernels.partition.machines import H200_PEER, Machine

__all__ = [
    "BY_DEGREE",
    "DEGREE_ORDER",
    "Prediction",
    "Searching",
    "calibrated",
    "fastest",
    "hosts_of",
    "predict",
]


@dataclass(frozen=True)
class Prediction:
    """Seconds of a search by what they go to, and the bytes that all ranks together send."""

    local: float
    masks: float
    vertices: float
    barriers: float
    mask_bytes: float
    vertex_bytes: float

    @property
    def seconds(self) -> float:
        """The whole search, with nothing overlapped."""
        return self.local + self.masks + self.vertices + self.barriers

    def gteps(self, arcs: int) -> float:
        """Give the Graph500 rate: undirected edges, two arcs each, in billions a second."""
        return arcs / 2 / self.seconds / 1e9


def predict(
    division: Division,
    *,
    vertices: int,
    ranks: int,
    hosts: int = 1,
    machine: Machine = H200_PEER,
    searching: Searching | None = None,
) -> Prediction:
    """Predict a search's time.

    Parameters
    ----------
    division : the graph at its threshold, as `gravel.kernels.partition.census` counts it.
    vertices : of the whole graph.
    hosts : that share the ranks evenly; raises ValueError unless they can.

    """
    if hosts < 1 or ranks % hosts:
        raise ValueError(f"{ranks} ranks do not make {hosts} equal hosts")
    how = searching or Searching()
    here = ranks // hosts
    mask = 8 * math.ceil(division.delegates / 64)
    # Normal vertices: ids that all ranks send, those that stay on a host, those that leave one. Frontiers are
    # read within a host alone.
    if hosts > 1 or not how.direction_optimized:
        how = replace(how, nn_visited=1.0, nn_backward_levels=0.0)
    cut = 4 * how.nn_visited * division.nn * (ranks - 1) / ranks
    # Vertices without arcs are in no frontier, and those that are not reached have none, mostly.
    fronts = how.nn_backward_levels * how.reached * vertices / 8 * (ranks - 1) / ranks
    stay, leave = cut * (here - 1) / max(1, ranks - 1), cut * (ranks - here) / max(1, ranks - 1)
    own = stay / ranks
    partners = ranks - here
    if how.local_all_to_all:
        # Every id goes to the rank of its host that has the receiver's place, and from there to one.
        own += leave / ranks * (here - 1) / here
        partners = hosts - 1
    steps = math.ceil(math.log2(hosts))
    one_mask = (here - 1) * mask / machine.link_bandwidth + 2 * steps * mask / machine.host_bandwidth
    barrier = (machine.link_latency if here > 1 else 0.0) + steps * machine.host_latency
    committing = machine.commit_seconds if ranks > 1 else 0.0
    barriers = (how.levels + machine.end_levels) * (2 * barrier + committing)
    return Prediction(
        local=_local(division, vertices, ranks, machine, how),
        masks=how.mask_levels * one_mask,
        vertices=(own + fronts) / machine.link_bandwidth + leave / hosts / machine.host_bandwidth,
        barriers=barriers + how.levels * partners * machine.message_seconds,
        mask_bytes=how.mask_levels * mask * (ranks * (here - 1) + 2 * (hosts - 1)),
        vertex_bytes=cut + ranks * fronts + (leave * (here - 1) / here if how.local_all_to_all else 0.0),
    )


def _local(division: Division, vertices: int, ranks: int, machine: Machine, how: Searching) -> float:
    def side_by_side(accesses: float, bits: float) -> float:
        cached = bits / 8 <= machine.cache_bytes
        return accesses / (machine.cached_rate if cached else machine.access_rate)

    delegates, normals = division.delegates, max(0, vertices - division.delegates) / ranks
    nn = how.nn_visited * division.nn / ranks
    cut = nn * (ranks - 1) / ranks
    spent = (nn - cut) / machine.access_rate + cut / machine.cut_rate
    others = (division.mixed + division.dd) / ranks
    if how.direction_optimized:
        first = how.pulled * others + min(1, how.parents) * delegates
        spent += side_by_side(how.expanded * others + first, delegates)
        # Rows of more ranks are shorter, but not what is read of them (the paper's bound m' + p d b).
        spent += max(0, how.parents - 1) * delegates / machine.access_rate
    else:
        spent += side_by_side(others, max(delegates, vertices / ranks))
    # What is labelled waits for memory, what is cleared is written in a stream.
    spent += how.reached * (normals + delegates) / (machine.label_rate * how.together)
    spent += how.label_bytes * (normals + delegates) / machine.memory_bandwidth
    return spent + (how.levels + machine.end_levels) * machine.level_seconds


def calibrated(
    machine: Machine,
    seconds: float,
    division: Division,
    *,
    vertices: int,
    ranks: int,
    searching: Searching | None = None,
) -> Machine:
    """Scale a machine's local rates so that a rank's local work takes the seconds that were measured.

    Raises ValueError for a time that is none.
    """
    if not seconds > 0:
        raise ValueError(f"{seconds} seconds of local work is not a time that was measured")
    factor = _local(division, vertices, ranks, machine, searching or Searching()) / seconds
    return replace(
        machine,
        access_rate=machine.access_rate * factor,
        cached_rate=machine.cached_rate * factor,
        cut_rate=machine.cut_rate * factor,
        label_rate=machine.label_rate * factor,
        memory_bandwidth=machine.memory_bandwidth * factor,
        level_seconds=machine.level_seconds / factor,
    )


def hosts_of(ranks: int, machine: Machine) -> int:
    """Give the fewest hosts that share the ranks evenly, with no more on one than the machine has."""
    most = machine.ranks_per_host
    return next(hosts for hosts in range(1, ranks + 1) if not ranks % hosts and ranks // hosts <= most)


def fastest(divisions: Sequence[Division], **facts: Any) -> Division:
    """Give the division that `predict`, with these facts, finds fastest of several of one graph; the first of
    equals.
    """
    return min(divisions, key=lambda division: predict(division, **facts).seconds)


@dataclass(frozen=True)
class Searching:
    """How a search goes. The defaults are those of Kronecker graphs in their own order, with predecessors."""

    levels: float = 7
    mask_levels: float = 4
    """Levels that find delegates, about half of them (section V-B)."""
    expanded: float = 0.02
    """Share of nd, dn and dd arcs that a search with directions expands forward."""
    pulled: float = 0.011
    """Share of nd, dn and dd arcs that normal vertices pull along: hardly more than one each."""
    parents: float = 5.0
    """Columns that a rank tests for a delegate. They do not get fewer with shorter rows of more ranks."""
    nn_visited: float = 1.0
    """Share of nn arcs that a search with directions goes along: all where nn is visited forward alone."""
    nn_backward_levels: float = 0.0
    """Levels in which it is not, and every rank of a host reads the frontiers of the others."""
    reached: float = 0.55
    """Share of vertices that are labelled; the others have no arcs, mostly."""
    together: float = 1.0
    """Labels that are written in the time of one that lies alone."""
    label_bytes: float = 14
    """Moved for each vertex at the beginning and end: a depth of a byte is cleared and read, a distance of 4
    bytes written, and for a predecessor a key of 8 cleared, or one of 4 copied from what is expected."""
    direction_optimized: bool = True
    local_all_to_all: bool = False


BY_DEGREE = Searching(parents=1.2, nn_visited=0.1, nn_backward_levels=2.5)
"""With delegates numbered by their arcs and nn in both directions: GPUs, unless for smallest predecessors."""

DEGREE_ORDER = replace(BY_DEGREE, together=1.15)
"""The same in degree order: what a level labels lies close together. Labels took 2.5 ns a thousand against
2.9 in the graph's own order (scale 24, one H200)."""
