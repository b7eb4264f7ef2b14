"""The decision: the least estimated time of a search with its share of what is made once, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.advice.bits import bits_per_arc
from gravel.kernels.advice.heads import scattered_heads
from gravel.kernels.advice.model import Estimate, Features, Workload, estimate, order_seconds
from gravel.kernels.advice.pilot import ORIGINAL, WHOLE, Tried, try_orders
from gravel.kernels.advice.sample import some_rows
from gravel.kernels.advice.search import grow
from gravel.kernels.arrays import index_dtype
from gravel.kernels.bfs.choice import SHALLOW
from gravel.kernels.bfs.shape import measure_on_host
from gravel.kernels.layouts import registry
from gravel.kernels.order import METHODS

LIKELY_LEVELS = 8.0
"""Levels of a search of a graph that is too large to be searched for them (docs/tuning.md)."""

MARGIN = 0.03
"""Share of the time that a change must save: less is lost in the noise of measuring it."""

TRIED = (ORIGINAL, "degree", "hub_sort", "rcm", "community", "community_rcm")
ORDERS = tuple(order for order in TRIED if order in METHODS)
"""Orders that are tried: one that keeps the given locality beside hubs, and the best of each other kind."""


@dataclass(frozen=True)
class Advice:
    """A choice for a workload, why it was made, and all that was weighed: plain records, the best first."""

    work: Workload
    choice: str
    reason: str
    considered: tuple[dict[str, Any], ...]

    def plain(self) -> dict[str, Any]:
        """Return it as plain data; the workload stands under `for`."""
        return {
            "choice": self.choice,
            "reason": self.reason,
            "for": asdict(self.work),
            "considered": list(self.considered),
        }


def advise_order(
    row_offsets: NDArray[numpy.int64],
    columns: NDArray[Any],
    work: Workload,
    *,
    symmetric: bool,
    layouts: Sequence[str] | None = None,
    orders: Sequence[str] = ORDERS,
) -> Advice:
    """Choose an order for a graph in memory, whose rows will be written in one of `layouts` or in any."""
    layouts = layouts or tuple(registry.layouts())
    graph, seen = _features(row_offsets, columns, symmetric)
    if graph.arcs == 0:
        return Advice(work, ORIGINAL, "the graph has no arcs", ())
    cheapest = min(_original(graph, row_offsets, columns, work, layouts), key=lambda each: each.seconds)
    search_seconds = work.searches * cheapest.search_seconds
    if search_seconds <= order_seconds(graph, orders):
        text = f"{_searches(work)} take about {_time(search_seconds)}"
        return Advice(
            work, ORIGINAL, f"{text} as it is, less than any order costs; {seen}", (_record(cheapest),)
        )
    # One more search of the graph pays where what its rows are read for decides.
    misses = work.algorithm == "bfs" and cheapest.placement == "split" and graph.levels <= SHALLOW
    pilot = try_orders(row_offsets, columns, orders, symmetric=symmetric, misses=misses)
    found = [
        one
        for tried in pilot.tried
        for layout in layouts
        if (one := estimate(graph, work, tried, layout, missed=tried.against(pilot.tried[0])))
    ]
    if not found:
        return Advice(work, ORIGINAL, f"no layout fits where the rows are to lie; {seen}", ())
    best = _least(found, ORIGINAL, "order")
    before = min((each for each in found if each.order == ORIGINAL), key=_seconds, default=None)
    return Advice(
        work, best.order, f"{_because(best, before, work)}; {pilot.summary()}; {seen}", _records(found)
    )


def advise_layout(
    row_offsets: NDArray[numpy.int64], columns: Any, work: Workload, *, symmetric: bool
) -> Advice:
    """Choose a layout for rows that keep their order.

    `columns` may be a stored array: parts of it are read. A large symmetric graph counts as shallow.
    """
    arcs = int(row_offsets[-1])
    vertices = len(row_offsets) - 1
    if arcs == 0:
        return Advice(work, "csr", "the graph has no arcs", ())
    parts = some_rows(row_offsets, columns)
    levels = LIKELY_LEVELS
    if arcs <= WHOLE:
        levels = grow(row_offsets, numpy.asarray(columns[:arcs])).levels(arcs)
    graph = Features(vertices, arcs, symmetric, levels, index_dtype(vertices).itemsize)
    tried = Tried(ORIGINAL, bits_per_arc(parts, vertices), 1.0, scattered_heads(parts))
    found = [one for name in registry.layouts() if (one := estimate(graph, work, tried, name, ordered=True))]
    if not found:
        return Advice(work, "csr", "no layout fits where the rows are to lie", ())
    best = _least(found, "csr", "layout")
    before = next((each for each in found if each.layout == "csr"), None)
    sampled = f"bits per arc are those of {sum(len(part.columns) for part in parts):,} of {arcs:,} arcs"
    return Advice(work, best.layout, f"{_because(best, before, work)}; {sampled}", _records(found))


def _features(
    row_offsets: NDArray[numpy.int64], columns: NDArray[Any], symmetric: bool
) -> tuple[Features, str]:
    vertices, arcs = len(row_offsets) - 1, int(row_offsets[-1])
    shape = measure_on_host(row_offsets, columns, symmetric=symmetric)
    growth = grow(row_offsets, columns)
    levels = growth.levels(arcs)
    about = "has" if growth.complete else "has about"
    seen = f"a search from the largest vertex {about} {levels:,.0f} levels, {shape.skew()}"
    return Features(vertices, arcs, symmetric, levels, index_dtype(vertices).itemsize), seen


def _original(
    graph: Features,
    row_offsets: NDArray[numpy.int64],
    columns: NDArray[Any],
    work: Workload,
    layouts: Sequence[str],
) -> list[Estimate]:
    """Estimate the given numbering from rows alone: an upper bound, as no search is counted."""
    rows = some_rows(row_offsets, columns)
    tried = Tried(ORIGINAL, bits_per_arc(rows, graph.vertices), 1.0, scattered_heads(rows))
    found = [one for layout in layouts if (one := estimate(graph, work, tried, layout)) is not None]
    if found:
        return found
    anywhere = Workload(work.algorithm, work.searches, None, "auto")
    return [one for layout in layouts if (one := estimate(graph, anywhere, tried, layout)) is not None]


def _seconds(one: Estimate) -> float:
    return one.seconds


def _least(found: Sequence[Estimate], kept: str, field: str) -> Estimate:
    """Return the least, or the least that leaves things as they are if that takes hardly more."""
    best = min(found, key=_seconds)
    same = min((each for each in found if getattr(each, field) == kept), key=_seconds, default=None)
    return same if same is not None and same.seconds * (1 - MARGIN) <= best.seconds else best


def _because(best: Estimate, before: Estimate | None, work: Workload) -> str:
    where = {"device": "in device memory", "pinned": "in host memory", "split": "split over device and host"}
    text = (
        f"{best.layout} at {best.bits:.1f} bits per arc {where[best.placement]}: "
        f"a search takes about {_time(best.search_seconds)}"
    )
    if before is None:
        text += ", and nothing fits without it"
    elif before is best:
        text += f", and nothing else saves {MARGIN:.0%}"
    else:
        of = f"{before.layout} in the {before.order} order" if before.order != best.order else before.layout
        text += f", with {of} {_time(before.search_seconds)}"
    if best.prepare_seconds:
        text += f"; {_time(best.prepare_seconds)} of preparation are spread over {_searches(work)}"
    return text


def _searches(work: Workload) -> str:
    return "1 search" if work.searches == 1 else f"{work.searches:,} searches"


def _time(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def _records(found: Sequence[Estimate]) -> tuple[dict[str, Any], ...]:
    return tuple(_record(each) for each in sorted(found, key=_seconds))


def _record(one: Estimate) -> dict[str, Any]:
    return {
        "order": one.order,
        "layout": one.layout,
        "placement": one.placement,
        "bits_per_arc": one.bits,
        "search_milliseconds": one.search_seconds * 1e3,
        "prepare_milliseconds": one.prepare_seconds * 1e3,
    }
