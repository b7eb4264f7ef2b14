"""A breadth-first search as each rank of a partition goes through it (Pan, Pearce, Owens 2018, figure 3).

In every level a rank visits the delegates' stream (nd, dd), begins the reduction of their mask, visits the
normal stream (dn, nn), exchanges what nn arcs reach, and ends the reduction; with a blocking reduction this
ends before the normal stream. The counts of what is new, gathered from all, tell whether there is a further
level.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.exchange import Endpoint, Groups, Program, Stopwatch, gather, swap
from gravel.kernels.partition.buffers import KEPT
from gravel.kernels.partition.culled import Gathered
from gravel.kernels.partition.masks import Reduction
from gravel.kernels.partition.rank_search import RankSearch
from gravel.kernels.partition.routes import Direct, LocalAllToAll


@dataclass(frozen=True)
class LevelRecord:
    """One rank's part of a level. Times are wall-clock milliseconds and include waiting for others."""

    normal: int  # frontier of this rank
    delegates: int  # frontier of all ranks
    backward: tuple[str, ...]  # of nd, dn and dd, and of nn where devices read each other's memory
    visit_milliseconds: float
    reduce_milliseconds: float
    exchange_milliseconds: float
    mask_bytes: int  # sent
    vertex_bytes: int  # sent
    local_exchange_milliseconds: float = 0.0  # of the exchange, that within the rank's group
    local_vertex_bytes: int = 0  # of those sent, within the group
    gathered: Gathered | None = None  # of nn, where that is counted

    @property
    def remote_exchange_milliseconds(self) -> float:
        """Of the exchange, that between groups; all of it where there are none."""
        return max(0.0, self.exchange_milliseconds - self.local_exchange_milliseconds)


@dataclass(frozen=True)
class RankLabels:
    """What one rank knows at the end; vertex v of the graph is entry v // p of rank v mod p."""

    distance: NDArray[Any]  # int32, -1 unreached
    predecessor: NDArray[Any] | None  # int64, or int32 where that is enough; -1 none
    milliseconds: float
    answer_bytes: int  # sent for predecessors
    levels: tuple[LevelRecord, ...] = field(default=())
    link_bytes: int | None = None  # read over the link to host memory


def search_program(end: Endpoint, state: RankSearch, source: int) -> Program[RankLabels]:
    """Search from one vertex as one rank; every rank runs this with its own state.

    Raises ValueError where the options' groups do not fit the number of ranks.
    """
    options, tree = state.options, state.query.tree
    groups = Groups.of(end.rank, end.size, options.groups) if options.groups else None
    route: Direct | LocalAllToAll
    if options.local_all_to_all and groups is not None:
        route = LocalAllToAll(end, state, groups, tree=tree)
    else:
        route = Direct(end, state, tree=tree, groups=groups)
    reduction = Reduction(
        end,
        algorithm=options.reduction_algorithm,
        groups=options.groups,
        changed_only=options.changed_only,
    )
    started = time.perf_counter()
    state.start(source)
    records = []
    normal, delegates = state.frontier_sizes
    visits = max((yield from gather(end, state.visits)))
    frontier, level = 1, 0
    while frontier and level < state.query.depth:
        backward = tuple(name for name, turned in state.backward.items() if turned)
        sent = reduction.sent_bytes, route.sent_bytes, route.local_bytes, route.local_milliseconds
        clock = Stopwatch()
        found = state.visit_delegates()
        visit = clock.lap()
        begun = reduction.begin(found)
        if options.reduction == "blocking":
            found = yield from reduction.end(found, begun)
        reduce = clock.lap()
        bins = state.visit_normals()
        visit += clock.lap()
        yield from route.deliver(bins)
        exchange = clock.lap()
        for further in range(1, visits):
            # Neither what the last visit found nor what was sent stays: a level may have most arcs.
            del bins
            bins = state.visit_nn(further)
            visit += clock.lap()
            yield from route.deliver(bins)
            if tree:
                yield from route.answer()
            exchange += clock.lap()
        del bins
        if options.reduction == "overlapped":
            found = yield from reduction.end(found, begun)
            reduce += clock.lap()
        was = normal, delegates
        normal, delegates = state.commit(found)
        visit += clock.lap()
        gathered = yield from gather(end, (normal, state.visits, route.kept))
        frontier = delegates + sum(found for found, _, _ in gathered)
        visits = max(each for _, each, _ in gathered)
        if tree and max(kept for _, _, kept in gathered) > KEPT:
            yield from route.answer()
        exchange += clock.lap()
        level += 1
        records.append(
            LevelRecord(
                *was,
                backward,
                visit,
                reduce,
                exchange,
                reduction.sent_bytes - sent[0],
                route.sent_bytes - sent[1],
                route.local_milliseconds - sent[3],
                route.local_bytes - sent[2],
                state.gathered,
            )
        )
    own = None
    if tree:
        yield from route.answer()
        slices = {rank: state.owned_predecessors(rank) for rank in end.others}
        own = state.owned_predecessors(end.rank)
        for smallest in (yield from swap(end, slices)).values():
            own = numpy.minimum(own, smallest)
    distance, predecessor = state.own_labels(own)
    return RankLabels(
        distance,
        predecessor,
        (time.perf_counter() - started) * 1e3,
        route.answer_bytes,
        tuple(records),
    )
