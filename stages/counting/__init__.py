"""The work of `counters`: searches that count their bytes, then the same searches under ncu.

Of `Counters`, `tool` has `name`, `version`, `options`, the `metrics` that were asked for, those that are
`unknown` to it, `passes` (the most that a kernel took) and `seconds`; it is empty where counters were not
read. `totals` has each metric by its name in the tool, over all kernels of all searches: sums are summed,
rates weighted by what they are rates of; None where the tool has no value. `kernels` has `name`, `launches`
and `values` of each kernel.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gravel.kernels.arrays import on_host
from gravel.stages.counting import ncu
from gravel.stages.counting.ncu import NoCounters
from gravel.stages.counting.profile import profile
from gravel.stages.counting.under_tool import ASKED, FOUND, GRAPH, write_stored
from gravel.stages.errors import StageError
from gravel.stages.traversal.records import add_statistics

if TYPE_CHECKING:
    from gravel.kernels.bfs import Search
    from gravel.stages.artifacts import CompressedGraph, Counters, Graph, Measurement
    from gravel.stages.context import Context
    from gravel.stages.counting.parameters import CountersParameters
    from gravel.stages.traversal.graph import SearchedGraph

BOTTOM_UP = "arcs of bottom-up levels are counted: of each unvisited vertex up to the first in the frontier"


def add_gathered(
    graph: SearchedGraph, search: Search, starts: Sequence[int], records: Sequence[dict[str, Any]]
) -> list[str]:
    """Search once more from every start, and add `expanded`, the arcs that were read; returns notes.

    Where a search with statistics does not count arcs, those of levels that were searched bottom-up follow
    from the distances. They stay unknown in a search that gives none.
    """
    notes = add_statistics(graph, search, starts, records, None)
    pulled = [
        (start, record)
        for start, record in zip(starts, records, strict=True)
        if "expanded" not in record and record["levels"]["pulled"]
    ]
    if not pulled:
        return []
    from gravel.kernels.pulled import pulled_arcs

    offsets, columns = on_host(graph.row_offsets), graph.columns_on_host()
    for start, record in pulled:
        distance = on_host(search.run(start).distance)
        if distance is None:
            return notes
        levels = record["levels"]
        levels["expanded"] = list(levels["arcs"])
        for level in levels["pulled"]:
            levels["expanded"][level] = int(pulled_arcs(distance, offsets, columns, level))
        record["expanded"] = sum(levels["expanded"])
    return [BOTTOM_UP]


ON_CPU = "the searches ran on the CPU, whose counters are not read"
NOT_ASKED = "no tool was asked for (`tool: none`)"

MAIN = "gravel.stages.counting.under_tool"


def count_searches(
    context: Context, parameters: CountersParameters, stored: Graph | CompressedGraph
) -> Counters:
    """Make the artifact; see `gravel.stages.counters.counters`."""
    from gravel.stages.artifacts import Counters

    measurement, starts = _searched(context, parameters, stored)
    found: dict[str, Any] = {}
    try:
        if parameters.tool == "none":
            raise NoCounters(NOT_ASKED)
        if measurement.backend != "cuda":
            raise NoCounters(ON_CPU)
        if not starts:
            raise NoCounters("no vertex of the graph has an arc, so nothing was searched")
        found = read_counters(context, parameters, stored, starts, _device())
    except NoCounters as error:
        reason = f"{error} ({parameters.seconds:g} s)" if str(error) == ncu.TOO_LONG else str(error)
        if parameters.tool == "ncu":
            raise StageError(
                f"counters were not read: {reason}", hint="`tool: auto` shows counted bytes where it cannot"
            ) from None
        found = {"why": reason}
        context.log(f"bytes are counted, not measured: {reason}")
    fields = "strategy", "backend", "hardware", "searches", "graph", "ran", "asked", "notes"
    return Counters(**{name: getattr(measurement, name) for name in fields}, **found)


def _searched(
    context: Context, parameters: CountersParameters, stored: Graph | CompressedGraph
) -> tuple[Measurement, list[int]]:
    """Search without the tool, and once more to count; returns the starts in the searched numbering too.

    Nothing of the graph is on the device after it.
    """
    from dataclasses import replace

    from gravel.stages.context import PlainContext
    from gravel.stages.traversal.preparation import sources_of
    from gravel.stages.traversal.records import prepared
    from gravel.stages.traversal.search import open_graph, prepare_search, search_graph

    plain = PlainContext(context.machine, context.scratch)  # its labels are not kept
    asked = parameters.searched()
    graph = open_graph(asked, stored, context.machine)
    sources = sources_of(asked, graph)
    measurement = search_graph(plain, graph, sources, asked)[1]
    starts = graph.starts(sources)
    notes = list(measurement.notes)
    if starts:
        counting, _ = prepare_search(plain, graph, asked, statistics=True)
        notes += add_gathered(graph, counting, starts, measurement.searches)
        del counting
    context.progress(1, 2, "searches")
    measurement = replace(measurement, notes=notes, graph={**measurement.graph, **prepared(stored)})
    backend = graph.backend
    del graph
    if backend == "cuda":
        import cupy

        gc.collect()
        cupy.get_default_memory_pool().free_all_blocks()
        cupy.get_default_pinned_memory_pool().free_all_blocks()
    return measurement, starts


def read_counters(
    context: Context,
    parameters: CountersParameters,
    stored: Graph | CompressedGraph,
    starts: Sequence[int],
    device: int,
) -> dict[str, Any]:
    """Search under the tool; returns fields of the artifact. Raises `NoCounters` where it has none."""
    ncu.find_tool()  # before the graph is written
    folder = context.scratch / "counting"
    folder.mkdir()
    write_stored(folder / GRAPH, stored)
    (folder / ASKED).write_text(
        json.dumps(
            {
                "parameters": parameters.model_dump_json(exclude_unset=True),
                "machine": asdict(context.machine),
                "starts": list(starts),
                "device": device,
                "seconds": parameters.seconds,
            }
        )
    )
    found = profile(MAIN, folder, parameters.seconds)
    context.progress(2, 2, "searches")
    if not json.loads((folder / FOUND).read_text())["same"]:
        raise NoCounters("the searches under ncu did not find what they found before")
    return {
        "tool": found.tool,
        "totals": ncu.added([values for _, values in found.launches]),
        "kernels": ncu.by_kernel(found.launches),
    }


def _device() -> int:
    import cupy

    return int(cupy.cuda.Device().id)
