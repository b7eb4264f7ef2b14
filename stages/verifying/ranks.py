"""Traversals verified by the ranks of a graph: as they were found there, or from their labels.

Ranks of a generated graph are in the memory of their workers; those of a stored partition are mapped.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gravel.stages.artifacts import DistributedGraph, Partition
from gravel.stages.partitioning.resident import Recipe, Resident, find_rank, run_ranks, wire_of
from gravel.stages.ranks.rank import Residents

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.kernels.verify import Check
    from gravel.stages.artifacts import Traversal
    from gravel.stages.context import Context
    from gravel.stages.rank_group import RankContext


PIECE = 1 << 20
"""Labels that a rank reads at once where it takes its own of all."""


@dataclass(frozen=True)
class StoredRanks:
    """The ranks of a stored partition; `token` is the name of what they keep from check to check."""

    token: str
    arrays: Mapping[str, Any]
    delegates: Any
    threshold: int
    vertex_count: int
    arc_count: int

    @classmethod
    def of(cls, graph: Partition) -> StoredRanks:
        """Name the ranks of a partition."""
        counts = graph.threshold, graph.vertex_count, graph.arc_count
        return cls(uuid.uuid4().hex, graph.arrays, graph.delegates, *counts)

    def load(self, rank: int) -> Resident:
        """Map a rank's arrays."""
        import numpy

        from gravel.kernels.partition.distributor.program import RankShare
        from gravel.kernels.partition.layout import rank_from_arrays

        part = rank_from_arrays(self.arrays, rank)
        counts = self.threshold, self.vertex_count, self.arc_count
        return Resident(RankShare(part, numpy.asarray(self.delegates), *counts), "cpu", {})


Ranks = Recipe | StoredRanks

STORED: Residents[Resident] = Residents()
"""Ranks of stored partitions that this process checks with."""


def ranks_of(graph: DistributedGraph | Partition) -> Ranks:
    """Name the ranks of a graph."""
    return StoredRanks.of(graph) if isinstance(graph, Partition) else Recipe.of(graph)


def _found(rank_group: RankContext, ranks: Ranks) -> tuple[RankContext, Resident]:
    if isinstance(ranks, StoredRanks):
        rank = rank_group.rank
        return rank_group, STORED.find(ranks.token, rank, lambda: ranks.load(rank))
    named, resident, _ = find_rank(rank_group, ranks, None)
    return named, resident


def _let_go(rank_group: RankContext, ranks: Ranks) -> None:
    if isinstance(ranks, StoredRanks):
        STORED.drop(ranks.token, rank_group.rank)


@dataclass(frozen=True)
class CheckTask:
    """Labels of searches, of one of which each rank reads its own; the `last` one of a stored partition.

    `exact` is empty for levels, and for distances by weights the type in which they are compared.
    """

    ranks: Ranks
    last: bool
    threads: int
    search: int
    source: int
    distance: Any
    predecessor: Any
    max_depth: int | None
    exact: str = ""


def check_as_rank(rank_group: RankContext, task: CheckTask) -> list[Check]:
    """Check one search as one rank."""
    import numpy

    from gravel.kernels.exchange import Endpoint, drive
    from gravel.kernels.threads import set_threads
    from gravel.kernels.verify.ranks import check_program

    set_threads(task.threads)
    named, resident = _found(rank_group, task.ranks)
    if task.last:
        _let_go(rank_group, task.ranks)
    if task.exact:
        return _check_paths(named, resident, task)
    checker = checker_of(resident, named.size)
    given = (task.distance, numpy.int32), (task.predecessor, None)
    own = [
        None if labels is None else checker.xp.asarray(own_labels(named, labels, task.search, dtype))
        for labels, dtype in given
    ]
    with wire_of(named, resident.backend) as wire:
        return drive(
            check_program(Endpoint(wire), checker, task.source, *own, max_depth=task.max_depth), wire
        )


def _check_paths(rank_group: RankContext, resident: Resident, task: CheckTask) -> list[Check]:
    """Check distances by weights as one rank on a CPU."""
    import numpy

    from gravel.kernels.exchange import Endpoint, drive
    from gravel.kernels.verify.ranks.paths import check_paths_program
    from gravel.kernels.verify.ranks.paths_cpu import RankPathChecker

    if "checker" not in resident.kept:
        share = resident.share
        given = share.part, share.delegates, share.vertex_count, rank_group.size
        resident.kept["checker"] = RankPathChecker(*given, numpy.dtype(task.exact))
    distance = own_labels(rank_group, task.distance, task.search, task.exact)
    predecessor = None
    if task.predecessor is not None:
        predecessor = own_labels(rank_group, task.predecessor, task.search)
    program = check_paths_program(
        Endpoint(rank_group), resident.kept["checker"], task.source, distance, predecessor
    )
    return drive(program, rank_group)


