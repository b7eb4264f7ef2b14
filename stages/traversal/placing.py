"""Where the rows of a graph will lie while a traversal runs: decided by numbers, before anything is read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gravel.stages.errors import StageError

if TYPE_CHECKING:
    from gravel.kernels.placement import Limits, Placed, Plan, Sizes
    from gravel.stages.artifacts import CompressedGraph, Graph, Partition
    from gravel.stages.stage import Extent, Machine
    from gravel.stages.traverse import TraverseParameters

HOST_STRATEGIES = ("auto", "host_rows", "streamed")
"""Strategies that search rows wherever they lie; the others want them where the search runs, or pinned."""

SPLIT_COMPONENTS = ("auto", "afforest")
"""Strategies that find components of rows of which the device has first neighbours alone."""

COLUMNS = "columns"
"""The name of a graph's columns among the arrays that are placed."""


def check_placement(parameters: TraverseParameters) -> None:
    """Raise ValueError where a strategy cannot search rows that lie as is asked for."""
    placement, strategy = parameters.placement, parameters.strategy
    if parameters.algorithm == "bfs" and placement == "split" and strategy not in ("auto", "host_rows"):
        raise ValueError(f"placement split is searched by host_rows alone, not by {strategy}")
    if parameters.algorithm == "components" and placement == "split" and strategy not in SPLIT_COMPONENTS:
        raise ValueError(f"components of placement split are found by afforest alone, not by {strategy}")
    if (placement == "streamed") != (strategy == "streamed") and "auto" not in (placement, strategy):
        raise ValueError(f"strategy {strategy} does not search rows of placement {placement}")


def placement_asked(parameters: TraverseParameters) -> str:
    """Return the placement to plan for, which a strategy may decide."""
    asked: str = parameters.placement
    if asked != "auto":
        return asked
    if parameters.strategy == "streamed":
        return "streamed"
    if parameters.algorithm == "sssp":
        return "device"
    if parameters.algorithm == "bfs" and parameters.strategy not in HOST_STRATEGIES:
        return "device"
    return asked


def limits_of(parameters: TraverseParameters, machine: Machine, base: int) -> Limits:
    """Return what the parameters allow, at most what the machine has.

    `base` is what a traversal takes in host memory beside rows and buffers.
    """
    from gravel.kernels.placement import Limits

    device = [size for size in (parameters.device_memory, machine.device_memory) if size]
    host = [max(0, machine.host_memory - base)]
    if parameters.host_memory is not None:
        host.append(int(parameters.host_memory))
    return Limits(int(min(device)) if device else None, min(host))


def plan_rows(parameters: TraverseParameters, sizes: Sizes, limits: Limits, backend: str) -> Plan:
    """Choose a placement; raises `gravel.kernels.placement.DoesNotFit`."""
    from gravel.kernels.placement import on_gpu, on_host

    asked = placement_asked(parameters)
    if backend == "cpu":
        if asked == "device":
            limits = replace(limits, host=None)
        return on_host(sizes, limits, asked)
    names: tuple[str, ...] | None = None
    if parameters.algorithm == "components":
        # Only one strategy takes rows in parts, and one that are split; all take them pinned.
        strategy = parameters.strategy
        split = ("split",) if strategy in SPLIT_COMPONENTS else ()
        streamed = ("streamed",) if strategy in ("auto", "streamed") else ()
        names = ("device", *split, "pinned", *streamed)
    return on_gpu(sizes, limits, asked, among=names)


@dataclass(frozen=True)
class Placing:
    """A plan with what it was made from, for when the system refuses what was planned."""

    plan: Plan
    sizes: Sizes
    limits: Limits


def plan_for(
    parameters: TraverseParameters, stored: Graph | CompressedGraph | Partition, machine: Machine
) -> Placing | None:
    """Plan for what is stored; None for a partition, whose ranks hold its rows.

    Raises `StageError` where it does not fit, with the numbers and what would fit.
    """
    from gravel.kernels.placement import DoesNotFit
    from gravel.stages.traversal.need import placing_of

    extent = extent_of(stored)
    if extent.normal_arcs is not None:
        return None
    try:
        return placing_of(parameters, extent, machine)
    except DoesNotFit as error:
        raise StageError(f"the graph does not fit: {error}", hint=error.hint) from None


def place_columns(columns: Any, placing: Placing | None) -> Placed | None:
    """Bring columns to where they are planned; None where they go the usual way, whole into memory."""
    from gravel.kernels.placement import place

    if placing is None or placing.plan.placement in ("device", "host"):
        return None
    return place({COLUMNS: columns}, placing.plan, placing.sizes, placing.limits)


def extent_of(stored: Graph | CompressedGraph | Partition) -> Extent:
    """Tell how large a stored graph is, as the planner knows it; of a partition that it is one."""
    from gravel.stages.artifacts import CompressedGraph, Partition
    from gravel.stages.stage import Extent

    n, m = stored.vertex_count, stored.arc_count
    split = isinstance(stored, Partition) or (
        isinstance(stored, CompressedGraph) and stored.subgraphs is not None
    )
    size = 8 * (n + 1) + (4 if n < 1 << 32 else 8) * m
    if isinstance(stored, CompressedGraph):
        size = 8 * (n + 1) + len(stored.stream)
    weights = getattr(stored, "weights", None)
    if weights is not None:
        size += weights.dtype.itemsize * m
    return Extent(
        kind=type(stored).__name__,
        vertices=n,
        arcs=m,
        bytes=size,
        directed=not stored.symmetric,
        normal_arcs=0 if split else None,
        weighted=weights is not None,
    )
