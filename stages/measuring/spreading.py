"""The number of workers that the batches of a centrality go to: as many as are asked for, or as pay."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gravel.kernels.buffers import exact
from gravel.kernels.distances.buffers import sums_of_vertices
from gravel.stages.measuring.batches import FOUND_BYTES
from gravel.stages.traversal.worker_count import MAX_WORKERS, Spreading, spread_seconds, weighed

if TYPE_CHECKING:
    from gravel.stages.measuring.parameters import CentralityParameters
    from gravel.stages.stage import Extent, Machine, Need

DISTANCE_ARCS = 7e12
"""Arcs a second of all sources together, whose distances are summed; measured on an H200 at Kronecker 20, and
1e13 at 24."""

BETWEENNESS_ARCS = 1.8e11
"""The same of betweenness, at Kronecker 21."""

AHEAD = 3
"""Batches of results of a worker in memory: one that is made, one that waits, and one that is fetched."""


def demanded(parameters: CentralityParameters) -> int:
    """Return how many workers there must be, 0 for any number."""
    return parameters.workers if isinstance(parameters.workers, int) and parameters.workers > 1 else 0


def over_workers(
    parameters: CentralityParameters, graph: Extent, sources: int, machine: Machine
) -> Spreading:
    """Decide for so many sources; asked for or predicted to pay."""
    if isinstance(parameters.workers, int):
        return Spreading(parameters.workers, parameters.workers, "asked for")
    if machine.backend != "cuda" or (parameters.bounded and not graph.directed):
        return Spreading(1, 1, "")
    search = graph.arcs / (BETWEENNESS_ARCS if parameters.of_paths else DISTANCE_ARCS)
    # Sums of betweenness come back for parts of the sources, of which most have 256 and more.
    brought = sums_bytes(parameters, graph) // 256 if parameters.of_paths or parameters.estimated else 32
    return weighed(
        f"{sources:,} searches",
        sources * search,
        lambda workers: spread_seconds(graph, sources, workers, search, brought),
        MAX_WORKERS,
    )


def sums_bytes(parameters: CentralityParameters, graph: Extent) -> int:
    """State what one set of sums takes: of betweenness, or of distances to a sample."""
    if parameters.estimated:
        return exact(sums_of_vertices(graph.vertices))
    return 8 * (graph.arcs if parameters.measure == "edge_betweenness" else graph.vertices)


def share_of(parameters: CentralityParameters, machine: Machine) -> Machine:
    """Return what one of the workers has of the machine: those without GPUs share its memory."""
    if machine.backend == "cuda" or not demanded(parameters):
        return machine
    return replace(machine, host_memory=machine.host_memory // demanded(parameters))


def need_of_workers(
    parameters: CentralityParameters, graph: Extent, sources: int, machine: Machine, need: Need
) -> Need:
    """Complete the need of one worker by that of the others, which hold the whole graph, too."""
    spreading = over_workers(parameters, graph, sources, machine)
    if spreading.most < 2:
        return need
    if parameters.bounded and not graph.directed:
        return replace(
            need,
            note=f"eccentricities of all vertices come from few searches, one after another, which have no "
            f"use for {parameters.workers} workers",
        )
    results = AHEAD * max(FOUND_BYTES, sums_bytes(parameters, graph))
    return replace(
        need,
        host_bytes=need.host_bytes + results,
        workers=spreading.most,
        least_workers=spreading.least,
        each_host_bytes=need.host_bytes + results,
    )
