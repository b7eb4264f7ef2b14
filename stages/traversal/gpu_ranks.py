"""Searches of a partition on GPUs: every rank on a worker's own GPU, or all of them on this worker's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.stages.errors import StageError
from gravel.stages.traversal.graph import ON_CPU
from gravel.stages.traversal.nccl_ranks import nccl_rank, over_nccl, prepare_over_nccl
from gravel.stages.traversal.partitioned import GangSearch
from gravel.stages.traversal.rank_placing import plan_encoded, plan_loaded
from gravel.stages.traversal.residents import Residents, search_resident

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gravel.kernels.bfs import BFSResult
    from gravel.kernels.partition import SearchOptions
    from gravel.kernels.partition.cuda import CudaPartitionSearch, Level
    from gravel.kernels.partition.cuda.peer_rank import PeerRank
    from gravel.kernels.partition.nccl import NcclRank
    from gravel.kernels.partition.program import RankLabels
    from gravel.stages.context import Context
    from gravel.stages.rank_group import RankContext
    from gravel.stages.stage import Extent
    from gravel.stages.traversal.graph import SearchedGraph
    from gravel.stages.traversal.partitioned import RankTask
    from gravel.stages.traversal.rank_placing import RankPlan
    from gravel.stages.traversal.residents import GpuRank
    from gravel.stages.traverse import TraverseParameters

BYTES_PER_VERTEX = 51
"""Of a rank: distance, predecessor, depth, key and the one expected, slot, queues and bitmaps, as much again
for the labels put together, and what `gravel.kernels.partition.cuda.lookers` adds."""

WIDE_BYTES_PER_VERTEX = BYTES_PER_VERTEX + 12
"""From 2^32 vertices on."""

BYTES_PER_NORMAL_ARC = 20
"""A bin with ids and tails, a row, and the column by slots (8 from 2^32 vertices on)."""

BYTES_PER_RELAYED_ARC = 8
"""With local all-to-all: an id and a vertex (4 more from 2^32 vertices on) that a mate lists."""

BYTES_PER_DELEGATE = 73
"""On every rank: distance, key, queues, the first arcs of queued rows, columns, length and number."""

DELEGATE_SHARE = 1 / 16
"""Of the vertices at most, where the threshold is chosen by `partition`."""


def device_bytes(graph: Extent, ranks: int, *, relays: bool = False) -> int:
    """State what each of `ranks` GPUs takes.

    Subgraphs and labels, what each nn arc takes, more if vertices go by way of mates, and the bits of all
    ranks' frontiers.
    """
    relayed = BYTES_PER_RELAYED_ARC + (4 if graph.vertices >= 1 << 32 else 0)
    normal = (BYTES_PER_NORMAL_ARC + relays * relayed) * (graph.normal_arcs or 0)
    shared = graph.bytes + vertex_bytes(graph.vertices) * graph.vertices + normal
    fronts = graph.vertices // 8
    return shared // max(1, ranks) + fronts + int(BYTES_PER_DELEGATE * DELEGATE_SHARE * graph.vertices)


def vertex_bytes(vertices: int) -> int:
    """State what a rank's GPU takes for each of its vertices, by how many the graph has."""
    return BYTES_PER_VERTEX if vertices < 1 << 32 else WIDE_BYTES_PER_VERTEX


def prepare_on_gpus(
    context: Context, graph: SearchedGraph, parameters: TraverseParameters, options: SearchOptions
) -> tuple[Any, list[str]]:
    """Make a partition ready for searches on GPUs; returns sentences on what could not be as asked, too.

    Raises `StageError` for options that have no meaning there, and where columns do not fit as they are to be
    placed, or what else a GPU has to hold does not.
    """
    from gravel.kernels.partition.cuda import prepare
    from gravel.kernels.partition.cuda.encoded import layout_of
    from gravel.kernels.partition.cuda.staging import Staging, check_staged
    from gravel.kernels.partition.encoded import encoded_bytes
    from gravel.kernels.partition.layout import arc_count
    from gravel.kernels.partition.storage import storage
    from gravel.stages.stage import Extent

    assert graph.partition is not None
    graph.notes[:] = [note for note in graph.notes if note != ON_CPU]
    if parameters.transport == "nccl":
        return prepare_over_nccl(context, graph, parameters, options)
    ranks = graph.partition.ranks
    nn_arcs = sum(arc_count(part.nn) for part in graph.partition.parts)
    if graph.compressed is None:
        size = storage(graph.partition)["bytes"]
    else:
        size = sum(encoded_bytes(part) for part in graph.partition.parts)
    extent = Extent("Partition", graph.vertex_count, bytes=size, normal_arcs=nn_arcs)
    held = graph.stored is not None or graph.compressed is not None
    gang = ranks > 1 and context.reserved >= ranks and held
    gpus = ranks if gang else 1
    whole = device_bytes(extent, gpus, relays=options.local_all_to_all)
    if graph.compressed is None:
        plan = plan_loaded(parameters, context.machine, graph.partition, whole=whole, gpus=gpus)
    else:
        plan = plan_encoded(parameters, context.machine, whole=whole)
    notes = [] if plan.placement == "device" else [plan.described()]
    try:
        layout = layout_of(graph.partition.parts[0])
        check_staged(Staging.of(options, ranks), placed=plan.placement != "device", layout=layout)
    except ValueError as error:
        raise StageError(str(error)) from None
    if options.message_bytes:
        notes.append("GPUs that read each other's memory send no messages, so message_bytes was left out")
    if gang:
        return GpuGangSearch(context, graph, parameters, options, plan=plan), notes
    if ranks > 1:
        notes.append(f"{ranks} GPUs were not there at once, so one holds all ranks")
    try:
        search = prepare(
            graph.partition,
            output=parameters.output,
            max_depth=parameters.max_depth,
            symmetric=graph.symmetric,
            options=options,
            placing=plan.placing(ranks),
        )
    except ValueError as error:
        raise StageError(str(error)) from None
    return RanksOnGpu(search, plan), notes


