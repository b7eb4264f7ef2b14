"""distribute: a generated graph split over ranks that make it themselves and alone hold it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from gravel.kernels.buffers import total
from gravel.kernels.partition.distributor.buffers import (
    PART_EDGES,
    PART_EDGES_CUDA,
    SORT_ARCS,
    distributing,
    distributing_on_gpu,
)
from gravel.stages.artifacts import DistributedGraph, VertexIds
from gravel.stages.generators import GeneratorSource
from gravel.stages.partitioning.resident import Recipe, find_rank, part_edges, run_ranks
from gravel.stages.stage import Extent, Machine, Need, Parameters, Stage

if TYPE_CHECKING:
    from gravel.kernels.partition.census import Census
    from gravel.kernels.partition.storage import RankSize
    from gravel.stages.context import Context
    from gravel.stages.rank_group import RankContext

COMPILED = 90 << 20
"""Measured: what Numba takes to compile the distributor, and to be there at all, in each process."""


class DistributeParameters(Parameters):
    """Parameters: the graph, the number of ranks, and the vertices that every rank knows."""

    source: GeneratorSource
    """A generator with its parameters, as `ingest` takes it."""
    ranks: int = Field(default=1, ge=1, le=65536)
    """Ranks (one GPU or worker each) that make and share the graph."""
    threshold: Annotated[int, Field(ge=0)] | Literal["auto"] = "auto"
    """Vertices with more neighbours than this are delegates; `auto` takes the one that a cost model finds
    fastest."""
    hosts: int | None = Field(default=None, ge=1, le=65536)
    """Number of machines with equally many ranks, for the cost model; by default as few as hold eight ranks
    each."""

    @model_validator(mode="after")
    def _fit_together(self) -> DistributeParameters:
        if self.hosts is not None and self.ranks % self.hosts:
            raise ValueError(f"{self.ranks} ranks do not make {self.hosts} equal hosts")
        return self


@dataclass(frozen=True)
class MakeTask:
    """Task of each rank of the rank group that makes the graph."""

    recipe: Recipe
    backend: str
    threads: int


@dataclass(frozen=True)
class Made:
    """Facts of the part of the graph that a rank has made."""

    rank: int
    threshold: int
    vertex_count: int
    arc_count: int
    delegates: int
    census: Census | None  # from rank 0
    sizes: tuple[RankSize, ...]
    seconds: float


def make_as_rank(rank_group: RankContext, task: MakeTask) -> Made:
    """Make one rank of the graph and keep it in this process, unless all ranks are there already."""
    import time

    from gravel.kernels.threads import set_threads

    set_threads(task.threads)
    started = time.perf_counter()
    named, resident, _ = find_rank(rank_group, task.recipe, task.backend)
    share = resident.share
    return Made(
        rank=named.rank,
        threshold=share.threshold,
        vertex_count=share.vertex_count,
        arc_count=share.arc_count,
        delegates=len(share.delegates),
        census=share.census if named.rank == 0 else None,
        sizes=share.sizes,
        seconds=time.perf_counter() - started,
    )


def distribute(context: Context, parameters: DistributeParameters) -> tuple[DistributedGraph, VertexIds]:
    """Generate a graph on its ranks.

    Each rank, on its own worker if there are enough, makes its share of the edges and symmetrizes them
    without loops and duplicates. It holds its part of what `partition` would make of the graph. The artifact
    has only the recipe and the counts.

    Raises `StageError` if a rank's vertices do not fit 32-bit local ids, and for ranks without their own
    GPUs in a run on GPUs.
    """
    import json
    from dataclasses import asdict

    from gravel.kernels.generate import size
    from gravel.kernels.partition import storage_of
    from gravel.kernels.partition.layout import check_ranks
    from gravel.stages.errors import StageError

    source, ranks = parameters.source, parameters.ranks
    arguments = source.arguments()
    vertices = size(source.name, **arguments).vertices
    try:
        check_ranks(vertices, ranks)
    except ValueError as error:
        raise StageError(str(error)) from None
    recipe = Recipe(
        source.name, json.dumps(arguments, sort_keys=True), ranks, parameters.threshold, parameters.hosts
    )
    if ranks > 1 and context.reserved < ranks:
        context.log(f"{ranks} workers were not there at once, so all ranks are in one process")
    task = MakeTask(recipe, context.machine.backend, context.machine.threads)
    ranks_made = run_ranks(context, make_as_rank, task, ranks)
    first = next(made for made in ranks_made if made.rank == 0)
    assert first.census is not None
    context.log(
        f"{first.arc_count:,} arcs over {ranks} ranks, threshold {first.threshold}, "
        f"in {max(made.seconds for made in ranks_made):.3f} s"
    )
    statistics = storage_of(first.sizes, vertex_count=vertices, delegate_count=first.delegates)
    curve = [asdict(division) for division in first.census.curve()]
    graph = DistributedGraph(
        generator={"name": source.name, "arguments": json.loads(recipe.arguments)},
        ranks=ranks,
        threshold=first.threshold,
        vertex_count=vertices,
        arc_count=first.arc_count,
        statistics={**statistics, "thresholds": curve},
    )
    return graph, VertexIds(vertex_count=vertices)


def host_bytes(vertices: int, arcs: int, ranks: int) -> int:
    """State what all ranks take together while they make a graph on the CPU, beside what is compiled."""
    part = part_edges(arcs // 2, ranks, PART_EDGES)
    return ranks * total(distributing(-(-vertices // ranks), vertices, arcs // ranks, part), "host")


def device_bytes(vertices: int, arcs: int, ranks: int) -> int:
    """State what each rank takes on its GPU while it makes its part."""
    part = part_edges(arcs // 2, ranks, PART_EDGES_CUDA)
    own = -(-vertices // ranks)
    return total(distributing_on_gpu(own, vertices, arcs // ranks, part, min(SORT_ARCS, arcs)))


def _estimate(
    parameters: DistributeParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    from gravel.kernels.generate import size

    source, p = parameters.source, parameters.ranks
    found = size(source.name, **source.arguments())
    n, m = found.vertices, 2 * found.edges
    on_device = machine.backend == "cuda"
    # The thresholds that one takes for Kronecker graphs leave a tenth; other graphs may have no delegates.
    normal = m // 10 if source.name == "rmat" else m
    graph = Extent(kind="DistributedGraph", vertices=n, arcs=m, ranks=p, normal_arcs=normal)
    return Need(
        host_bytes=COMPILED + (0 if on_device else host_bytes(n, m, p)),
        device_bytes=device_bytes(n, m, p) if on_device else 0,
        outputs=(graph, Extent(kind="VertexIds", vertices=n)),
        workers=p if p > 1 else 0,
        each_host_bytes=COMPILED if p > 1 else 0,
    )


STAGE = Stage(
    name="distribute",
    version=4,
    about="Generates a graph on the ranks that search it; each holds its own part, and nothing is on disk.",
    parameters=DistributeParameters,
    inputs={},
    outputs=("DistributedGraph", "VertexIds"),
    run=distribute,
    estimate=_estimate,
    cuda=True,
)
