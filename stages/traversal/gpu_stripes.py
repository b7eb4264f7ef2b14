"""Searches of stripes on GPUs: every rank on a worker's own GPU, or all of them on this worker's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.stages.errors import StageError
from gravel.stages.traversal.graph import ON_CPU
from gravel.stages.traversal.residents import Residents, search_resident
from gravel.stages.traversal.striped import StripedGang

if TYPE_CHECKING:
    from gravel.kernels.bfs import BFSResult
    from gravel.kernels.striped import StripedOptions
    from gravel.kernels.striped.cuda import CudaStripedSearch
    from gravel.kernels.striped.cuda.peer_stripe import PeerStripe
    from gravel.kernels.striped.program import RankLabels
    from gravel.stages.context import Context
    from gravel.stages.rank_group import RankContext
    from gravel.stages.stage import Extent
    from gravel.stages.traversal.graph import SearchedGraph
    from gravel.stages.traversal.residents import GpuRank
    from gravel.stages.traversal.striped import StripeTask
    from gravel.stages.traverse import TraverseParameters

BYTES_PER_VERTEX = 28
"""Of a rank: key or distance and place in the queue, and as much again for the labels put together."""

BYTES_PER_ENTRY = 8
"""Of a bin: a vertex and its predecessor."""


def device_bytes(graph: Extent, ranks: int) -> int:
    """State what each of `ranks` GPUs takes of stripes: rows, labels, bins, and a bit for every vertex.

    Without the bitmask bins take more: room for every arc.
    """
    p, n = max(1, ranks), graph.vertices
    entries = min(graph.arcs // p, n)
    return (graph.bytes + BYTES_PER_VERTEX * n) // p + BYTES_PER_ENTRY * entries + n // 8


def prepare_on_gpus(
    context: Context, graph: SearchedGraph, parameters: TraverseParameters, options: StripedOptions
) -> tuple[Any, list[str]]:
    """Make stripes ready for searches on GPUs; returns sentences on what could not be as asked, too.

    Raises `StageError` for options that GPUs do not take, and where one GPU would have to hold all ranks and
    cannot.
    """
    from gravel.kernels.striped.cuda import CudaStripedSearch
    from gravel.kernels.striped.cuda.launch import parts_of

    assert graph.partition is not None
    if parameters.placement not in ("auto", "device"):
        raise StageError(
            f"stripes are always on their GPUs; placement {parameters.placement} is for scheme delegates",
            hint="leave placement out",
        )
    try:
        parts_of(options)
    except ValueError as error:
        raise StageError(str(error)) from None
    graph.notes[:] = [note for note in graph.notes if note != ON_CPU]
    ranks = graph.partition.ranks
    if ranks > 1 and context.reserved >= ranks:
        return GpuStripedGang(context, graph, parameters, options), []
    stored = sum(array.nbytes for part in graph.partition.parts for array in part.nn)
    entries = min(graph.arc_count, ranks * graph.vertex_count) if options.bitmask else graph.arc_count
    wanted = stored + BYTES_PER_VERTEX * graph.vertex_count + BYTES_PER_ENTRY * entries
    memory = context.machine.device_memory
    if wanted > memory:
        raise StageError(
            f"all {ranks} ranks take about {wanted:,} bytes, and this GPU has {memory:,}",
            hint=f"search with {ranks} GPUs, one for each rank, or with backend: cpu",
        )
    notes = [f"{ranks} GPUs were not there at once, so one holds all ranks"] if ranks > 1 else []
    try:
        search = CudaStripedSearch(
            graph.partition, output=parameters.output, max_depth=parameters.max_depth, options=options
        )
    except ValueError as error:
        raise StageError(str(error)) from None
    return StripesOnGpu(search), notes


class StripesOnGpu:
    """`CudaStripedSearch` with labels on the host, where those of a gang come to as well."""

    backend = "cuda"

    def __init__(self, search: CudaStripedSearch) -> None:
        self._search = search
        self.strategy, self.reason = search.strategy, search.reason
        self.prepare_milliseconds = search.prepare_milliseconds

    @property
    def labels(self) -> tuple[RankLabels, ...]:
        """What the ranks told of the last search."""
        return self._search.labels

    def run(self, source: int) -> BFSResult:
        """Search from one vertex."""
        from dataclasses import replace

        from gravel.kernels.cuda.wake import wake

        # Labels were copied to the host in between, and an idle GPU lowers its clocks.
        wake()
        found = self._search.run(source)
        labels = (found.distance, found.predecessor)
        distance, predecessor = (None if array is None else array.get() for array in labels)
        return replace(found, distance=distance, predecessor=predecessor)


class GpuStripedGang(StripedGang):
    """As `StripedGang`, with every rank on its worker's GPU."""

    backend = "cuda"
    rank_backend = "cuda"


RESIDENT: Residents[GpuRank[RankLabels]] = Residents()
"""Ranks that are on this process's GPU."""


def search_on_gpu(gang: RankContext, task: StripeTask) -> list[RankLabels]:
    """Search from each source in turn as one rank of a gang; see `search_resident`."""
    return search_resident(RESIDENT, gang, task, lambda: _peer_stripe(gang, task))


def _peer_stripe(gang: RankContext, task: StripeTask) -> PeerStripe:
    from gravel.kernels.striped import rank_from_arrays
    from gravel.kernels.striped.cuda.peer_stripe import PeerStripe

    return PeerStripe(
        gang,
        rank_from_arrays(task.arrays, task.rank),
        task.vertex_count,
        output="both" if task.tree else "distance",
        options=task.options,
        max_depth=task.max_depth,
    )
