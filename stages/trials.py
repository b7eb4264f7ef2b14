"""Trials of orders and layouts on the graph itself: what `auto` measures where many searches pay for it.

A choice is tried by the stages that would carry it out, in this process and in memory, so that its time is
that of `traverse`. Samples say which choices are likely (`gravel.kernels.advice`); only those are tried.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gravel.stages.errors import StageError

if TYPE_CHECKING:
    from gravel.kernels.advice.decide import Advice
    from gravel.stages.advice import AdviceParameters
    from gravel.stages.artifacts import CompressedGraph, Graph
    from gravel.stages.context import Context, PlainContext
    from gravel.stages.stage import Extent, Machine, Need
    from gravel.stages.traversal.parameters import TraverseParameters

MAX_ARCS = 1 << 27
"""Of a graph that is tried: it is in memory in one order and one layout besides. Samples alone decide for a
larger one."""

LIKELY = 3.0
"""Choices are tried that are estimated to take at most so many times the least. Of six graphs on an H200 the
fastest order and layout was among them wherever any were tried."""

SHARE = 0.1
"""Part of the time of all searches that trying may take."""

MIN_SECONDS, MAX_SECONDS = 0.5, 120.0
"""Below the first nothing is tried, since a few choices take that long; after the second nothing begins."""

SOURCES = 8
"""Searches of each choice, from the same random vertices."""

Key = tuple[str, str]
"""An order and a layout."""


@dataclass
class _Trial:
    """What was measured, in milliseconds, and the seconds that it took in all."""

    taken: dict[Key, float]
    seconds: float


def trial_bytes(
    graph: Extent,
    parameters: AdviceParameters,
    machine: Machine,
    packed: Callable[[Extent, Machine], Need],
    ordered: Sequence[Need] = (),
) -> tuple[int, int]:
    """Return the host and device memory that trying takes beside the graph; nothing where none is tried.

    It is that of the stages: `ordered` states orders, `packed` the layouts of a graph. Rows in an order stay
    in memory, and so do these in a layout.
    """
    from gravel.stages.traversal.memory import estimate

    if graph.arcs > MAX_ARCS:
        return 0, 0
    rows = ordered[0].outputs[0] if ordered else graph
    packing = packed(rows, machine)
    search = estimate(_searched(parameters), {"input": packing.outputs}, machine)
    trying = rows.bytes * bool(ordered) + max(
        packing.host_bytes, packing.outputs[0].bytes + search.host_bytes
    )
    host = max([trying, *(each.host_bytes for each in ordered)])
    return host, max(each.device_bytes for each in (*ordered, packing, search))


def try_choices(
    context: Context,
    graph: Graph,
    advice: Advice,
    parameters: AdviceParameters,
    ordered: Callable[[str], Graph],
    packed: Callable[[PlainContext, str, Graph], CompressedGraph],
    *,
    field: str,
) -> Advice:
    """Measure the likely choices of an advice and choose again.

    Parameters
    ----------
    graph : what was advised on.
    ordered : gives the graph in an order.
    packed : compresses a graph by a codec.
    field : what is chosen, "order" or "layout".

    Returns the advice with `measured_milliseconds` in the records of what was tried, or as it was, with a
    reason that says so, where the graph is too large or the searches are too few.

    """
    records = advice.considered
    searches = parameters.searches
    if len(records) < 2:
        return advice
    if graph.arc_count > MAX_ARCS:
        return replace(advice, reason=f"{advice.reason}; too large to be tried")
    least = min(record["search_milliseconds"] for record in records)
    budget = min(MAX_SECONDS, SHARE * searches * least / 1e3)
    if budget < MIN_SECONDS:
        return replace(advice, reason=f"{advice.reason}; too few searches to try any")
    trial = _run(context, _likely(records, least), parameters, ordered, packed, budget)
    if not trial.taken:
        return replace(advice, reason=f"{advice.reason}; nothing likely could be tried")
    return _chosen(advice, trial, searches, field)


def _likely(records: tuple[Mapping[str, Any], ...], least: float) -> dict[str, list[str]]:
    """Give the layouts to try by order, the likeliest first; rows as they are always."""
    found: dict[str, list[str]] = {}
    for record in records:
        plain = record["order"] == "original" and record["layout"] == "csr"
        if plain or record["search_milliseconds"] <= LIKELY * least:
            found.setdefault(record["order"], []).append(record["layout"])
    return found


def _run(
    context: Context,
    likely: Mapping[str, list[str]],
    parameters: AdviceParameters,
    ordered: Callable[[str], Graph],
    packed: Callable[[PlainContext, str, Graph], CompressedGraph],
    budget: float,
) -> _Trial:
    began, done = time.perf_counter(), 0
    taken: dict[Key, float] = {}
    total = sum(len(layouts) for layouts in likely.values())
    for order, layouts in likely.items():
        rows: Graph | None = None
        for layout in layouts:
            # One is measured whatever it takes: without it there would be nothing to compare.
            if taken and time.perf_counter() - began > budget:
                break
            try:
                rows = ordered(order) if rows is None else rows
                milliseconds = _milliseconds(context, packed, rows, layout, parameters)
            except StageError as error:
                context.log(f"tried {layout} in the {order} order: {error}")
            else:
                taken[order, layout] = milliseconds
                context.log(f"tried {layout} in the {order} order: {milliseconds:.3g} ms")
            done += 1
            context.progress(done, total, "choices")
    return _Trial(taken, time.perf_counter() - began)


def _milliseconds(
    context: Context,
    packed: Callable[[PlainContext, str, Graph], CompressedGraph],
    rows: Graph,
    layout: str,
    parameters: AdviceParameters,
) -> float:
    """Median time of a search, or of finding components, as `traverse` measures it."""
    from gravel.stages.context import PlainContext
    from gravel.stages.traverse import traverse

    there = PlainContext(context.machine, context.scratch)
    found = packed(there, layout, rows)
    _, measured = traverse(there, _searched(parameters), input=found)
    return float(statistics.median(search["milliseconds"] for search in measured.searches))


def _searched(parameters: AdviceParameters) -> TraverseParameters:
    from gravel.stages.traversal.parameters import TraverseParameters

    asked: dict[str, Any] = {"placement": parameters.placement, "device_memory": parameters.device_memory}
    if parameters.algorithm == "bfs":
        asked |= {"sources": {"random": SOURCES}, "output": "distance"}
    return TraverseParameters(algorithm=parameters.algorithm, **asked)


def _chosen(advice: Advice, trial: _Trial, searches: int, field: str) -> Advice:
    """Take the least time with its share of preparation, or what leaves things as they are if hardly more."""
    from gravel.kernels.advice.decide import MARGIN

    prepared = {
        (record["order"], record["layout"]): record["prepare_milliseconds"] / max(1, searches)
        for record in advice.considered
    }
    whole = {key: taken + prepared[key] for key, taken in trial.taken.items()}
    best = min(whole, key=lambda key: whole[key])
    kept = "original" if field == "order" else "csr"
    place = 0 if field == "order" else 1
    same = min((key for key in whole if key[place] == kept), key=lambda key: whole[key], default=None)
    if same is not None and whole[same] * (1 - MARGIN) <= whole[best]:
        best = same
    took = f"{_named(best, field)} took {trial.taken[best]:.3g} ms"
    before = ("original", "csr")
    if before in trial.taken and before != best:
        took += f", {_named(before, field)} {trial.taken[before]:.3g} ms"
    records = tuple(
        {**record, "measured_milliseconds": trial.taken[key]}
        if (key := (record["order"], record["layout"])) in trial.taken
        else record
        for record in advice.considered
    )
    tried = f"{len(trial.taken)} of {len(records)} choices were tried in {trial.seconds:.1f} s"
    # What was chosen comes first, as in every advice.
    first = [record for record in records if (record["order"], record["layout"]) == best]
    rest = [record for record in records if (record["order"], record["layout"]) != best]
    return replace(
        advice,
        choice=best[place],
        reason=f"{took}; {tried}; by samples {advice.choice}: {advice.reason}",
        considered=tuple(first + rest),
    )


def _named(key: Key, field: str) -> str:
    return f"{key[1]} in the {key[0]} order" if field == "order" else key[1]
