"""probe: parts of a breadth-first search alone, level by level, over the frontiers that a search has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gravel.kernels.bfs import buffers
from gravel.kernels.buffers import total
from gravel.stages.artifacts import Graph
from gravel.stages.probe_parameters import ProbeParameters
from gravel.stages.stage import CannotRun, Extent, Machine, Need, Slot, Stage
from gravel.stages.traversal.buffers import COMPILED
from gravel.stages.traversal.strategy import without_cpu_code

if TYPE_CHECKING:
    from gravel.stages.artifacts import Probe
    from gravel.stages.context import Context

COMPILED_SEARCH = COMPILED["bfs", False]

COMPILED_PROBES = 12 << 20
"""Measured: what Numba takes to compile the twins beside a search."""


def probe(context: Context, parameters: ProbeParameters, *, input: Graph) -> Probe:  # noqa: A002
    """Search from each source, then run the parts over the levels of that search.

    Every gather must read every neighbour. Every look-up must give the distances of the search, except for
    the one that uses only bits. Raises `VerificationFailed` otherwise.
    """
    from gravel.kernels.threads import set_threads
    from gravel.stages.probing import probe_all
    from gravel.stages.traversal.opening import draw_sources, read_graph

    set_threads(context.machine.threads)
    graph = read_graph(input, context.machine)
    asked = parameters.sources
    sources = draw_sources(graph.first_offsets, asked.random, asked.seed)
    return probe_all(context, parameters, graph, sources)


def _estimate(
    parameters: ProbeParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    graph = inputs["input"][0]
    n, m = graph.vertices, graph.arcs
    width = 4 if n < 1 << 32 else 8
    csr = 8 * n + width * m
    # Distances of the search, the levels' vertices and ranges, labels, stamps and a copy of either.
    levels = (4 + 8 + 16 + 4 + 4) * n
    outputs = (Extent(kind="Probe", bytes=0),)
    if machine.backend == "cuda":
        # Ranges and places of the rows, labels and bits with their starts, stamps; the edge frontiers.
        device = csr + (16 + 8 + 4 + 4 + 4 + 1) * n + width * m
        device += total(buffers.on_device(parameters.strategy, buffers.Size(n, m)))
        return Need(COMPILED_SEARCH + COMPILED_PROBES + levels, device, outputs)
    # The levels of a search go when those of the next one are there. Coupled parts gather neighbours anew.
    frontiers = (2 if parameters.measure == "gather_and_lookup" else 1) * width * m
    search = (2 * width + 4 + 4 + 1) * n
    return Need(COMPILED_SEARCH + COMPILED_PROBES + search + 2 * levels + frontiers, 0, outputs)


def _cannot_run(parameters: ProbeParameters, backend: str) -> CannotRun | None:
    return without_cpu_code("bfs", parameters.strategy) if backend == "cpu" else None


STAGE = Stage(
    name="probe",
    version=2,
    about="Times gathering and status look-up separately over the levels of searches, as microbenchmarks.",
    parameters=ProbeParameters,
    inputs={"input": Slot(kinds=("Graph", "Ordering"), about="the graph to search")},
    outputs=("Probe",),
    run=probe,
    estimate=_estimate,
    measures=True,
    cuda=True,
    cannot_run=_cannot_run,
    hidden=frozenset({"strategy"}),
)
