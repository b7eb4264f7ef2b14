"""What a traversal reads: its graph, placed where it is searched, and its sources."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gravel.stages.artifacts import CompressedGraph, Graph, Partition
    from gravel.stages.stage import Machine
    from gravel.stages.traversal.graph import SearchedGraph
    from gravel.stages.traverse import TraverseParameters


def read_searched(
    parameters: TraverseParameters, stored: Graph | CompressedGraph | Partition, machine: Machine
) -> SearchedGraph:
    """Read a graph, placed and encoded as the search wants it, and limit the threads of this process.

    Raises `StageError`, before anything is read, for a placement that does not fit.
    """
    from gravel.kernels.threads import set_threads
    from gravel.stages.artifacts import CompressedGraph
    from gravel.stages.traversal.encoded import searched_encoded, why_decoded
    from gravel.stages.traversal.encoded_ranks import ranks_encoded, why_ranks_decoded
    from gravel.stages.traversal.graph import read_graph
    from gravel.stages.traversal.placing import plan_for
    from gravel.stages.traversal.strategy import backend_of_search

    placed = replace(
        machine,
        backend=backend_of_search(parameters, machine),
        threads=min(machine.threads, parameters.threads or machine.threads),
    )
    set_threads(placed.threads)
    placing = plan_for(parameters, stored, placed)
    placement = "device" if placing is None else placing.plan.placement
    codec = stored.codec if isinstance(stored, CompressedGraph) else None
    decoded = why_decoded(parameters, codec)
    if isinstance(stored, CompressedGraph) and stored.subgraphs is not None:
        decoded = why_ranks_decoded(parameters, stored, placed)
    graph = read_graph(
        stored,
        placed,
        placing,
        encoded=searched_encoded(parameters, placement, codec),
        encoded_ranks=ranks_encoded(parameters, stored, placed),
        decoded=decoded,
    )
    if placed.backend != machine.backend and graph.partition is None:
        graph.notes.append("searched on the CPU")
    if parameters.threads is not None and parameters.threads > placed.threads:
        graph.notes.append(f"{parameters.threads} threads were asked for, and {placed.threads} used")
    return graph
