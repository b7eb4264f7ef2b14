"""A striped search as each rank goes through it (Merrill, Garland, Grimshaw 2012, section 6.1).

A level: 1. expand the own frontier; 2. filter what it reaches and sort it by owner; 3. a barrier, at which
all tell how much they have for whom, and end the search when nobody has anything; 4. contract the own bin
and those of the peers, which make the next frontier.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from gravel.kernels.bfs.asked import Asked
from gravel.kernels.exchange import Endpoint, Program, Stopwatch, Wire, drive, gather
from gravel.kernels.partition.layout import PartitionedGraph
from gravel.kernels.partition.search import LockStepSearch
from gravel.kernels.striped.layout import check_stripes
from gravel.kernels.striped.options import StripedOptions
from gravel.kernels.striped.rank import StripedRankSearch


@dataclass(frozen=True)
class LevelRecord:
    """One rank's part of a level. Times are wall-clock milliseconds; barrier and exchange are waiting."""

    frontier: int  # vertices of this rank
    arcs: int  # expanded
    duplicates: int  # dropped as local duplicates
    masked: int  # dropped by the bitmask
    sent: tuple[int, ...]  # vertices for each rank, for the own without being sent
    sent_bytes: int
    claimed: int  # vertices of this rank
    expand_milliseconds: float  # with filter and partition
    barrier_milliseconds: float
    exchange_milliseconds: float
    contract_milliseconds: float

    backward: tuple[str, ...] = ()
    """A striped search knows one direction."""


@dataclass(frozen=True)
class RankLabels:
    """What one rank knows at the end; vertex v of the graph is entry v // p of rank v mod p."""

    distance: NDArray[Any]  # int32, -1 unreached
    predecessor: NDArray[Any] | None  # int64, -1 none
    milliseconds: float
    levels: tuple[LevelRecord, ...] = field(default=())


def search_program(end: Endpoint, state: StripedRankSearch, source: int) -> Program[RankLabels]:
    """Search from one vertex as one rank; every rank runs this with its own state."""
    started = time.perf_counter()
    state.start(source)
    records = []
    level = 0
    while level < state.asked.depth:
        clock, own = Stopwatch(), state.frontier_size
        bins = state.expand()
        expand = clock.lap()
        gathered = yield from gather(end, (own, bins.kept))
        barrier = clock.lap()
        if not any(size for size, _ in gathered):
            break
        going_on = any(any(kept) for _, kept in gathered)
        contracting = exchange = 0.0
        claimed = sent_bytes = 0
        if going_on:
            parcels = {rank: bins.of(rank) for rank in end.others if bins.kept[rank]}
            sent_bytes = sum(ids.nbytes + tails.nbytes for ids, tails in parcels.values())
            ticket = end.post(parcels, [rank for rank in end.others if gathered[rank][1][end.rank]])
            exchange = clock.lap()
            state.receive(end.rank, *bins.of(end.rank))
            contracting = clock.lap()
            arrived = yield ticket
            exchange += clock.lap()
            for sender, (ids, tails) in arrived.items():
                state.receive(sender, ids, tails)
            claimed = state.commit()
            contracting += clock.lap()
        records.append(
            LevelRecord(
                frontier=own,
                arcs=bins.arcs,
                duplicates=bins.duplicates,
                masked=bins.masked,
                sent=bins.kept,
                sent_bytes=sent_bytes,
                claimed=claimed,
                expand_milliseconds=expand,
                barrier_milliseconds=barrier,
                exchange_milliseconds=exchange,
                contract_milliseconds=contracting,
            )
        )
        level += 1
        if not going_on:
            break
    predecessor = state.own_predecessors()
    milliseconds = (time.perf_counter() - started) * 1e3
    return RankLabels(state.distance.copy(), predecessor, milliseconds, tuple(records))


class StripedSearch(LockStepSearch):
    """A search over a striped graph.

    Results are in the numbering that was striped; predecessors are the smallest possible, as those of every
    search of a graph in one piece.
    """

    strategy = "striped"
    reason = "the graph is striped over ranks"

    def __init__(
        self, graph: PartitionedGraph, asked: Asked = Asked(), options: StripedOptions = StripedOptions()
    ) -> None:
        check_stripes(graph)
        facts = graph.vertex_count, graph.ranks
        super().__init__(
            graph, asked, lambda rank: StripedRankSearch(graph.parts[rank], *facts, asked, options)
        )

    def _program(self, end: Endpoint, source: int) -> Any:
        return search_program(end, self._ranks[end.rank], source)


def search_rank(wire: Wire, state: StripedRankSearch, source: int) -> RankLabels:
    """Search from one vertex as one rank of a rank group; every rank calls this with its own state."""
    return drive(search_program(Endpoint(wire), state, source), wire)
