"""PageRank of a partition by its ranks, each on a worker of its own or all in this process."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gravel.kernels.buffers import Buffer, Table, table, total, vertex_type
from gravel.kernels.partition.buffers import heads_on_cpu, iteration_on_cpu, scores_on_cpu, sorting_heads
from gravel.stages.measuring.spreading import demanded
from gravel.stages.ranks.rank import Residents
from gravel.stages.traversal.rank_memory import COMPILED_RANKS, DELEGATE_SHARE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.kernels.pagerank import PageRank
    from gravel.kernels.partition.pagerank import ScoresRank, Surfer
    from gravel.stages.artifacts import Partition
    from gravel.stages.context import Context
    from gravel.stages.measuring.parameters import CentralityParameters
    from gravel.stages.rank_group import RankContext
    from gravel.stages.stage import Extent, Machine, Need

RESIDENT: Residents[ScoresRank] = Residents()
"""Ranks in this process's memory."""


@dataclass(frozen=True)
class ScoresTask:
    """Task of one rank: its part of the partition, and the iteration up to which it goes on; 0 lets it go."""

    token: str
    rank: int
    ranks: int
    vertex_count: int
    delegates: Any
    arrays: Mapping[str, Any]
    threads: int
    surfer: Surfer
    until: int


def scores_of(
    context: Context,
    stored: Partition,
    *,
    damping: float,
    tolerance: float,
    max_iterations: int,
    chosen: NDArray[Any] | None,
) -> PageRank:
    """Find the ranks of all vertices, in the numbering that was partitioned.

    `chosen` are vertices to jump to, ascending, in that numbering; None for all.

    Raises `gravel.kernels.pagerank.NotConverged`.
    """
    import time

    from gravel.kernels.pagerank import UNINTERRUPTED, NotConverged, PageRank
    from gravel.kernels.partition.pagerank import Surfer, joined

    ranks, bound = stored.ranks, stored.vertex_count * tolerance
    token = uuid.uuid4().hex
    tasks = [
        ScoresTask(
            token,
            rank,
            ranks,
            stored.vertex_count,
            stored.delegates,
            {name: array for name, array in stored.arrays.items() if name.startswith(f"rank{rank}/")},
            max(1, context.machine.threads // ranks),
            Surfer(damping, bound, chosen),
            0,
        )
        for rank in range(ranks)
    ]
    at_once = max(1, ranks * UNINTERRUPTED // max(1, stored.vertex_count + stored.arc_count))
    started, done, residual = time.perf_counter(), 0, float("inf")
    try:
        while done < max_iterations and not residual < bound:
            until = min(done + at_once, max_iterations)
            done, residual = context.rank_group(
                iterate_as_rank, [replace(task, until=until) for task in tasks]
            )[0]
            context.progress(done, max_iterations, "iterations")
        if not residual < bound:
            raise NotConverged(done, residual, bound)
    finally:
        found = context.rank_group(leave_as_rank, tasks)
    milliseconds = (time.perf_counter() - started) * 1e3
    return PageRank(joined(found), done, residual, milliseconds)


def iterate_as_rank(rank_group: RankContext, task: ScoresTask) -> tuple[int, float]:
    """Go on as one rank of a group; returns the iterations that are done, and the last residual."""
    import numpy

    from gravel.kernels.partition.layout import RankPart, rank_from_arrays
    from gravel.kernels.partition.pagerank import ScoresRank, scores_of_rank
    from gravel.kernels.threads import set_threads

    def read() -> ScoresRank:
        graph = rank_from_arrays(task.arrays, task.rank)
        part = RankPart(graph, numpy.asarray(task.delegates), task.vertex_count, task.ranks)
        return ScoresRank(part, task.surfer)

    set_threads(task.threads)
    state = RESIDENT.find(task.token, task.rank, read)
    scores_of_rank(rank_group, state, task.until)
    return state.done, state.residual


def leave_as_rank(rank_group: RankContext, task: ScoresTask) -> Any:
    """Give the scores of the rank's vertices, and let the rank go."""
    state = RESIDENT.drop(task.token, task.rank)
    return () if state is None else state.all_scores()


def why_not_over_ranks(parameters: CentralityParameters, graph: Extent, machine: Machine) -> str | None:
    """Say why the ranks of a graph find no PageRank; None where they can."""
    if graph.kind != "Partition" or graph.ranks < 2 or graph.striped:
        return "the graph is no partition by degree over several ranks"
    if machine.backend != "cpu":
        return "ranks on GPUs find none; take `backend: cpu`"
    if graph.directed and parameters.direction != "out":
        return f"a partition has arcs in one direction, and `direction` is {parameters.direction}"
    return None


def need_of_ranks(parameters: CentralityParameters, graph: Extent, machine: Machine, need: Need) -> Need:
    """State what ranks on workers take, where workers are asked for or the graph does not fit in one place.

    `need` is that of the graph put together. Workers that are of no use are noted.
    """
    asked = demanded(parameters)
    why = why_not_over_ranks(parameters, graph, machine)
    unused = why or f"the partition has {graph.ranks} ranks, each for a worker"
    if asked and (why is not None or asked != graph.ranks):
        # A result with these parameters may be in a cache, which asks for no workers.
        need, asked = replace(need, note=f"PageRank has no use for {asked} workers: {unused}"), 0
    if why is not None or (not asked and need.host_bytes <= machine.host_memory):
        return need
    each = total(_rank(graph, chosen=parameters.personalization != "all"), "host")
    joined = 2 * 8 * graph.vertices
    together = COMPILED_RANKS + graph.ranks * (each - COMPILED_RANKS) + joined
    return replace(
        need,
        host_bytes=each + joined if asked else together,
        workers=graph.ranks,
        each_host_bytes=each,
    )


def _rank(graph: Extent, *, chosen: bool) -> Table:
    """What a rank takes; at most all of its arcs are between normal vertices, each with a head of its own."""
    p, n = graph.ranks, graph.vertices
    own, delegates = -(-n // p), int(DELEGATE_SHARE * n)
    arcs = -(-(graph.arcs if graph.normal_arcs is None else graph.normal_arcs) // p)
    heads = min(arcs, n)
    return (
        Buffer("compiled", "u1", COMPILED_RANKS, place="host"),
        *scores_on_cpu(own, delegates, heads),
        *heads_on_cpu(arcs, heads),
        *table("host", "ended", all_scores=("f8", own)),
        *sorting_heads(arcs, vertex_type(n)),
        *iteration_on_cpu(own, delegates, heads, chosen=chosen),
    )
