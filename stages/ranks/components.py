"""Components of a partition, by ranks on CPUs or on GPUs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from gravel.stages.errors import StageError
from gravel.stages.ranks.label_ranges import WrittenComponents, may_be_written
from gravel.stages.ranks.partition import ON_CPU
from gravel.stages.stage import Extent
from gravel.stages.traversal.strategy import barrier_limit

if TYPE_CHECKING:
    from gravel.kernels.components import ComponentsResult
    from gravel.kernels.partition.components import RankComponents
    from gravel.kernels.partition.layout import RankPart
    from gravel.stages.context import Context, Ranges, RangeWriter
    from gravel.stages.rank_group import RankContext
    from gravel.stages.traversal.graph import SearchedGraph
    from gravel.stages.traversal.parameters import TraverseParameters

Answer = TypeVar("Answer")


class OverRanks:
    """Components of a partition in this process, one run after the other."""

    backend = "cpu"
    strategy = "partition"
    reason = "the graph is partitioned by degree separation"
    prepare_milliseconds = 0.0

    def __init__(self, graph: SearchedGraph) -> None:
        self._graph = graph

    def several(self, runs: int) -> tuple[ComponentsResult, list[float], dict[str, Any]]:
        """Find components `runs` times; returns what the last run found, all times and what ranks tell."""
        from gravel.kernels.partition.components import components

        assert self._graph.partition is not None
        found = [components(self._graph.partition, symmetric=self._graph.symmetric) for _ in range(runs)]
        return found[-1], [each.milliseconds for each in found], {}


def prepare_components(
    context: Context, graph: SearchedGraph, parameters: TraverseParameters
) -> tuple[Any, list[str]]:
    """Make a partition ready for `several` runs; returns sentences on what could not be as asked, too.

    Raises `StageError` where one GPU would have to hold all ranks and cannot.
    """
    assert graph.partition is not None
    stored, ranks = graph.stored, graph.partition.ranks
    seconds = barrier_limit(parameters.tuning)
    delegates = stored is not None and stored.scheme == "delegates"
    grouped = ranks > 1 and context.reserved >= ranks and delegates
    if parameters.backend == "cuda" and context.machine.backend == "cuda" and delegates:
        return prepare_on_gpus(context, graph, grouped=grouped, barrier_seconds=seconds)
    if grouped:
        return RankGroupComponents(context, graph, "cpu", seconds), []
    notes = []
    if ranks > 1 and delegates:
        notes.append(f"{ranks} workers were not there at once, so the ranks took turns in one process")
    return OverRanks(graph), notes


@dataclass(frozen=True)
class ComponentsTask:
    """Task of one rank of a rank group: its part of the partition, and how often components are found."""

    rank: int
    ranks: int
    vertex_count: int
    symmetric: bool
    delegates: Any
    arrays: Mapping[str, Any]
    threads: int
    runs: int
    barrier_seconds: float
    backend: str = "cpu"
    writer: RangeWriter | None = None  # without one, labels go back


@dataclass(frozen=True)
class RankAnswer:
    """One rank's labels of the last run, or receipts for them, and its milliseconds in each."""

    last: RankComponents
    milliseconds: tuple[float, ...]
    receipts: Sequence[Any] = ()


def find_as_rank(rank_group: RankContext, task: ComponentsTask) -> RankAnswer:
    """Find components as one rank of a group, so many times."""
    import numpy

    from gravel.kernels.arrays import on_host
    from gravel.kernels.partition.layout import RankPart, rank_from_arrays
    from gravel.kernels.threads import set_threads

    if task.backend == "cpu":
        set_threads(task.threads)

    def finish(found: RankComponents, times: list[float]) -> RankAnswer:
        component = on_host(found.component)
        if task.writer is None:
            return RankAnswer(replace(found, component=component), tuple(times))
        receipts = write_components(rank_group, component, task.vertex_count, task.writer)
        return RankAnswer(replace(found, component=component[:0]), tuple(times), receipts)

    return find_together(
        rank_group,
        RankPart(
            rank_from_arrays(task.arrays, task.rank),
            numpy.asarray(task.delegates),
            task.vertex_count,
            task.ranks,
        ),
        symmetric=task.symmetric,
        backend=task.backend,
        runs=task.runs,
        finish=finish,
        barrier_seconds=task.barrier_seconds,
    )


