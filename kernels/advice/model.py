"""What a search is estimated to cost: counted work over measured rates.

    seconds = levels * LEVEL + state bytes / MEMORY + arcs examined / LOOKS * slowness of the layout
              + levels * near_level of the layout
              + levels * far_level of the layout + the longer of bytes over the link / LINK and arcs / decoded
              + first neighbours * their scatter / SCATTERED

of which the second line is for rows in device memory, the third for rows in host memory, and the last for
components of these.

The terms are those that a search's own measurements fall into; the constants are rates of one H200, measured
(docs/tuning.md) unless they say that they are assumed. Times are estimates for comparing choices with each
other, not promises.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gravel.kernels.bfs.choice import SHALLOW
from gravel.kernels.layouts.layout import Costs
from gravel.kernels.layouts.registry import layout_of

if TYPE_CHECKING:
    from gravel.kernels.advice.pilot import Tried

LEVEL = 4e-6
"""Seconds of a level with next to nothing in it: a barrier and the loads that depend on each other."""

MEMORY = 4.2e12
"""Bytes a second that device memory is copied with."""

LOOKS = 140e9
"""Random accesses a second that the second-level cache serves: a look at a neighbour is one."""

EXAMINED, EXAMINED_BEYOND = 0.05, 0.02
"""Shares of the arcs that a search of a shallow symmetric graph examines, in all and beyond the first two of
a row (docs/tuning.md)."""

LINK = 51e9
"""Bytes a second that kernels read from pinned host memory in ascending order."""

STATE_BYTES = 48
"""Device bytes per vertex beside its row: two offsets, two first neighbours, labels, queue, bitmaps."""

LABEL_BYTES = 16
"""Of these, what is touched for every vertex: labels. The rest is for vertices up to the last that has arcs,
where a direction-optimising search ends its bitmaps and first neighbours."""

COMPONENT_BYTES = 104
"""Device bytes per vertex that finding components touches: 8 of labels, 64 to 128 of a row's beginning."""

FAR_COMPONENT_BYTES = 32
"""The same where rows lie in host memory: labels, and two first neighbours that were copied from the rows."""

SCATTERED = 8.5e9
"""First neighbours a second that components of rows in host memory are joined with, where each one's label is
on a line of its own."""

SPLIT_SHARE = 0.15
"""Share of the rows that a search with first neighbours on the device reads from the host: that of vertices
whose bottom-up look goes on."""

ORDERED: Mapping[str, float] = {
    "original": math.inf,
    "random": 5e9,
    "degree": 2e9,
    "hub_sort": 2e9,
    "hub_cluster": 2e9,
    "degree_groups": 2e9,
    "rcm": 1.5e9,
    "rcm_by_degree": 1.5e9,
    "community": 0.5e9,
    "community_rcm": 0.4e9,
}
"""Arcs a second that an order is found and applied with, on a device that holds the graph; assumed. A search
gains from an order for as long as the graph is kept, so that their size matters for few searches alone."""

LAUNCH = 0.05
"""Seconds that an order or a layout takes whatever the graph's size; assumed."""


@dataclass(frozen=True)
class Workload:
    """What a graph is prepared for. `device_memory` is in bytes, None where everything fits.

    `placement` is where rows lie: "device", "pinned" (host memory), "split" (what fits on the device) or
    "auto": on the device where they fit, else split. `searches` is how many preparation is spread over.
    """

    algorithm: str = "bfs"  # or "components"
    searches: int = 1000
    device_memory: int | None = None
    placement: str = "auto"


@dataclass(frozen=True)
class Features:
    """What the model knows of a graph; `index_bytes` are those of a neighbour in `csr`."""

    vertices: int
    arcs: int
    symmetric: bool
    levels: float
    index_bytes: int = 4


@dataclass(frozen=True)
class Estimate:
    """One choice: where its rows lie, seconds of a search, and seconds of what is made once."""

    order: str
    layout: str
    placement: str
    bits: float
    search_seconds: float
    prepare_seconds: float
    searches: int
    parts: Mapping[str, float] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """Of a search with its share of the preparation."""
        return self.search_seconds + self.prepare_seconds / max(1, self.searches)


def order_seconds(graph: Features, orders: Sequence[str]) -> float:
    """Seconds of the cheapest of some orders, "original" apart; infinite where there is no other."""
    others = [order for order in orders if order != "original"]
    return min((LAUNCH + graph.arcs / _ordered(order) for order in others), default=math.inf)


def _ordered(order: str) -> float:
    return ORDERED.get(order, min(ORDERED.values()))


def costs_of(layout: str) -> Costs:
    """What a layout says that searches of its rows cost."""
    return layout_of(layout).costs


def estimate(
    graph: Features, work: Workload, tried: Tried, layout: str, *, missed: float = 1.0, ordered: bool = False
) -> Estimate | None:
    """Estimate a search of a graph in an order and a layout; None where the placement cannot hold it.

    Parameters
    ----------
    missed : lines that a split search reads behind first neighbours for each one that it reads in the given
        numbering, of which it reads `SPLIT_SHARE`; by `gravel.kernels.advice.misses`.
    ordered : the order is there already, so that it costs nothing.

    """
    costs, rows = costs_of(layout), tried.bits[layout] * graph.arcs / 8
    state = STATE_BYTES * graph.vertices
    room = math.inf if work.device_memory is None else max(0.0, work.device_memory - state)
    placement = work.placement
    if placement == "auto":
        placement = "device" if rows <= room else "split"
    if placement == "device" and rows > room:
        return None
    shallow = graph.symmetric and graph.levels <= SHALLOW
    arcs = graph.arcs * (EXAMINED if shallow else 1.0)
    slowed = graph.arcs * (EXAMINED_BEYOND if shallow else 1.0)
    touched = 1.0
    state_bytes = graph.vertices * (LABEL_BYTES + tried.span * (STATE_BYTES - LABEL_BYTES))
    if work.algorithm == "components":
        arcs = slowed = 2.0 * graph.vertices
        state_bytes = float(COMPONENT_BYTES * graph.vertices)
        if placement != "device":
            state_bytes = float(FAR_COMPONENT_BYTES * graph.vertices)
            slowed = 0.0
        # Rows of the largest component are not read, where arcs go both ways.
        touched = 0.0 if graph.symmetric else 1.0
    elif placement == "split" and shallow:
        touched = min(1.0, SPLIT_SHARE * missed)
    parts = {
        "levels": LEVEL * (graph.levels if work.algorithm == "bfs" else 4.0),
        "state": state_bytes / MEMORY,
        "looks": (arcs + slowed * (costs.slowness - 1.0)) / LOOKS,
    }
    if placement != "device":
        # A split search reads single rows, each at least a line of the link however it is written.
        lines = float(graph.index_bytes * graph.arcs) if placement == "split" and shallow else rows
        away = rows if placement == "pinned" else max(0.0, lines - room)
        # Whichever is slower: the link, or decoding what comes over it.
        parts["link"] = max(away * touched / LINK, graph.arcs * touched / costs.decoded)
        if work.algorithm == "components":
            parts["heads"] = arcs * tried.scattered / SCATTERED
        else:
            parts["far levels"] = costs.far_level * graph.levels
    elif work.algorithm == "bfs":
        parts["levels"] += costs.near_level * graph.levels
    prepare = 0.0
    if not ordered and tried.order != "original":
        prepare += order_seconds(graph, [tried.order])
    if layout != "csr":
        prepare += LAUNCH + graph.arcs / costs.written
    bits, seconds = tried.bits[layout], sum(parts.values())
    return Estimate(tried.order, layout, placement, bits, seconds, prepare, work.searches, parts)
