"""traverse: breadth-first searches, shortest paths or connected components of a stored graph, measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gravel.stages.artifacts import CompressedGraph, DistributedGraph, Graph, Partition
from gravel.stages.stage import FileInput, Slot, Stage
from gravel.stages.traversal.faults import kind_faults, tuning_faults
from gravel.stages.traversal.names import OF_ALL_VERTICES
from gravel.stages.traversal.need import estimate
from gravel.stages.traversal.parameters import ListedSources, TraverseParameters, VertexSources
from gravel.stages.traversal.records import prepared
from gravel.stages.traversal.strategy import cannot_run, refuse

if TYPE_CHECKING:
    from gravel.stages.artifacts import Measurement, Traversal
    from gravel.stages.context import Context


def traverse(
    context: Context,
    parameters: TraverseParameters,
    *,
    input: Graph | CompressedGraph | Partition | DistributedGraph,  # noqa: A002
) -> tuple[Traversal, Measurement]:
    """Search a graph or find its components, and measure the time.

    One run before is not measured, or two of shortest paths, so compilation is not counted. Labels use the
    vertex numbers of `symmetrize`, whatever was searched; mapping them back is timed separately. Statistics
    come from additional searches after all timed ones. A directed graph that is not searched along its arcs
    is turned round first, in memory, which is not measured either.

    Raises `StageError` for a source that the graph does not have, and for a strategy or tuning constant that
    does not fit the graph or the backend. A placement that does not fit is refused before anything is read.
    """
    from gravel.stages.errors import StageError
    from gravel.stages.traversal.opening import open_graph, sources_of
    from gravel.stages.traversal.spread import search_spread, workers_for
    from gravel.stages.traversal.sssp import weights_of

    refuse(parameters, input)
    direction = "out" if input.symmetric else parameters.direction
    parameters = parameters.model_copy(update={"direction": direction})
    if parameters.algorithm not in OF_ALL_VERTICES and isinstance(parameters.sources, tuple | ListedSources):
        raise StageError(
            "the sources are file ids, and no ids of an input file are known here",
            hint="name internal indices instead: sources: {vertices: [...]}",
        )
    if parameters.algorithm not in OF_ALL_VERTICES and isinstance(parameters.sources, VertexSources):
        from gravel.stages.traversal.opening import check_sources

        check_sources(parameters.sources.vertices, input.vertex_count)
    if isinstance(input, DistributedGraph):
        if parameters.algorithm == "components":
            from gravel.stages.ranks.distributed import find_distributed

            return find_distributed(context, parameters, input)
        from gravel.stages.ranks.distributed import search_distributed

        return search_distributed(context, parameters, input)
    workers, why = 1, ""
    # A worker alone without a GPU has nobody to deal sources to, nor a reason to tell why it does not.
    if context.reserved > 1 or context.machine.backend == "cuda" or parameters.sources_over == "workers":
        workers, why = workers_for(context, parameters, input)
    if workers > 1 and not isinstance(input, Partition):
        traversal, measurement = search_spread(context, parameters, input, workers, why)
        return traversal, replace(measurement, graph={**measurement.graph, **prepared(input)})
    searched = input
    if direction != "out" and isinstance(input, Graph):
        from gravel.stages.turning import turned_on_host

        searched = turned_on_host(input, direction)
    weights = weights_of(searched) if parameters.algorithm == "shortest_paths" else None
    graph = open_graph(parameters, searched, context.machine)
    if parameters.transport != "auto" and graph.partition is None:
        graph.notes.append(f"transport {parameters.transport} is for partitions, and was left out")
    if parameters.sources_over == "workers":
        graph.notes.append("there were no other workers to deal sources to, so one searched from all")
    if parameters.algorithm in OF_ALL_VERTICES:
        from gravel.stages.traversal.components import find_components

        traversal, measurement = find_components(context, graph, parameters)
    elif parameters.algorithm == "shortest_paths":
        from gravel.stages.traversal.sssp import find_paths

        traversal, measurement = find_paths(
            context, graph, weights, sources_of(parameters, graph), parameters
        )
    else:
        from gravel.stages.traversal.bfs import search_all

        traversal, measurement = search_all(context, graph, sources_of(parameters, graph), parameters)
    return traversal, replace(measurement, graph={**measurement.graph, **prepared(input)})


def _source_ids(parameters: TraverseParameters) -> tuple[int | str, ...]:
    if parameters.algorithm not in OF_ALL_VERTICES and isinstance(parameters.sources, tuple):
        return parameters.sources
    return ()


def _ids_file(parameters: TraverseParameters) -> str | None:
    if parameters.algorithm not in OF_ALL_VERTICES and isinstance(parameters.sources, ListedSources):
        return parameters.sources.file
    return None


def _files(parameters: TraverseParameters) -> tuple[FileInput, ...]:
    location = _ids_file(parameters)
    return (FileInput(location),) if location is not None else ()


def _with_vertices(parameters: TraverseParameters, vertices: Sequence[int]) -> TraverseParameters:
    internal = VertexSources(vertices=tuple(int(vertex) for vertex in vertices))
    return parameters.model_copy(update={"sources": internal})


STAGE = Stage(
    name="traverse",
    version=10,
    about="Searches breadth-first or for shortest paths from each source, or finds components, and times it.",
    parameters=TraverseParameters,
    inputs={
        "input": Slot(
            kinds=("Graph", "Ordering", "CompressedGraph", "Partition", "DistributedGraph"),
            about="the graph to traverse",
        )
    },
    outputs=("Traversal", "Measurement"),
    run=traverse,
    estimate=estimate,
    measures=True,
    cuda=True,
    cannot_run=cannot_run,
    faults=tuning_faults,
    kind_faults=kind_faults,
    source_ids=_source_ids,
    ids_file=_ids_file,
    files=_files,
    with_vertices=_with_vertices,
)
