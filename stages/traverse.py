"""traverse: breadth-first searches or connected components of any stored graph, measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import ByteSize, Discriminator, Field, Tag, model_validator

from stages.artifacts import CompressedGraph, DistributedGraph, Graph, Partition
from stages.searching.need import estimate
from stages.searching.placing import check_placement
from stages.searching.prepared import prepared
from stages.searching.strategy import backend_of_search, checked_strategy
from stages.stage import Parameters, Slot, Stage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stages.artifacts import Measurement, Traversal
    from stages.context import Context
    from stages.searching.graph import SearchedGraph

MAX_ID = (1 << 63) - 1


class RandomSources(Parameters):
    """Sources drawn among the vertices that have arcs, the same for every order, layout and rank count."""

    random: int = Field(ge=1)
    """How many; all vertices that have arcs where there are fewer."""
    seed: int = Field(default=1, ge=0)
    """Of the draw."""


class VertexSources(Parameters):
    """Sources as internal indices, in `symmetrize`'s numbering."""

    vertices: tuple[Annotated[int, Field(ge=0, le=MAX_ID)], ...] = Field(min_length=1)
    """The rank of each source's file id, counted from 0."""


FileIds = Annotated[tuple[Annotated[int, Field(ge=0, le=MAX_ID)], ...], Field(min_length=1)]
"""Sources as the input file writes them."""


def _form(sources: object) -> str:
    """Tell which form of sources is meant, so that an error speaks of that form alone.

    No form is called as a key of it is: pydantic puts both into the place of an error.
    """
    if isinstance(sources, VertexSources) or (isinstance(sources, Mapping) and "vertices" in sources):
        return "indices"
    return "drawn" if isinstance(sources, RandomSources | Mapping) else "ids"


Sources = Annotated[
    Annotated[RandomSources, Tag("drawn")]
    | Annotated[VertexSources, Tag("indices")]
    | Annotated[FileIds, Tag("ids")],
    Discriminator(_form),
]


class TraverseParameters(Parameters):
    """What to find, from where and how."""

    algorithm: Literal["bfs", "components"] = "bfs"
    """`bfs` finds distances and predecessors from each source, `components` the component of every vertex."""
    strategy: str = "auto"
    """How: a name that `gravel stages` lists, or `auto`, which chooses by graph and backend and says why."""
    sources: Sources = RandomSources(random=16)
    """`{random: k, seed: s}`, or a list of ids as the input file writes them, or `{vertices: [...]}`."""
    output: Literal["both", "distance", "predecessor", "checks"] = "both"
    """What a search labels each vertex with. `checks`, of a distributed graph, keeps no labels: the ranks
    check theirs after each search, and only what they find is kept."""
    max_depth: int | None = Field(default=None, ge=0)
    """Do not search beyond this distance."""
    tuning: dict[str, bool | int | float | str] = Field(default_factory=dict)
    """The strategy's own constants by name, for example `{alpha: 15, beta: 18}` or `{mapping: warp}`."""
    backend: Literal["auto", "cpu", "cuda"] = "auto"
    """Where to search: `auto` where the run does, or on the CPU with a strategy that has no other side."""
    threads: int | None = Field(default=None, ge=1)
    """CPU threads at most; all that the run may use by default."""
    placement: Literal["auto", "device", "split", "pinned", "streamed"] = "auto"
    """Where rows lie: on the GPU, in pinned host memory with or without the hottest on the GPU, or read in
    parts while they are searched; `auto` takes the first of these that fits. A CPU has its rows in memory or
    streamed."""
    device_memory: ByteSize | None = Field(default=None, gt=0)
    """GPU memory that a traversal takes at most, such as `5.8GB`; all that there is by default."""
    host_memory: ByteSize | None = Field(default=None, gt=0)
    """Host memory that rows take at most; all that there is by default."""
    statistics: bool = False
    """Search once more, off the clock, and count the arcs that each level gathers; time the graph's order."""

    @model_validator(mode="after")
    def _fit_together(self) -> TraverseParameters:
        checked_strategy(self.algorithm, self.strategy)
        searching = self.model_fields_set & {"sources", "output", "max_depth", "statistics"}
        if self.algorithm == "components" and searching:
            raise ValueError(f"components take no {', '.join(sorted(searching))}; only a bfs does")
        check_placement(self)
        return self

    def asked(self) -> dict[str, Any]:
        """Return what distinguishes one way of searching a graph from another, for reports."""
        named = {"strategy", "tuning", "backend", "threads", "output"}
        limits = self.model_fields_set & {"device_memory", "host_memory"}
        return self.model_dump(include=named | limits)