class RanksOnGpu:
    """`CudaPartitionSearch` with labels on the host, where those of a gang come to as well."""

    backend = "cuda"

    def __init__(self, search: CudaPartitionSearch, plan: RankPlan) -> None:
        self._search, self.placement = search, plan.placement
        self.strategy, self.reason = search.strategy, search.reason
        self.prepare_milliseconds = search.prepare_milliseconds
        self.labels: tuple[RankLabels, ...] = ()

    def run(self, source: int) -> BFSResult:
        """Search from one vertex."""
        from dataclasses import replace

        # Labels were copied to the host in between.
        self._search.wake()
        found = self._search.run(source)
        labels = (found.distance, found.predecessor)
        distance, predecessor = (None if array is None else array.get() for array in labels)
        found = replace(found, distance=distance, predecessor=predecessor)
        self.labels = tuple(
            _told_by_gpu(levels, found, self._search.masks_read(place))
            for place, levels in enumerate(self._search.levels)
        )
        return found


def _told_by_gpu(levels: Sequence[Level], found: BFSResult, mask_bytes: int) -> RankLabels:
    """Tell of the levels of a GPU's ranks together what one rank of a gang does."""
    import numpy

    from gravel.kernels.partition.program import LevelRecord, RankLabels

    told = []
    for level in levels:
        backward = tuple(sorted({name for rank in level.backward for name in rank}))
        waits = level.wait + level.relay + level.settle_wait
        parts = level.visit / 1e3, (level.reduce + level.settle) / 1e3, waits / 1e3
        sent = mask_bytes, 4 * level.arrived
        told.append(LevelRecord(level.normal, level.delegates, backward, *parts, *sent, level.relay / 1e3))
    # Deeper levels than the GPU logs.
    for way in found.directions[len(told) :]:
        told.append(LevelRecord(0, 0, ("",) if way == "pull" else (), 0, 0, 0, mask_bytes, 0))
    # Labels themselves come with the result.
    return RankLabels(numpy.empty(0, numpy.int32), None, found.milliseconds, 0, tuple(told))


class GpuGangSearch(GangSearch):
    """As `GangSearch`, with every rank on its worker's GPU."""

    backend = "cuda"
    rank_backend = "cuda"

    def __init__(
        self,
        context: Context,
        graph: SearchedGraph,
        parameters: TraverseParameters,
        options: SearchOptions,
        *,
        plan: RankPlan,
    ) -> None:
        # With "cuda" the ranks find out themselves whether they are on one host.
        self.rank_backend = "peer" if parameters.transport == "peer" else "cuda"
        super().__init__(context, graph, parameters, options, placing=plan.placing(1))
        self.placement = plan.placement


RESIDENT: Residents[GpuRank[RankLabels]] = Residents()
"""Ranks that are on this process's GPU."""


def search_on_gpu(gang: RankContext, task: RankTask) -> list[RankLabels]:
    """Search from each source in turn as one rank of a gang; see `search_resident`."""

    def make() -> PeerRank | NcclRank:
        sends = over_nccl(gang, task.backend, placed=task.placing is not None)
        return nccl_rank(gang, task) if sends else _peer_rank(gang, task)

    return search_resident(RESIDENT, gang, task, make)


def _peer_rank(gang: RankContext, task: RankTask) -> PeerRank:
    import numpy

    from gravel.kernels.partition.cuda.peer_rank import PeerRank
    from gravel.kernels.partition.layout import rank_from_arrays

    return PeerRank(
        gang,
        task.encoded.read() if task.encoded else rank_from_arrays(task.arrays, task.rank),
        numpy.asarray(task.delegates),
        task.vertex_count,
        symmetric=task.symmetric,
        options=task.options,
        tree=task.tree,
        max_depth=task.max_depth,
        placing=task.placing,
    )
