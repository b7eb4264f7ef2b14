"""A cost model of a search over p ranks on h hosts, and the threshold that it finds fastest.

Time is local work, delegates' masks, normal vertices and barriers, one after the other (Pan, Pearce, Owens
2018, section V: d / 8 bytes for each mask and 4 for each nn arc that is cut). On a host every rank reads the
other ranks' masks from their memory; between hosts masks go up and down a tree of leaders.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from kernels.partition.census import Census, Division

MASK_BYTES = 32 << 20
"""Of a delegate mask at most ("several tens of MBs", section V-A)."""

NN_SHARE = 0.1
"""Of the arcs, nn at most where there is a choice ("under 10%", section VI-B)."""


@dataclass(frozen=True)
class Machine:
    """What a rank and its links do; the defaults were measured on H200 GPUs of one host, but as marked."""

    arc_rate: float = 40e9
    """Arcs a second of a forward visit: random accesses that miss the L2 cache."""
    memory_bandwidth: float = 4.2e12
    """Bytes a second, read and written."""
    link_bandwidth: float = 337e9
    """Bytes a second that a rank reads from another's memory over NVLink."""
    link_latency: float = 2.3e-6
    """Seconds of a barrier among the ranks of a host."""
    host_bandwidth: float = 50e9
    """Bytes a second into a host. Not measured: a 400 Gb/s network card."""
    host_latency: float = 10e-6
    """Seconds of a message between hosts. Not measured."""
    looked_at: float = 0.02
    """Share of nd, dn and dd arcs that a direction-optimising search looks at. An assumption for Kronecker
    graphs; 1 without direction optimisation."""
    levels: int = 7
    mask_levels: int = 4
    """Levels that find delegates, about half of them (section V-B)."""


@dataclass(frozen=True)
class Prediction:
    """Seconds of a search by what they go to."""

    local: float
    masks: float
    vertices: float
    barriers: float

    @property
    def seconds(self) -> float:
        """The whole search, with nothing overlapped."""
        return self.local + self.masks + self.vertices + self.barriers

    def gteps(self, arcs: int) -> float:
        """Give the Graph500 rate: undirected edges, two arcs each, in billions a second."""
        return arcs / 2 / self.seconds / 1e9


def predict(
    division: Division, *, vertices: int, ranks: int, hosts: int = 1, machine: Machine | None = None
) -> Prediction:
    """Predict a search's time.

    Raises ValueError unless the ranks make `hosts` equal groups.
    """
    m = machine or Machine()
    if hosts < 1 or ranks % hosts:
        raise ValueError(f"{ranks} ranks do not make {hosts} equal hosts")
    here = ranks // hosts
    looked = division.nn + m.looked_at * (division.mixed + division.dd)
    # Labels and bitmaps of own vertices, and of the delegates, which every rank labels.
    written = 12 * vertices / ranks + 12 * division.delegates
    local = looked / ranks / m.arc_rate + written / m.memory_bandwidth
    mask = division.delegates / 8
    masks = m.mask_levels * (here - 1) * mask / m.link_bandwidth
    masks += m.mask_levels * 2 * math.log2(hosts) * mask / m.host_bandwidth
    sent = 4 * division.nn / ranks
    on_host = sent * (here - 1) / ranks / m.link_bandwidth
    between = sent * here * (ranks - here) / ranks / m.host_bandwidth
    barrier = (m.link_latency if here > 1 else 0.0) + math.log2(hosts) * m.host_latency
    return Prediction(local, masks, on_host + between, 2 * m.levels * barrier)


def grown(division: Division, factor: int) -> Division:
    """Divide a graph that is `factor` times as large alike, for weak scaling."""
    return replace(
        division,
        delegates=division.delegates * factor,
        nn=division.nn * factor,
        mixed=division.mixed * factor,
        dd=division.dd * factor,
    )


def choose_threshold(
    census: Census,
    ranks: int,
    *,
    hosts: int = 1,
    machine: Machine | None = None,
    delegates_per_local: float = 4.0,
    delegate_share: float = 1 / 16,
    nn_share: float = NN_SHARE,
    mask_bytes: int = MASK_BYTES,
) -> int:
    """Choose the threshold that `predict` finds fastest among those that keep delegates and nn arcs few.

    Parameters
    ----------
    delegates_per_local : most delegates for each vertex of a rank; the paper keeps d under 4 n / p.
    delegate_share : most delegates among all vertices. Not in the paper, whose graphs are scale-free: it
        keeps meshes and roads, where every vertex is as good as the next, from turning all into delegates.
    nn_share : most arcs between normal vertices.
    mask_bytes : of a delegate mask at most.

    Where no threshold keeps both few, the smallest that keeps the delegates few.

    """
    n, arcs = census.vertices, int(census.busier.sum())
    if n == 0 or arcs == 0:
        return 0
    most = min(delegates_per_local * n / ranks, delegate_share * n, 8 * mask_bytes)
    largest = census.largest
    above = n - census.of_degree.cumsum()
    low = int((above <= most).argmax())
    nn = census.busier.cumsum()
    high = min(largest, int(nn.searchsorted(nn_share * arcs, side="right")) - 1)
    if high <= low:
        return low
    best, fastest = low, math.inf
    for step in range(_STEPS + 1):
        threshold = round(max(low, 1) * (high / max(low, 1)) ** (step / _STEPS))
        seconds = predict(census.at(threshold), vertices=n, ranks=ranks, hosts=hosts, machine=machine).seconds
        if seconds < fastest:
            best, fastest = threshold, seconds
    return best


_STEPS = 32
"""Thresholds that are tried between the least and the most: the paper finds a wide range near the best."""