def traverse(
    context: Context,
    parameters: TraverseParameters,
    *,
    input: Graph | CompressedGraph | Partition | DistributedGraph,  # noqa: A002
) -> tuple[Traversal, Measurement]:
    """Search a graph, or find its components, and measure only that.

    One run that is not measured comes first, so that no compilation is counted. Labels come back in
    `symmetrize`'s numbering, whatever was searched, and the time for that is measured apart. Statistics are
    gathered by searches of their own, after all timed ones. Raises
    `StageError` for a source that the graph does not have, for a strategy or tuning constant that does
    not fit the graph or the backend, and, before anything is read, for a placement that does not fit.
    """
    from kernels.jit import set_threads
    from stages.errors import StageError
    from stages.searching.encoded import searched_encoded, why_decoded
    from stages.searching.graph import read_graph
    from stages.searching.placing import plan_for

    if parameters.algorithm == "bfs" and isinstance(parameters.sources, tuple):
        raise StageError(
            "the sources are file ids, and no ids of an input file are known here",
            hint="name internal indices instead: sources: {vertices: [...]}",
        )
    if parameters.algorithm == "bfs" and isinstance(parameters.sources, VertexSources):
        from stages.searching.sources import check_sources

        check_sources(parameters.sources.vertices, input.vertex_count)
    if isinstance(input, DistributedGraph):
        from stages.searching.distributed import search_distributed

        return search_distributed(context, parameters, input)
    if parameters.output == "checks":
        raise StageError(
            "labels may be left out of a search of a distributed graph alone",
            hint="ask for output: both, distance or predecessor, and verify that",
        )
    placed = replace(
        context.machine,
        backend=backend_of_search(parameters, context.machine),
        threads=min(context.machine.threads, parameters.threads or context.machine.threads),
    )
    set_threads(placed.threads)
    placing = plan_for(parameters, input, placed)
    placement = "device" if placing is None else placing.plan.placement
    codec = input.codec if isinstance(input, CompressedGraph) else None
    graph = read_graph(
        input,
        placed,
        placing,
        encoded=searched_encoded(parameters, placement, codec),
        decoded=why_decoded(parameters, placement, codec),
    )
    if placed.backend != context.machine.backend and graph.partition is None:
        graph.notes.append("searched on the CPU")
    if parameters.threads is not None and parameters.threads > placed.threads:
        graph.notes.append(f"{parameters.threads} threads were asked for, and {placed.threads} used")
    if parameters.algorithm == "components":
        from stages.searching.components import find_components

        traversal, measurement = find_components(context, graph, parameters)
    else:
        from stages.searching.bfs import search_all

        traversal, measurement = search_all(context, graph, _sources(parameters, graph), parameters)
    return traversal, replace(measurement, graph={**measurement.graph, **prepared(input)})


def _sources(parameters: TraverseParameters, graph: SearchedGraph) -> NDArray[Any]:
    from stages.searching.sources import check_sources, draw_sources

    asked = parameters.sources
    if isinstance(asked, RandomSources):
        return draw_sources(graph.first_offsets, asked.random, asked.seed)
    vertices = asked.vertices if isinstance(asked, VertexSources) else asked
    return check_sources(vertices, graph.vertex_count)


def _source_ids(parameters: TraverseParameters) -> tuple[int, ...]:
    if parameters.algorithm == "bfs" and isinstance(parameters.sources, tuple):
        return parameters.sources
    return ()


def _with_vertices(parameters: TraverseParameters, vertices: Sequence[int]) -> TraverseParameters:
    internal = VertexSources(vertices=tuple(int(vertex) for vertex in vertices))
    return parameters.model_copy(update={"sources": internal})


STAGE = Stage(
    name="traverse",
    version=4,
    about="Searches breadth-first from several sources, or finds connected components, and measures it.",
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
    source_ids=_source_ids,
    with_vertices=_with_vertices,
)
