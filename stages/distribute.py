"""distribute: a graph split over ranks, generated or from files, that no single process holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gravel.kernels.buffers import exact, total
from gravel.kernels.partition.distributor.buffers import (
    PART_EDGES,
    PART_EDGES_CUDA,
    SORT_ARCS,
    Size,
    distributing,
    distributing_on_gpu,
    result,
)
from gravel.stages.artifacts import DistributedGraph, Partition, VertexIds
from gravel.stages.distributing.buffers import WEIGHT, building, edges_at_once, room_for_arcs, weights
from gravel.stages.distributing.parameters import DistributeParameters
from gravel.stages.generators import GeneratorSource
from gravel.stages.ingest import STAGE as INGEST
from gravel.stages.ingest import files, kept_parts
from gravel.stages.ingest_memory import estimate, working_memory
from gravel.stages.ingest_parameters import IngestParameters
from gravel.stages.partitioning.resident import Recipe, find_rank, part_edges, run_ranks
from gravel.stages.stage import Extent, Machine, Need, Stage

if TYPE_CHECKING:
    from gravel.kernels.partition.census import Census
    from gravel.kernels.partition.storage import RankSize
    from gravel.stages.context import Context
    from gravel.stages.rank_group import RankContext

COMPILED = 90 << 20
"""Measured: what Numba takes to compile the distributor, and to be there at all, in each process."""


COMPILED_WEIGHTS = 6 << 20
"""Measured: what weights add to that."""


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


def distribute(
    context: Context, parameters: DistributeParameters
) -> tuple[DistributedGraph | Partition, VertexIds]:
    """Generate a graph on its ranks, or divide one from files over them.

    Each rank, on its own worker if there are enough, makes its share of the edges and symmetrizes them
    without loops and duplicates. It makes its part of what `partition` would make. A generated
    part stays in its worker's memory, and the artifact has only the recipe and the counts. Parts of a graph
    from files are stored by their ranks.

    Raises `StageError` for any fault of the files, and if a rank's vertices do not fit 32-bit local ids. In a
    run on GPUs, ranks that generate need their own GPUs.
    """
    if parameters.source is None:
        from gravel.stages.distributing.from_files import from_files

        return from_files(context, parameters)
    return _generated(context, parameters, parameters.source)


def _generated(
    context: Context, parameters: DistributeParameters, source: GeneratorSource
) -> tuple[DistributedGraph, VertexIds]:
    import json
    from dataclasses import asdict

    from gravel.kernels.generate import size
    from gravel.kernels.partition import storage_of
    from gravel.kernels.partition.layout import check_ranks
    from gravel.stages.errors import StageError

    ranks = parameters.ranks
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
    if parameters.source is None:
        return _estimate_of_files(parameters, machine)
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


def _estimate_of_files(parameters: DistributeParameters, machine: Machine) -> Need:
    """State reading a piece, and then what each rank works in: `memory` at most, with more in files."""
    weighted = parameters.is_weighted
    read = estimate(parameters.reading, {}, machine)
    edges, ids = read.outputs
    n, m, p = edges.vertices, 2 * edges.arcs, parameters.ranks
    memory = working_memory(parameters, machine)
    part = min(edges_at_once(memory, p, weighted=weighted), max(1, edges.arcs // p))
    each = total(building(-(-n // p), n, m // p, part, p, weighted=weighted), "host")
    stored = *result(Size(n, m, p, p, n // 16, striped=False)), weights(m if weighted else 0, WEIGHT)
    graph = Extent(
        kind="Partition",
        vertices=n,
        arcs=m,
        bytes=exact(stored),
        ranks=p,
        normal_arcs=m,
        weighted=weighted,
    )
    compiled = COMPILED + COMPILED_WEIGHTS * weighted
    # Of vertices that are only a bound nothing is refused.
    problem = "" if read.outputs_guessed else room_for_arcs(memory, n, p).problem
    return Need(
        # With fewer workers than ranks all are in one process, and share the memory.
        host_bytes=max(read.host_bytes, compiled + min(memory, p * each)),
        device_bytes=0,
        outputs=(graph, ids),
        workers=p if p > 1 else 0,
        each_host_bytes=max(read.host_bytes, compiled + min(memory, each)) if p > 1 else 0,
        refusal=f"{problem}; give `memory` more" if problem else "",
        outputs_guessed=read.outputs_guessed,
    )


def _kept_pieces(parameters: DistributeParameters) -> list[tuple[Stage, IngestParameters]]:
    """Return what makes the pieces that are stored, which are those of `ingest`."""
    return kept_parts(parameters.reading)


STAGE = Stage(
    name="distribute",
    version=6,
    about="Divides a generated graph, or one from files, over the ranks that search it.",
    parameters=DistributeParameters,
    inputs={},
    outputs=("DistributedGraph", "VertexIds"),
    outputs_with=dict.fromkeys(("file", "files"), ("Partition", "VertexIds")),
    run=distribute,
    estimate=_estimate,
    cuda=True,
    files=files,
    parts=_kept_pieces,
    hidden=INGEST.hidden,
)
