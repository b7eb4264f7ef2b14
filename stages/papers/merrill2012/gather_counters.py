"""Hardware counters of gathers: `main` sweeps them over the levels of one search, under ncu.

Only these sweeps are in the tool's range: the search and a first sweep, which compile, come before it.
"""

from __future__ import annotations

import gc
import json
import signal
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gravel.stages.counting import ncu
from gravel.stages.counting.ncu import DRAM_READ, DRAM_WRITTEN, DURATION, THREAD_INSTRUCTIONS, NoCounters
from gravel.stages.counting.profile import profile
from gravel.stages.counting.under_tool import ASKED, GRAPH, read_stored, write_stored
from gravel.stages.errors import StageError
from gravel.stages.papers.merrill2012.counted import DRAM, INSTRUCTIONS
from gravel.stages.stage import Machine

if TYPE_CHECKING:
    from gravel.stages.artifacts import Graph, Probe
    from gravel.stages.context import Context

METRICS = (DURATION, DRAM_READ, DRAM_WRITTEN, THREAD_INSTRUCTIONS)

SWEEPS = 2
"""Of each gather in the tool's range: `gather` always makes one more than `repeats`. The mean is kept."""

ON_CPU = "the gathers ran on the CPU, whose counters are not read"


def with_counters(
    context: Context, stored: Graph, probed: Probe, *, strategy: str, seconds: float, required: bool
) -> Probe:
    """Add what the tool reads to `counted`, or the reason why it reads nothing to `notes`.

    Levels are found by `strategy`. Raises `StageError` if counters that are `required` cannot be read.
    """
    try:
        if probed.backend != "cuda":
            raise NoCounters(ON_CPU)
        if not probed.searches:
            raise NoCounters("no vertex of the graph has an arc, so nothing was gathered")
        counted, tool = _read(context, stored, probed, strategy, seconds)
    except NoCounters as error:
        if required:
            raise StageError(
                f"counters were not read: {error}", hint="`tool: auto` shows counted bytes where it cannot"
            ) from None
        return replace(probed, notes=[*probed.notes, f"counters were not read: {error}"])
    return replace(
        probed,
        counted={name: {**counts, **counted[name]} for name, counts in probed.counted.items()},
        notes=[*probed.notes, tool],
    )


def _read(
    context: Context, stored: Graph, probed: Probe, strategy: str, seconds: float
) -> tuple[dict[str, dict[str, float]], str]:
    import cupy

    ncu.find_tool()  # before the graph is written
    gc.collect()
    cupy.get_default_memory_pool().free_all_blocks()
    folder = context.scratch / "gathers"
    folder.mkdir()
    write_stored(folder / GRAPH, stored)
    asked = {
        "machine": asdict(context.machine),
        "source": probed.searches[0]["source"],
        "strategy": strategy,
        "block": probed.block,
        "gathers": list(probed.counted),
        "device": int(cupy.cuda.Device().id),
        "seconds": seconds,
    }
    (folder / ASKED).write_text(json.dumps(asked))
    found = profile(__name__, folder, seconds, METRICS)
    kernels: dict[str, Any] = {
        str(each["name"]).partition("(")[0]: each["values"] for each in ncu.by_kernel(found.launches)
    }
    counted = {}
    for name in probed.counted:
        values = [kernels.get(name, {}).get(metric) for metric in METRICS]
        if None in values:
            raise NoCounters(f"ncu has no value for the gather {name}")
        _, read, written, instructions = (value / SWEEPS for value in values)
        counted[name] = {DRAM: read + written, INSTRUCTIONS: instructions}
    return counted, f"{found.tool['name']} {found.tool['version']}"


def main(folder: Path) -> None:
    """Sweep each gather over the levels of the search, in the tool's range."""
    import cupy

    from gravel.kernels.papers.merrill2012.probes import prepare
    from gravel.stages.papers.merrill2012.levels import prepare_levels
    from gravel.stages.traversal.search import read_graph

    asked = json.loads((folder / ASKED).read_text())
    # Whoever started this process may be gone.
    signal.alarm(int(asked["seconds"]) + 1)
    cupy.cuda.Device(asked["device"]).use()
    stored = read_stored(folder / GRAPH)
    graph = read_graph(stored, Machine(**asked["machine"]))
    (start,) = graph.starts([asked["source"]])
    levels, _ = prepare_levels(graph, asked["strategy"])(start)
    probes = prepare(graph.columns, levels, graph.vertex_count, block=asked["block"])

    def sweep() -> None:
        for name in asked["gathers"]:
            probes.gather(name, schedule="oversubscribed", repeats=SWEEPS - 1)

    sweep()
    cupy.cuda.runtime.profilerStart()
    sweep()
    cupy.cuda.Device().synchronize()
    cupy.cuda.runtime.profilerStop()
