"""Searches verified by the ranks that hold the graph: as they were found there, or from their labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gravel.stages.partitioning.resident import Recipe, find_rank, run_gang, wire_of
from gravel.stages.traversal.distributed_rank import checker_of

if TYPE_CHECKING:
    from gravel.kernels.verify import Check
    from gravel.stages.artifacts import DistributedGraph, Traversal
    from gravel.stages.context import Context
    from gravel.stages.rank_group import RankContext


@dataclass(frozen=True)
class CheckTask:
    """Labels of one search for each rank to take its own of."""

    recipe: Recipe
    threads: int
    source: int
    distance: Any
    predecessor: Any
    max_depth: int | None


def check_as_rank(gang: RankContext, task: CheckTask) -> list[Check]:
    """Check one search as one rank."""
    from gravel.kernels.exchange import Endpoint, drive
    from gravel.kernels.threads import set_threads
    from gravel.kernels.verify.ranks import check_program

    set_threads(task.threads)
    named, held, _ = find_rank(gang, task.recipe, None)
    checker = checker_of(held, named.size)
    own = [
        None if labels is None else checker.xp.asarray(labels[named.rank :: named.size].copy())
        for labels in (task.distance, task.predecessor)
    ]
    with wire_of(named, held.backend) as wire:
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
        yield source, run_gang(context, check_as_rank, task, graph.ranks)[0]


def recorded(record: dict[str, Any]) -> Check:
    """Read a check as a traversal keeps it."""
    from gravel.kernels.verify import Check

    arcs = tuple((int(u), int(v)) for u, v in record["arcs"])
    return Check(record["name"], record["rule"], record["faults"], tuple(record["vertices"]), arcs)