def own_labels(rank_group: RankContext, labels: Any, search: int | None, dtype: Any = None) -> NDArray[Any]:
    """Read a rank's own labels, some vertices at a time; `search` is a row, None of labels without rows."""
    import numpy

    n, p = labels.shape[-1], rank_group.size
    own = numpy.empty(len(range(rank_group.rank, n, p)), dtype or labels.dtype)
    for first in range(0, n, PIECE):
        some = slice(first, first + PIECE)
        start = (rank_group.rank - first) % p
        mine = numpy.asarray(labels[some] if search is None else labels[search, some])[start::p]
        place = (first + start) // p
        own[place : place + len(mine)] = mine
    return own


def checks_over_ranks(
    context: Context, graph: DistributedGraph | Partition, traversal: Traversal
) -> Iterator[tuple[int, list[Check]]]:
    """Yield each source with its checks.

    Without labels they are those that the ranks made right after each search. Raises ValueError for a
    traversal that has neither.
    """
    import numpy

    sources = numpy.asarray(traversal.sources).tolist()
    if traversal.distance is None and traversal.predecessor is None:
        if traversal.checks is None:
            raise ValueError("the traversal has neither labels nor checks")
        for source, records in zip(sources, traversal.checks, strict=True):
            yield source, [recorded(record) for record in records]
        return
    ranks, exact = ranks_of(graph), ""
    if traversal.algorithm == "shortest_paths":
        if isinstance(graph, DistributedGraph) or not graph.has_weights or traversal.distance is None:
            raise ValueError("the graph has no weights, by which the traversal's distances were found")
        exact = "f8" if traversal.distance.dtype.kind == "f" else "i8"
    for search, source in enumerate(sources):
        task = CheckTask(
            ranks=ranks,
            last=search + 1 == len(sources),
            threads=context.machine.threads,
            search=search,
            source=source,
            distance=traversal.distance,
            predecessor=traversal.predecessor,
            max_depth=traversal.max_depth,
            exact=exact,
        )
        yield source, run_ranks(context, check_as_rank, task, graph.ranks)[0]


def recorded(record: dict[str, Any]) -> Check:
    """Read a check as a traversal keeps it."""
    from gravel.kernels.verify import Check

    arcs = tuple((int(u), int(v)) for u, v in record["arcs"])
    return Check(record["name"], record["rule"], record["faults"], tuple(record["vertices"]), arcs)


def checker_of(resident: Resident, ranks: int) -> Any:
    """Find or make what a rank checks its labels with."""
    if "checker" not in resident.kept:
        if resident.backend == "cuda":
            from gravel.kernels.verify.ranks.cuda import RankChecker as Made
        else:
            from gravel.kernels.verify.ranks.cpu import RankChecker as Made  # type: ignore[assignment]
        share = resident.share
        resident.kept["checker"] = Made(share.part, share.delegates, share.vertex_count, ranks)
    return resident.kept["checker"]


@dataclass(frozen=True)
class LabelsTask:
    """Labels of all vertices, of which each rank takes its own."""

    ranks: Ranks
    threads: int
    component: Any


def check_labels_as_rank(rank_group: RankContext, task: LabelsTask) -> list[Check]:
    """Check labels as one rank, which reads its own."""
    from gravel.kernels.threads import set_threads

    set_threads(task.threads)
    named, resident = _found(rank_group, task.ranks)
    _let_go(rank_group, task.ranks)
    resident.kept.clear()
    own: Any = own_labels(named, task.component, None)
    if resident.backend == "cuda":
        import cupy

        own = cupy.asarray(own)
    return check_labels(named, resident, own)


def check_labels(rank_group: RankContext, resident: Resident, component: Any) -> list[Check]:
    """Check a rank's labels of components together with all ranks."""
    from gravel.kernels.exchange import Endpoint, drive
    from gravel.kernels.verify.ranks.components import check_components_program

    if resident.backend == "cuda":
        from gravel.kernels.verify.ranks.components_cuda import RankLabelChecker as Made
    else:
        from gravel.kernels.verify.ranks.components_cpu import RankLabelChecker as Made  # type: ignore[assignment]
    share = resident.share
    checker: Any = Made(share.part, share.delegates, share.vertex_count, rank_group.size)
    # What one program posts must not be taken for what the next does.
    rank_group.barrier()
    with wire_of(rank_group, resident.backend) as wire:
        return drive(check_components_program(Endpoint(wire), checker, component), wire)


def checks_of_components(
    context: Context, graph: DistributedGraph | Partition, traversal: Traversal
) -> list[Check]:
    """Give the checks of components: as the ranks made them at once, or made now by the ranks.

    Raises ValueError for a traversal that has neither labels nor checks.
    """
    if traversal.component is None:
        if not traversal.checks:
            raise ValueError("the traversal has neither component labels nor checks")
        return [recorded(record) for record in traversal.checks[0]]
    task = LabelsTask(ranks_of(graph), context.machine.threads, traversal.component)
    return run_ranks(context, check_labels_as_rank, task, graph.ranks)[0]
