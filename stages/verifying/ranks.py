"""Traversals verified by the ranks that hold the graph: as they were found there, or from their labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gravel.stages.partitioning.resident import Recipe, Resident, find_rank, run_ranks, wire_of

if TYPE_CHECKING:
    from gravel.kernels.verify import Check
    from gravel.stages.artifacts import DistributedGraph, Traversal
    from gravel.stages.context import Context
    from gravel.stages.rank_group import RankContext


PIECE = 1 << 24
"""Labels that a rank reads at once where it takes its own of all."""


@dataclass(frozen=True)
class CheckTask:
    """Labels of one search for each rank to take its own of."""

    recipe: Recipe
    threads: int
    source: int
    distance: Any
    predecessor: Any
    max_depth: int | None


def check_as_rank(rank_group: RankContext, task: CheckTask) -> list[Check]:
    """Check one search as one rank."""
    from gravel.kernels.exchange import Endpoint, drive
    from gravel.kernels.threads import set_threads
    from gravel.kernels.verify.ranks import check_program

    set_threads(task.threads)
    named, resident, _ = find_rank(rank_group, task.recipe, None)
    checker = checker_of(resident, named.size)
    own = [
        None if labels is None else checker.xp.asarray(labels[named.rank :: named.size].copy())
        for labels in (task.distance, task.predecessor)
    ]
    with wire_of(named, resident.backend) as wire:
        return drive(
            check_program(Endpoint(wire), checker, task.source, *own, max_depth=task.max_depth), wire
        )


def checks_over_ranks(
    context: Context, graph: DistributedGraph, traversal: Traversal
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
    for search, source in enumerate(sources):
        task = CheckTask(
            recipe=Recipe.of(graph),
            threads=context.machine.threads,
            source=source,
            distance=None
            if traversal.distance is None
            else numpy.asarray(traversal.distance[search]).astype(numpy.int32, copy=False),
            predecessor=None
            if traversal.predecessor is None
            else numpy.asarray(traversal.predecessor[search]),
            max_depth=traversal.max_depth,
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

    recipe: Recipe
    threads: int
    component: Any


def check_labels_as_rank(rank_group: RankContext, task: LabelsTask) -> list[Check]:
    """Check labels as one rank, which reads some at a time and keeps its own."""
    import numpy

    from gravel.kernels.threads import set_threads

    set_threads(task.threads)
    named, resident, _ = find_rank(rank_group, task.recipe, None)
    resident.kept.clear()
    n, p = len(task.component), named.size
    own = numpy.empty(len(range(named.rank, n, p)), task.component.dtype)
    for first in range(0, n, PIECE):
        labels = numpy.asarray(task.component[first : first + PIECE])
        mine = labels[(named.rank - first) % p :: p]
        place = (first + (named.rank - first) % p) // p
        own[place : place + len(mine)] = mine
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


def checks_of_components(context: Context, graph: DistributedGraph, traversal: Traversal) -> list[Check]:
    """Give the checks of components: as the ranks made them at once, or made now by the ranks.

    Raises ValueError for a traversal that has neither labels nor checks.
    """
    if traversal.component is None:
        if not traversal.checks:
            raise ValueError("the traversal has neither component labels nor checks")
        return [recorded(record) for record in traversal.checks[0]]
    task = LabelsTask(Recipe.of(graph), context.machine.threads, traversal.component)
    return run_ranks(context, check_labels_as_rank, task, graph.ranks)[0]