def write_components(
    rank_group: RankContext, component: Any, vertices: int, writer: RangeWriter
) -> list[Any]:
    """Write labels as one rank, together with all ranks; returns receipts."""
    from gravel.kernels.exchange import Endpoint, drive
    from gravel.stages.ranks.label_ranges import write_in_order

    # What one program posts must not be taken for what the next does.
    rank_group.barrier()
    end = Endpoint(rank_group)
    return drive(write_in_order(end, component, vertices, 0, writer, component.dtype), rank_group)


def find_together(
    rank_group: RankContext,
    part: RankPart,
    *,
    symmetric: bool,
    backend: str,
    runs: int,
    finish: Callable[[RankComponents, list[float]], Answer],
    barrier_seconds: float,
) -> Answer:
    """Find components `runs` times as one rank of a group, whose part lies where `backend` says.

    `finish` gets the last run's labels, where they were found, and the milliseconds of all. Raises
    `RankGroupBroken` when GPUs waited for each other in vain, and `StageError` where they cannot read each
    other's memory.
    """
    if backend == "cuda":
        rank: Any = _peer_components(rank_group, part, symmetric, barrier_seconds)
    else:
        rank = _CpuComponents(rank_group, part, symmetric)
    times = []
    try:
        for _ in range(runs):
            # Nobody begins, or starts its clock, before all have ended the run before.
            rank_group.barrier()
            found: RankComponents = rank.run(on_device=True)
            times.append(found.milliseconds)
    except RuntimeError as error:
        if backend == "cpu":
            raise
        from gravel.stages.rank_group import RankGroupBroken

        raise RankGroupBroken(f"rank {rank_group.rank}: {error}") from error
    if backend == "cpu":
        # What comes after needs the room of what found the labels.
        del rank
        return finish(found, times)
    answer = finish(found, times)
    rank.leave(rank_group)
    return answer


class _CpuComponents:
    """As `gravel.kernels.partition.cuda.components.PeerComponents`, on the CPU."""

    def __init__(self, rank_group: RankContext, part: RankPart, symmetric: bool) -> None:
        from gravel.kernels.partition.components import ComponentsRank, compile_for

        # What compiles must not count as finding components.
        compile_for(part, symmetric=symmetric)
        self._rank_group = rank_group
        self._state = ComponentsRank(part, symmetric=symmetric)

    def run(self, *, on_device: bool) -> RankComponents:
        from gravel.kernels.partition import components_of_rank

        return components_of_rank(self._rank_group, self._state)


def _peer_components(rank_group: RankContext, part: RankPart, symmetric: bool, time_limit: float) -> Any:
    import cupy

    from gravel.kernels.partition.cuda.components import PeerComponents
    from gravel.kernels.partition.cuda.mapping import why_no_peers

    problem = why_no_peers(rank_group)
    if problem is not None:
        raise StageError(
            f"components over GPUs are found by GPUs that read each other's memory, and {problem}",
            hint="find them with `backend: cpu`",
        )
    # What others map is allocated beside the pool, where earlier searches may have left theirs.
    cupy.get_default_memory_pool().free_all_blocks()
    try:
        return PeerComponents(rank_group, part, symmetric=symmetric, time_limit=time_limit)
    except ValueError as error:
        raise StageError(str(error), hint="split the graph over more ranks") from None


