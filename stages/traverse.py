"""traverse: breadth-first searches, shortest paths or connected components of a stored graph, measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import ByteSize, Discriminator, Field, Tag, ValidationInfo, field_validator, model_validator

from gravel.stages.artifacts import CompressedGraph, DistributedGraph, Graph, Partition
from gravel.stages.presets import filled
from gravel.stages.stage import FileInput, Parameters, Slot, Stage
from gravel.stages.traversal.need import estimate
from gravel.stages.traversal.records import prepared
from gravel.stages.traversal.spread import batched
from gravel.stages.traversal.sssp import refuse_parameters
from gravel.stages.traversal.strategy import (
    PACKAGES,
    cannot_run,
    check_together,
    checked_strategy,
    kind_faults,
    refuse,
    strategy_names,
    tuning_faults,
)

if TYPE_CHECKING:
    from gravel.stages.artifacts import Measurement, Traversal
    from gravel.stages.context import Context

MAX_ID = (1 << 63) - 1


class RandomSources(Parameters):
    """Sources drawn among the vertices that have arcs, the same for every order, layout and rank count."""

    random: int = Field(ge=1)
    """Number of sources; at most all vertices with arcs."""
    seed: int = Field(default=1, ge=0)
    """The seed of the draw."""


class VertexSources(Parameters):
    """Sources as internal indices, in the order of `symmetrize`."""

    vertices: tuple[Annotated[int, Field(ge=0, le=MAX_ID)], ...] = Field(min_length=1)
    """The rank of each source's file id, counted from 0."""


class ListedSources(Parameters):
    """Sources that a file lists, one id a line, as the input file writes them."""

    file: str = Field(min_length=1)
    """The path of the list: beside the workflow, or from the current folder."""

    def count(self) -> int:
        """Count the ids; 1 where the list cannot be read, which the run says best."""
        try:
            with Path(self.file).open("rb") as lines:
                return max(1, sum(1 for line in lines if line.strip()))
        except OSError:
            return 1


FileId = Annotated[
    Annotated[int, Field(ge=0, le=MAX_ID), Tag("number")] | Annotated[str, Field(min_length=1), Tag("text")],
    Discriminator(lambda given: "number" if isinstance(given, int) else "text"),
]

FileIds = Annotated[tuple[FileId, ...], Field(min_length=1)]
"""Sources as the input file writes them: whole numbers or texts."""


def _form(sources: object) -> str:
    """Tell which form of sources is meant, so that an error speaks of that form alone.

    No form is called as a key of it is: pydantic puts both into the place of an error.
    """
    if isinstance(sources, VertexSources) or (isinstance(sources, Mapping) and "vertices" in sources):
        return "indices"
    if isinstance(sources, ListedSources) or (isinstance(sources, Mapping) and "file" in sources):
        return "listed"
    return "drawn" if isinstance(sources, RandomSources | Mapping) else "ids"


Sources = Annotated[
    Annotated[RandomSources, Tag("drawn")]
    | Annotated[VertexSources, Tag("indices")]
    | Annotated[ListedSources, Tag("listed")]
    | Annotated[FileIds, Tag("ids")],
    Discriminator(_form),
]


