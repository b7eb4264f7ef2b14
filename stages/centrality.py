"""centrality: measures of vertices by their distances to all others, from many searches at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import ByteSize, Field, model_validator

from gravel.kernels.distances.sizes import device_bytes, queue_bytes, widest
from gravel.stages.artifacts import Graph
from gravel.stages.stage import Extent, Machine, Need, Parameters, Slot, Stage
from gravel.stages.traverse import RandomSources, VertexSources

if TYPE_CHECKING:
    from gravel.stages.artifacts import Centrality
    from gravel.stages.context import Context

COMPILED = 84 << 20
"""Measured: what Numba takes to compile the searches, and what importing it does."""

BOUNDS = 96
"""Bytes of a vertex for one search and for the bounds of eccentricities, with copies while they change."""


class CentralityParameters(Parameters):
    """What to compute, and for which vertices."""

    measure: Literal["closeness", "harmonic", "eccentricity", "neighbourhood"]
    """`closeness` is the reciprocal of the mean distance, times the share of vertices that are reached.
    `harmonic` is the sum of reciprocal distances. `eccentricity` is the largest distance within the
    component. `neighbourhood` counts the vertices within `hops`, the vertex itself included."""
    vertices: Literal["all"] | RandomSources | VertexSources = "all"
    """`all`, `{random: k, seed: s}`, or `{vertices: [...]}` in the order of `symmetrize`."""
    hops: Annotated[int, Field(ge=0)] | None = None
    """The distance up to which `neighbourhood` counts."""
    memory: ByteSize | None = Field(default=None, gt=0)
    """The most memory that a batch of searches may take beside the graph; by default all that is there."""

    @model_validator(mode="after")
    def _fit_together(self) -> CentralityParameters:
        if (self.hops is None) == (self.measure == "neighbourhood"):
            told = "needs hops" if self.hops is None else "takes no hops; only a neighbourhood does"
            raise ValueError(f"{self.measure} {told}")
        if isinstance(self.vertices, VertexSources):
            listed = self.vertices.vertices
            twice = next((each for i, each in enumerate(listed) if each in listed[:i]), None)
            if twice is not None:
                raise ValueError(f"vertex {twice} is listed twice")
        return self


def centrality(context: Context, parameters: CentralityParameters, *, input: Graph) -> Centrality:  # noqa: A002
    """Search from all vertices asked for, in batches, and keep the measure of each.

    Raises `StageError` for a directed graph, a vertex that does not exist, and memory that is too small.
    """
    import numpy

    from gravel.kernels.distances.many import TooNarrow
    from gravel.kernels.jit import set_threads
    from gravel.stages.artifacts import Centrality
    from gravel.stages.errors import StageError
    from gravel.stages.traversal.opening import check_sources, draw_sources, read_graph

    if not input.symmetric:
        raise StageError(
            f"{parameters.measure} is defined here for undirected graphs, and this one is directed",
            hint="symmetrize with direction: both",
        )
    set_threads(context.machine.threads)
    asked, chosen = parameters.vertices, None
    graph = read_graph(input, context.machine)
    if isinstance(asked, RandomSources):
        chosen = numpy.sort(draw_sources(graph.first_offsets, asked.random, asked.seed))
    elif isinstance(asked, VertexSources):
        chosen = check_sources(asked.vertices, graph.vertex_count)
    everything = numpy.arange(graph.vertex_count) if chosen is None else chosen
    starts = everything if graph.permutation is None else graph.permutation[everything]
    try:
        value = _values(context, parameters, graph, starts, bounded=chosen is None)
    except TooNarrow as error:
        raise StageError(str(error), hint="allow more memory, or use a machine that has it") from None
    sinks = [context.sink(value.dtype, rows=len(value)), context.sink(numpy.int64, rows=len(starts))]
    sinks[0].append(value)
    if chosen is not None:
        sinks[1].append(chosen)
    return Centrality(
        measure=parameters.measure,
        value=sinks[0].close(),
        vertex=None if chosen is None else sinks[1].close(),
        vertex_count=graph.vertex_count,
        hops=parameters.hops,
    )


def _values(
    context: Context, parameters: CentralityParameters, graph: Any, starts: Any, *, bounded: bool
) -> Any:
    """Return the measure of each start; eccentricities of all are `bounded` by few searches."""
    from gravel.kernels.distances.closeness import closeness
    from gravel.kernels.distances.eccentricity import eccentricities
    from gravel.kernels.distances.many import aggregate
    from gravel.kernels.placement.device_copies import on_host

    memory = parameters.memory or (_free(graph, context.machine))
    rows = graph.row_offsets, graph.columns

    def progress(done: int, total: int) -> None:
        context.progress(done, total, "vertices")

    if parameters.measure == "eccentricity" and bounded:
        found: Any = eccentricities(*rows, in_parts=True, memory=memory, progress=progress)
        return on_host(found)[starts]
    sums = aggregate(
        *rows, starts, symmetric=True, memory=memory, progress=progress, max_depth=parameters.hops
    )
    if parameters.measure == "closeness":
        return closeness(sums, graph.vertex_count)
    return {
        "harmonic": sums.reciprocal,
        "eccentricity": sums.eccentricity,
        "neighbourhood": sums.reached,
    }[parameters.measure]


def _free(graph: Any, machine: Machine) -> int:
    there = machine.device_memory if machine.backend == "cuda" else machine.host_memory
    return int(there - graph.row_offsets.nbytes - graph.columns.nbytes)


def _estimate(
    parameters: CentralityParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    graph = inputs["input"][0]
    n, asked = graph.vertices, parameters.vertices
    sources = n if asked == "all" else _count(asked)
    width = 4 if n < 1 << 32 else 8
    outputs = (Extent(kind="Centrality", vertices=n, bytes=16 * sources),)
    results = COMPILED + graph.bytes + 8 * n + 64 * sources
    if machine.backend == "cuda":
        batch = device_bytes(n, graph.arcs, width, sources)
        rows = 8 * n + width * graph.arcs
        limit = int(parameters.memory or max(0, machine.device_memory - rows))
        return Need(results, rows + max(BOUNDS * n, min(batch, limit)), outputs)
    limit = int(parameters.memory or max(0, machine.host_memory - graph.bytes))
    _, _, batch = widest(n, width, max(1, sources), machine.threads, limit)
    own = machine.threads * queue_bytes(n, width)
    return Need(results + max(batch, own, BOUNDS * n), 0, outputs)


def _count(asked: RandomSources | VertexSources | Sequence[int] | str) -> int:
    return asked.random if isinstance(asked, RandomSources) else len(getattr(asked, "vertices", ()))


STAGE = Stage(
    name="centrality",
    version=1,
    about="Computes closeness, harmonic centrality, eccentricities or neighbourhood sizes of vertices.",
    parameters=CentralityParameters,
    inputs={"input": Slot(kinds=("Graph", "Ordering"), about="the undirected graph")},
    outputs=("Centrality",),
    run=centrality,
    estimate=_estimate,
    cuda=True,
    hidden=frozenset({"memory"}),
)