class RankGroupComponents:
    """Components as of `OverRanks`, with every rank on a worker or its GPU, which reads its part once."""

    strategy = "partition"
    prepare_milliseconds = 0.0

    def __init__(self, context: Context, graph: SearchedGraph, backend: str, barrier_seconds: float) -> None:
        self.backend = backend
        if backend == "cpu":
            # What a run takes there says enough, and may be minutes.
            self.runs = 1
        assert graph.partition is not None
        assert graph.stored is not None
        self._context = context
        ranks = graph.partition.ranks
        self.reason = f"the graph is partitioned by degree; each of {ranks} ranks on its own worker"
        arrays = graph.stored.arrays
        self._tasks = [
            ComponentsTask(
                rank=rank,
                ranks=ranks,
                vertex_count=graph.vertex_count,
                symmetric=graph.symmetric,
                delegates=graph.stored.delegates,
                arrays={name: array for name, array in arrays.items() if name.startswith(f"rank{rank}/")},
                threads=context.machine.threads,
                runs=0,
                barrier_seconds=barrier_seconds,
                backend=self.backend,
            )
            for rank in range(ranks)
        ]
        self._written: Ranges | None = None
        self.labels_of = self._written_labels if may_be_written(graph) else None

    def _written_labels(self, *given: Any) -> WrittenComponents:
        made = WrittenComponents(*given)
        self._written = made.ranges
        return made

    def several(self, runs: int) -> tuple[ComponentsResult, list[float], dict[str, Any]]:
        """Find the components `runs` times; the slowest rank's time is that of a run."""
        from gravel.kernels.components import ComponentsResult
        from gravel.kernels.partition.components import joined

        writer = None if self._written is None else self._written.writer
        tasks = [dataclasses.replace(task, runs=runs, writer=writer) for task in self._tasks]
        answers: Sequence[RankAnswer] = self._context.rank_group(find_as_rank, tasks)
        times = [max(each) for each in zip(*(answer.milliseconds for answer in answers), strict=True)]
        ranks = [answer.last for answer in answers]
        if self._written is not None:
            for answer in answers:
                self._written.add(answer.receipts)
            none = ComponentsResult(None, times[-1], "partition")
            return none, times, exchange_record(ranks)
        return joined(ranks, times[-1]), times, exchange_record(ranks)


def exchange_record(ranks: Sequence[RankComponents]) -> dict[str, Any]:
    """Describe a run as its ranks tell it: `rounds`, and bytes that all of them sent."""
    return {
        "rounds": ranks[0].rounds,
        "delegate_bytes": sum(rank.delegate_bytes for rank in ranks),
        "vertex_bytes": sum(rank.vertex_bytes for rank in ranks),
    }


def prepare_on_gpus(
    context: Context, graph: SearchedGraph, *, grouped: bool, barrier_seconds: float
) -> tuple[Any, list[str]]:
    """Make a partition ready on GPUs; returns sentences on what could not be as asked, too.

    Raises `StageError` where one GPU would have to hold all ranks and cannot.
    """
    from gravel.kernels.partition.storage import storage
    from gravel.stages.traversal.rank_memory import component_bytes

    assert graph.partition is not None
    graph.notes[:] = [note for note in graph.notes if note != ON_CPU]
    if grouped:
        return RankGroupComponents(context, graph, "cuda", barrier_seconds), []
    ranks, sizes = graph.partition.ranks, storage(graph.partition)
    extent = Extent(
        "Partition",
        graph.vertex_count,
        bytes=sizes["bytes"],
        directed=not graph.symmetric,
        normal_arcs=sizes["nn_arcs"],
    )
    wanted, memory = component_bytes(extent, 1), context.machine.device_memory
    if wanted > memory:
        raise StageError(
            f"all {ranks} ranks take about {wanted:,} bytes, and this GPU has {memory:,}",
            hint=f"find components with {ranks} GPUs, one for each rank, or with backend: cpu",
        )
    try:
        found = OnOneGpu(graph, barrier_seconds)
    except ValueError as error:
        raise StageError(str(error)) from None
    notes = [f"{ranks} GPUs were not there at once, so one holds all ranks"] if ranks > 1 else []
    return found, notes


class OnOneGpu:
    """Components of a partition with all ranks on this worker's GPU."""

    backend = "cuda"
    strategy = "partition"
    reason = "the graph is partitioned by degree separation"

    def __init__(self, graph: SearchedGraph, barrier_seconds: float) -> None:
        import time

        from gravel.kernels.partition.cuda.components import CudaComponents

        started = time.perf_counter()
        assert graph.partition is not None
        self._search = CudaComponents(graph.partition, symmetric=graph.symmetric, time_limit=barrier_seconds)
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def several(self, runs: int) -> tuple[ComponentsResult, list[float], dict[str, Any]]:
        """Find the components `runs` times; labels come to the host."""
        from gravel.kernels.cuda.wake import wake

        times = []
        for _ in range(runs):
            wake()
            found = self._search.run()
            times.append(found.milliseconds)
        return (
            replace(found, component=found.component.get()),
            times,
            {"rounds": self._search.rounds_run[0].rounds},
        )
