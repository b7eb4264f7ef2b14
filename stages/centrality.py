"""centrality: measures of vertices by their distances to all others, from many searches at once; PageRank."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gravel.stages.context import Context, written
from gravel.stages.measuring.need import estimate
from gravel.stages.measuring.parameters import (
    CentralityParameters,
    files,
    ids_file,
    source_ids,
    with_vertices,
)
from gravel.stages.measuring.spreading import demanded
from gravel.stages.stage import CannotRun, Extent, Fault, Machine, Need, Slot, Stage
from gravel.stages.traversal.parameters import ListedSources, RandomSources, VertexSources
from gravel.stages.traversal.strategy import without_gpu
from gravel.stages.turning import direction_faults, direction_in

if TYPE_CHECKING:
    from gravel.stages.artifacts import Batches, Centrality
    from gravel.stages.measuring.graph import MeasuredGraph, Stored


def centrality(
    context: Context,
    parameters: CentralityParameters,
    *,
    input: Stored,  # noqa: A002
) -> tuple[Centrality, Batches]:
    """Search from all vertices asked for, in batches, and keep the measure of each.

    A killed run continues from its last checkpoint. Betweenness is the same for `direction: out` and `in`.
    NetworkX defines eccentricity only if every vertex reaches all others.

    Estimates come with bounds of their standard errors. Arcs of weight zero count as in NetworkX.

    A compressed graph is decoded where a GPU has room for that, and otherwise read as it is. Rows that fit a
    GPU in no form are split between it and host memory, or read in parts. A partition is put together again.

    PageRank has the start, the rule to stop and the ranks of NetworkX. A GPU needs its rows in its memory. By
    weights, or by the arcs of a directed graph, they are columns there. Ranks of a partition on CPUs find it
    where `workers` asks for as many, or one has too little memory. A killed run starts PageRank again.
    The stage `verify` checks the ranks.

    Raises `StageError` for a vertex that does not exist, weights that are missing or negative, and too little
    memory. It also refuses more shortest paths than a float64 holds, and PageRank that does not converge.
    """
    import numpy

    from gravel.kernels.betweenness.interface import TooManyPaths
    from gravel.kernels.distances.interface import TooNarrow
    from gravel.kernels.threads import set_threads
    from gravel.stages.artifacts import Batches, Centrality
    from gravel.stages.errors import StageError
    from gravel.stages.measuring.graph import read_measured
    from gravel.stages.measuring.over_workers import over_reserved
    from gravel.stages.measuring.values import all_betweenness, all_eccentricities, estimated, of_vertices
    from gravel.stages.traversal.preparation import check_sources, draw_sources

    machine = parameters.machine(context.machine)
    set_threads(machine.threads)
    if isinstance(parameters.vertices, tuple | ListedSources) or isinstance(
        parameters.personalization, tuple | ListedSources
    ):
        raise StageError(
            "the vertices are file ids, and no ids of an input file are known here",
            hint="draw vertices instead: {random: 100}",
        )
    if parameters.measure == "pagerank":
        from gravel.stages.measuring.pagerank import pagerank_of

        return pagerank_of(context, parameters, input, machine)
    vertices, chosen = parameters.vertices, None
    graph = read_measured(input, parameters, machine)
    if machine.backend != context.machine.backend:
        graph.notes.append(f"{parameters.measure} runs on the CPU: {_why_on_cpu(parameters)}")
    for note in graph.notes:
        context.log(note)
    if isinstance(vertices, RandomSources):
        chosen = numpy.sort(draw_sources(graph.first_offsets, vertices.random, vertices.seed))
    elif isinstance(vertices, VertexSources):
        chosen = check_sources(vertices.vertices, graph.vertex_count)
    everything = numpy.arange(graph.vertex_count) if chosen is None else chosen
    starts = everything if graph.permutation is None else graph.permutation[everything]
    memory = parameters.memory or _free(graph, machine, parameters)
    over = over_reserved(context, parameters, input, graph, memory, machine)
    bounded = parameters.bounded and graph.symmetric
    try:
        if parameters.of_paths or parameters.estimated:
            candidates = numpy.flatnonzero(numpy.diff(graph.first_offsets))
            sources = candidates
            if isinstance(parameters.sources, RandomSources):
                drawn = draw_sources(graph.first_offsets, parameters.sources.random, parameters.sources.seed)
                sources = numpy.sort(drawn)
            if graph.permutation is not None:
                sources = graph.permutation[sources]
            if parameters.estimated:
                found = estimated(context, parameters, graph, sources, memory, over)
            else:
                found = all_betweenness(context, parameters, graph, sources, len(candidates), memory, over)
        elif bounded:
            found = all_eccentricities(context, graph, memory)
        else:
            found = of_vertices(context, parameters, graph, starts, memory, over)
    except TooNarrow as error:
        raise StageError(str(error), hint="allow more memory, or use a machine that has it") from None
    except TooManyPaths as error:
        raise StageError(str(error), hint="measure closeness or harmonic centrality instead") from None
    value, errors, batches = found.value, found.error, found.batches
    if bounded or parameters.estimated or parameters.measure == "betweenness":
        value, errors = value[starts], None if errors is None else errors[starts]
    vertex, target = (chosen, None) if found.ends is None else found.ends

    measured = Centrality(
        measure=parameters.measure,
        value=written(context, value),
        error=written(context, errors),
        vertex=written(context, vertex),
        target=written(context, target),
        vertex_count=graph.vertex_count,
        hops=parameters.hops,
        sources=batches.total if parameters.of_paths or parameters.estimated else None,
        by="weights" if parameters.weighted_paths else "arcs",
        estimate=found.estimate,
        direction=direction_in(input, parameters.direction),
    )
    return measured, Batches(
        measure=parameters.measure,
        backend=graph.backend,
        form=found.form,
        batches=batches.records(),
        workers=batches.names,
    )


def _why_on_cpu(parameters: CentralityParameters) -> str:
    return "paths by weights have no code for GPUs" if parameters.weighted_paths else "backend asks for it"


def _kind_faults(parameters: CentralityParameters, kinds: Mapping[str, Sequence[str]]) -> Iterator[Fault]:
    yield from direction_faults(parameters.model_copy(update={"direction": parameters.searched}), kinds)
    if (
        parameters.measure == "pagerank"
        and demanded(parameters)
        and "Partition" not in kinds.get("input", ())
    ):
        yield Fault(
            ("workers",), parameters.workers, "PageRank takes several for a partition of as many ranks alone"
        )


def _cannot_run(parameters: CentralityParameters, backend: str) -> CannotRun | None:
    return without_gpu(parameters.backend, backend)


def _free(graph: MeasuredGraph, machine: Machine, parameters: CentralityParameters) -> int:
    there = machine.device_memory if machine.backend == "cuda" else machine.host_memory
    backward = parameters.of_paths and not (graph.symmetric or parameters.weighted_paths)
    return int(there - (2 if backward else 1) * graph.bytes_there)


def _estimate(
    parameters: CentralityParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    return estimate(parameters, inputs["input"][0], parameters.machine(machine))


STAGE = Stage(
    name="centrality",
    version=4,
    about="Computes centralities, PageRank, eccentricities, neighbourhoods and mean distances.",
    parameters=CentralityParameters,
    inputs={
        "input": Slot(
            kinds=("Graph", "Ordering", "CompressedGraph", "Partition"), about="the graph, directed or not"
        )
    },
    outputs=("Centrality", "Batches"),
    run=centrality,
    estimate=_estimate,
    kind_faults=_kind_faults,
    cuda=True,
    cannot_run=_cannot_run,
    ranks=demanded,
    source_ids=source_ids,
    ids_file=ids_file,
    files=files,
    with_vertices=with_vertices,
    hidden=frozenset({"memory", "workers"}),
)
