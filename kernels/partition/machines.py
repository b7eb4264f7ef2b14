"""What ranks and the links between them do, for the cost model: measured, published or assumed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Machine:
    """Rates of one rank, and of what joins the ranks of a host and the hosts. Bytes and seconds."""

    name: str
    access_rate: float
    """Random accesses a second: to a table that the cache does not hold, or to rows that lie apart."""
    cached_rate: float
    """Arcs a second that are read side by side, where the cache holds the bits that they are tested in."""
    cut_rate: float
    """Cut nn arcs a second: each is put into a bin, and taken out by the rank that it is for."""
    label_rate: float
    """Labels a second that lie apart, with the counting of their rows."""
    cache_bytes: float
    memory_bandwidth: float
    """Read and written."""
    level_seconds: float
    """Of a level that finds hardly anything, on a rank that is alone."""
    commit_seconds: float
    """That it takes longer among several ranks, besides their two barriers."""
    end_levels: float
    """Levels that a search's beginning and end are taken for: labels are cleared, delegates' ones brought to
    their vertices and all widened. 0 where they are in what a level takes."""
    link_bandwidth: float
    """What a rank reads from another rank of its host."""
    link_latency: float
    """That a barrier among the ranks of a host takes longer than one of a rank that is alone."""
    host_bandwidth: float
    """Into a host, and out of it."""
    host_latency: float
    """Of one step of a reduction between hosts."""
    message_seconds: float
    """That a rank spends on each message to another host, besides its bytes."""
    ranks_per_host: int


_MACHINES = {
    "name": ("H200, peers", "P100, Ray", "CPU workers"),
    "access_rate": (40e9, 5.8e9, 0.1e9),
    "cached_rate": (153e9, 5.8e9, 0.4e9),
    "cut_rate": (18e9, 2.9e9, 0.05e9),
    "label_rate": (360e9, 10e9, 0.1e9),
    "cache_bytes": (60e6, 4e6, 8e6),
    "memory_bandwidth": (4.2e12, 0.5e12, 10e9),
    "level_seconds": (13e-6, 0.3e-3, 0.2e-3),
    "commit_seconds": (6e-6, 0.0, 0.0),
    "end_levels": (2, 0, 0),
    "link_bandwidth": (337e9, 40e9, 1e9),
    "link_latency": (3e-6, 50e-6, 1.5e-3),
    "host_bandwidth": (8 * 50e9, 2 * 12.5e9, 1e9),
    "host_latency": (10e-6, 0.3e-3, 1.5e-3),
    "message_seconds": (1e-6, 5e-6, 1e-4),
    "ranks_per_host": (8, 4, 1),
}
"""The first is measured on one and two H200 GPUs of a host; docs/tuning.md has what each rate comes from.

The second is the paper's machine (Pan, Pearce, Owens 2018, section VI-A): NVLink of 40 GB/s, and for two
sockets 100 Gb/s of InfiniBand each, at line rate. The access rate is fitted to its table II (22.9 GTEPS of
one GPU at scale 24) with two accesses for a cut arc and half of one for a label, the latencies to the few
milliseconds that section VI-D gives an iteration on 40 hosts. The third are processes that talk over sockets,
mostly assumed; `gravel.kernels.partition.model.calibrated` fits local rates to a run."""


def _machine(place: int) -> Machine:
    facts: dict[str, Any] = {name: values[place] for name, values in _MACHINES.items()}
    return Machine(**facts)


H200_PEER, P100_RAY, CPU_WORKERS = map(_machine, range(3))
H200_NCCL = replace(
    H200_PEER,
    name="H200, NCCL",
    level_seconds=0.26e-3,
    commit_seconds=0.11e-3,
    link_bandwidth=3 * (64 << 20) / 658e-6,
    link_latency=8.7e-6,
)
"""The same with NCCL, whose host launches the kernels and messages of every level."""


@dataclass(frozen=True)
class LinkCurve:
    """What a pattern of messages took, from the smallest message on."""

    transport: str
    pattern: str
    carried: tuple[float, ...]
    """Bytes that a rank receives in a turn."""
    seconds: tuple[float, ...]


def with_links(machine: Machine, curves: Sequence[LinkCurve]) -> Machine:
    """Put measured links between the ranks of a host in the place of a machine's own.

    The latency is that of a barrier; the bandwidth what the largest exchange takes beyond the smallest, or a
    reduction where nothing was exchanged. `message_seconds` is what the smallest message of a pair takes, on
    a transport that joins hosts as it does ranks (the wire). Curves are of one transport; what they do not
    tell stays as it was.

    Raises ValueError for curves of several transports.
    """
    named = {curve.pattern: curve for curve in curves}
    transports = sorted({curve.transport for curve in curves})
    if len(transports) > 1:
        raise ValueError(
            f"links of {', '.join(transports)} do not make one machine; choose the curves of one"
        )
    if not transports:
        return machine
    changes: dict[str, Any] = {"name": f"{machine.name}, {transports[0]} as measured"}
    if "meet" in named:
        changes["link_latency"] = min(named["meet"].seconds)
    for pattern in ("exchange", "reduce"):
        bandwidth = _bandwidth(named[pattern]) if pattern in named else None
        if bandwidth is not None:
            changes["link_bandwidth"] = bandwidth
            break
    if transports == ["wire"] and "pair" in named:
        changes["message_seconds"] = named["pair"].seconds[0]
    return replace(machine, **changes)


def _bandwidth(curve: LinkCurve) -> float | None:
    """Give bytes a second between the smallest and the largest message, where these differ enough to tell."""
    more = curve.seconds[-1] - curve.seconds[0]
    carried = curve.carried[-1] - curve.carried[0]
    if carried <= 0:
        return None
    # Noise may hide what a few bytes more take; then the whole time bounds the rate from below.
    return carried / more if more > 0.1 * curve.seconds[-1] else curve.carried[-1] / curve.seconds[-1]
