"""Components of a partition on GPUs: every rank on a worker's own GPU, or all of them on this worker's."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gravel.stages.errors import StageError
from gravel.stages.stage import Extent
from gravel.stages.traversal.graph import ON_CPU
from gravel.stages.traversal.ranked_components import GangComponents, RankAnswer, load_part

if TYPE_CHECKING:
    from gravel.kernels.components import ComponentsResult
    from gravel.stages.context import Context
    from gravel.stages.rank_group import RankContext
    from gravel.stages.traversal.graph import SearchedGraph
    from gravel.stages.traversal.ranked_components import ComponentsTask

BYTES_PER_NODE = 28
"""Of a rank's vertices and of every delegate: parent, label, what was told last, what is published, a hook of
two vertices; and the labels put together."""

DELEGATE_SHARE = 1 / 16
"""Of the vertices at most, where the threshold is chosen by `partition`."""


def component_bytes(graph: Extent, ranks: int) -> int:
    """State what each of `ranks` GPUs takes of a partition: subgraphs, labels, and hooks along nn arcs."""
    hooks = 8 * (graph.normal_arcs or 0) if graph.directed else 0
    shared = graph.bytes + BYTES_PER_NODE * graph.vertices + hooks
    return shared // max(1, ranks) + int(BYTES_PER_NODE * DELEGATE_SHARE * graph.vertices)


def prepare_on_gpus(context: Context, graph: SearchedGraph, *, gang: bool) -> tuple[Any, list[str]]:
    """Make a partition ready on GPUs; returns sentences on what could not be as asked, too.

    Raises `StageError` where one GPU would have to hold all ranks and cannot.
    """
    from gravel.kernels.partition import storage

    assert graph.partition is not None
    graph.notes[:] = [note for note in graph.notes if note != ON_CPU]
    if gang:
        return GpuGangComponents(context, graph), []
    ranks, told = graph.partition.ranks, storage(graph.partition)
    extent = Extent(
        "Partition",
        graph.vertex_count,
        bytes=told["bytes"],
        directed=not graph.symmetric,
        normal_arcs=told["nn_arcs"],
    )
    wanted, memory = component_bytes(extent, 1), context.machine.device_memory
    if wanted > memory:
        raise StageError(
            f"all {ranks} ranks take about {wanted:,} bytes, and this GPU has {memory:,}",
            hint=f"find components with {ranks} GPUs, one for each rank, or with backend: cpu",
        )
    try:
        found = OnOneGpu(graph)
    except ValueError as error:
        raise StageError(str(error)) from None
    notes = [f"{ranks} GPUs were not there at once, so one holds all ranks"] if ranks > 1 else []
    return found, notes


class OnOneGpu:
    """Components of a partition with all ranks on this worker's GPU."""

    backend = "cuda"
    reason = "the graph is partitioned by degree separation"

    def __init__(self, graph: SearchedGraph) -> None:
        import time

        from gravel.kernels.partition.cuda.components import CudaComponents

        started = time.perf_counter()
        assert graph.partition is not None
        self._search = CudaComponents(graph.partition, symmetric=graph.symmetric)
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def several(self, runs: int) -> tuple[ComponentsResult, list[float], dict[str, Any]]:
        """Find the components `runs` times; labels come to the host."""
        from gravel.kernels.cuda.wake import wake

        times = []
        for _ in range(runs):
            wake()
            found = self._search.run()
            times.append(found.milliseconds)
        return replace(found, component=found.component.get()), times, {"rounds": self._search.told[0].rounds}


class GpuGangComponents(GangComponents):
    """As `GangComponents`, with every rank on its worker's GPU."""

    backend = "cuda"


def find_on_gpu(gang: RankContext, task: ComponentsTask) -> RankAnswer:
    """Find components as one rank of a gang, so many times.

    Raises `RankGroupBroken` when the GPUs waited for each other in vain, and `StageError` where they cannot
    read each other's memory.
    """
    from gravel.kernels.cuda.wake import wake
    from gravel.kernels.partition.cuda.components import PeerComponents
    from gravel.kernels.partition.cuda.mapping import why_no_peers
    from gravel.stages.rank_group import RankGroupBroken

    problem = why_no_peers(gang)
    if problem is not None:
        raise StageError(
            f"components over GPUs are found by GPUs that read each other's memory, and {problem}",
            hint="leave `backend: cuda` out",
        )
    part, delegates = load_part(task)
    rank = PeerComponents(gang, part, delegates, task.vertex_count, symmetric=task.symmetric)
    times = []
    try:
        for _ in range(task.runs):
            gang.barrier()
            wake()
            found = rank.run()
            times.append(found.milliseconds)
    except RuntimeError as error:
        raise RankGroupBroken(f"rank {task.rank}: {error}") from error
    rank.leave(gang)
    return RankAnswer(found, tuple(times))