class TraverseParameters(Parameters):
    """What to find, from where and how."""

    algorithm: Literal["bfs", "sssp", "components"] = "bfs"
    """`bfs` finds distances and predecessors from each source, `sssp` those of shortest paths by weights, and
    `components` the component of every vertex."""
    strategy: str = Field(default="auto", json_schema_extra={"enum": [*strategy_names(*PACKAGES)]})
    """The name of a strategy, or `auto`, which chooses by graph and backend and reports why."""
    paper: str | None = None
    """Use the settings of a paper: merrill2012, topc2015, flexbfs, pan2018 or moschou2024. Other parameters
    must not contradict them."""
    sources: Sources = RandomSources(random=16)
    """`{random: k, seed: s}`, or a list of ids as the input file writes them, `{file: LIST}`, which has one
    such id a line, or `{vertices: [...]}`."""
    output: Literal["both", "distance", "predecessor", "checks"] = "both"
    """The labels of each vertex. `checks` is for distributed graphs and keeps no labels: the ranks check
    theirs after each search, and only the outcome is kept. Components accept `checks` alone."""
    max_depth: int | None = Field(default=None, ge=0)
    """Do not search beyond this distance."""
    tuning: dict[str, bool | int | float | str] = Field(default_factory=dict)
    """Constants of the strategy by name, for example `{alpha: 15, beta: 18}` or `{mapping: warp}`."""
    backend: Literal["auto", "cpu", "cuda"] = "auto"
    """Where to search. `auto` follows the run, and takes the CPU for a strategy that has no code for GPUs."""
    transport: Literal["auto", "peer", "nccl"] = "auto"
    """How ranks of a partition or a distributed graph communicate on GPUs. `peer` reads the memory of other
    GPUs of one host, `nccl` sends between GPUs of any hosts. `auto` takes `peer` if all are on one host."""
    threads: int | None = Field(default=None, ge=1)
    """The largest number of CPU threads; by default all that the run may use."""
    placement: Literal["auto", "device", "split", "pinned", "streamed"] = "auto"
    """Where rows are kept: on the GPU, in pinned host memory with the longest also on the GPU (`split`) or
    without, or read in parts during the search. `auto` takes the first of these that fits. On a CPU, rows are
    in memory or streamed."""
    device_memory: ByteSize | None = Field(default=None, gt=0)
    """The most GPU memory that a traversal may take, such as `5.8GB`; by default all of it."""
    host_memory: ByteSize | None = Field(default=None, gt=0)
    """The most host memory that rows may take; by default all of it."""
    sources_over: Literal["auto", "one", "workers"] = "auto"
    """`workers` distributes the sources over workers that each hold the whole graph, and `one` uses one
    worker. `auto` chooses by the predicted times of searches, of loading and of returning labels."""
    statistics: bool = False
    """Search once more outside the measured time. Count the arcs of each level, and time the vertex order."""

    @model_validator(mode="before")
    @classmethod
    def _as_the_paper(cls, given: Any) -> Any:
        return filled("traverse", given)

    @field_validator("strategy")
    @classmethod
    def _is_known(cls, strategy: str, info: ValidationInfo) -> str:
        return checked_strategy(info.data.get("algorithm", "bfs"), strategy)

    @model_validator(mode="after")
    def _fit_together(self) -> TraverseParameters:
        searching = self.model_fields_set & {"sources", "output", "max_depth", "statistics", "sources_over"}
        searching |= self.model_fields_set & {"transport"}
        if self.output == "checks":
            searching -= {"output"}
        if self.algorithm == "components" and searching:
            named = {"output": "output other than checks"}
            told = ", ".join(named.get(name, name) for name in sorted(searching))
            raise ValueError(f"components take no {told}; only a bfs does")
        if self.algorithm == "sssp":
            refuse_parameters(self)
        check_together(self)
        if self.sources_over == "workers" and (batched(self) or self.statistics):
            told = "statistics are" if self.statistics else f"{self.strategy} is"
            raise ValueError(f"sources over workers are searched one by one; {told} for one worker")
        return self

    def asked(self) -> dict[str, Any]:
        """Return what distinguishes one way of searching a graph from another, for reports."""
        named = {"strategy", "tuning", "backend", "threads", "output"}
        limits = self.model_fields_set & {"device_memory", "host_memory", "sources_over"}
        if self.transport != "auto":
            named.add("transport")
        if self.paper is not None:
            named |= {"paper"} | ({"sources"} if self.algorithm == "bfs" else set())
        return self.model_dump(include=named | limits)


def traverse(
    context: Context,
    parameters: TraverseParameters,
    *,
    input: Graph | CompressedGraph | Partition | DistributedGraph,  # noqa: A002
) -> tuple[Traversal, Measurement]:
    """Search a graph or find its components, and measure the time.

    The first run is not measured, so compilation is not counted. Labels use the vertex numbers of
    `symmetrize`, whatever was searched; mapping them back is timed separately. Statistics come from
    additional searches after all timed ones.

    Raises `StageError` for a source that the graph does not have, and for a strategy or tuning constant that
    does not fit the graph or the backend. A placement that does not fit is refused before anything is read.
    """
    from gravel.stages.errors import StageError
    from gravel.stages.traversal.opening import open_graph, sources_of
    from gravel.stages.traversal.spread import search_spread, workers_for

    refuse(parameters, input)
    if parameters.algorithm != "components" and isinstance(parameters.sources, tuple | ListedSources):
        raise StageError(
            "the sources are file ids, and no ids of an input file are known here",
            hint="name internal indices instead: sources: {vertices: [...]}",
        )
    if parameters.algorithm != "components" and isinstance(parameters.sources, VertexSources):
        from gravel.stages.traversal.opening import check_sources

        check_sources(parameters.sources.vertices, input.vertex_count)
    if parameters.algorithm == "sssp":
        from gravel.stages.traversal.sssp import find_paths

        return find_paths(context, parameters, input)
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
    graph = open_graph(parameters, input, context.machine)
    if parameters.transport != "auto" and graph.partition is None:
        graph.notes.append(f"transport {parameters.transport} is for partitions, and was left out")
    if parameters.sources_over == "workers":
        graph.notes.append("there were no other workers to deal sources to, so one searched from all")
    if parameters.algorithm == "components":
        from gravel.stages.traversal.components import find_components

        traversal, measurement = find_components(context, graph, parameters)
    else:
        from gravel.stages.traversal.bfs import search_all

        traversal, measurement = search_all(context, graph, sources_of(parameters, graph), parameters)
    return traversal, replace(measurement, graph={**measurement.graph, **prepared(input)})


def _source_ids(parameters: TraverseParameters) -> tuple[int | str, ...]:
    if parameters.algorithm != "components" and isinstance(parameters.sources, tuple):
        return parameters.sources
    return ()


def _ids_file(parameters: TraverseParameters) -> str | None:
    if parameters.algorithm != "components" and isinstance(parameters.sources, ListedSources):
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
    version=9,
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
