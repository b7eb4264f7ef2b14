"""One rank's state in a search, and its local steps between two exchanges (Pan, Pearce, Owens 2018).

A level is a visit of each of the four subgraphs, an exchange, and `commit`, which takes in what the others
found and counts the work ahead. `gravel.kernels.partition.program` puts them in order.

A normal vertex takes the smallest delegate that can be its predecessor, and only where there is none the
smallest normal vertex; so the tree depends on graph and threshold alone, not on ranks, options or timing.
GPUs that read each other's memory find the same with `predecessors: smallest`, and otherwise take any.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.bfs.query import Query
from gravel.kernels.buffers import make
from gravel.kernels.partition.buffers import VISITED, bins, search_on_cpu
from gravel.kernels.partition.culled import Culling, Gathered
from gravel.kernels.partition.directions import Ends, is_backward
from gravel.kernels.partition.layout import RankPart, find_delegate
from gravel.kernels.partition.options import OPTIMIZED, SearchOptions
from gravel.kernels.partition.visits import (
    NOBODY,
    arrive,
    bin_nn,
    chosen_predecessors,
    count_nn,
    cuts,
    delegates_backward,
    delegates_forward,
    keep_smallest,
    normals_backward,
    normals_forward,
    row_work,
)

__all__ = ["NOBODY", "Bins", "RankSearch"]

_NO_NAMES = numpy.empty(0, numpy.uint32)


class Bins:
    """What nn arcs of a level reach, by rank: `ids(r)` are uint32 there, `tails(r)` uint32 here."""

    def __init__(self, starts: NDArray[Any], ids: NDArray[Any], tails: NDArray[Any]) -> None:
        self._starts, self._ids, self._tails = starts, ids, tails

    def of(self, rank: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Give ids and tails for one rank."""
        mine = slice(self._starts[rank], self._starts[rank + 1])
        return self._ids[mine], self._tails[mine]


class RankSearch:
    """One rank's state: labels of its own vertices, `delegate_*` of all delegates.

    `distance` is int32; `predecessor` int64, the smallest delegate; `nn_predecessor` int64, the smallest
    normal vertex. `backward` says in which direction each of nd, dn and dd is visited next.
    """

    def __init__(
        self,
        whole: RankPart,
        query: Query = Query(),
        options: SearchOptions = SearchOptions(),
    ) -> None:
        self.part, self.delegates, self.ranks = whole.graph, whole.delegates, whole.ranks
        part, delegates, local = whole.graph, whole.delegates, whole.local
        self.rank = part.rank
        self.query, self.options = query, options
        self.optimized = query.symmetric and options.direction_optimized
        arrays = make(search_on_cpu(local, len(delegates)), numpy)
        self.distance, self.delegate_distance = arrays["distance"], arrays["delegate_distance"]
        self.predecessor, self.nn_predecessor = arrays["predecessor"], arrays["nn_predecessor"]
        self.delegate_predecessor = arrays["delegate_predecessor"]
        self._seen: NDArray[Any] = arrays["seen"]
        self._newly = arrays["newly"]
        self.level = self._marked = 0
        self._filled = {
            "nd": len(part.nd_source_list),
            "dn": int(numpy.bitwise_count(part.dn_source_mask).sum()),
            "dd": int(numpy.bitwise_count(part.dd_source_mask).sum()),
        }
        self.backward = dict.fromkeys(OPTIMIZED, False)
        self._ends: dict[str, Ends] = {}
        self.gathered: Gathered | None = None
        self._culling = (
            Culling(whole, masked=options.uniquify, local_duplicates=options.local_duplicates)
            if options.culls
            else None
        )
        self._frontier = self._delegate_frontier = _NO_NAMES
        self._cuts = [0]
        self._narrow = whole.vertex_count <= numpy.iinfo(numpy.int32).max

    def start(self, source: int) -> None:
        """Forget the last search and place the source, a vertex, wherever it lives."""
        self.distance.fill(-1)
        self.predecessor.fill(NOBODY)
        self.nn_predecessor.fill(NOBODY)
        self.delegate_distance.fill(-1)
        self.delegate_predecessor.fill(NOBODY)
        self._seen.fill(0)
        if self._culling is not None:
            self._culling.start()
        self.level = 0
        self.backward = dict.fromkeys(OPTIMIZED, False)
        self._ends = {name: Ends(filled) for name, filled in self._filled.items()}
        self._frontier = self._delegate_frontier = _NO_NAMES
        place = find_delegate(self.delegates, source)
        if place is not None:
            self._delegate_frontier = numpy.array([place], numpy.uint32)
            self.delegate_distance[place] = 0
            self._seen[place >> 6] = numpy.uint64(1) << numpy.uint64(place & 63)
        elif source % self.ranks == self.rank:
            self._frontier = numpy.array([source // self.ranks], numpy.uint32)
            self.distance[source // self.ranks] = 0
        self._count_work()

    def _count_work(self) -> None:
        """Count the work ahead and choose each visit's direction (section IV-B)."""
        part, ends = self.part, self._ends
        if self._culling is None:
            self._cuts = cuts(self._frontier, part.nn.row_offsets, VISITED)
        else:
            self._cuts = [0, len(self._frontier)]
        ends["nd"].advance(*row_work(self._frontier, part.nd.row_offsets))
        for name in ("dn", "dd"):
            ends[name].advance(*row_work(self._delegate_frontier, part.subgraph(name).row_offsets))
        self._marked = 0
        if not self.optimized:
            return
        # Destinations of nd are rows of dn, and the reverse.
        unvisited = {"nd": ends["dn"].unvisited, "dn": ends["nd"].unvisited, "dd": ends["dd"].unvisited}
        for name in OPTIMIZED:
            self.backward[name] = is_backward(
                self.backward[name],
                ends[name],
                unvisited[name],
                to_backward=self.options.backward(name),
                to_forward=self.options.forward(name),
            )

    def visit_delegates(self) -> NDArray[Any]:
        """Find delegates along nd and dd; returns their mask, uint64 words."""
        part, found = self.part, numpy.zeros_like(self._seen)
        if self._ends["nd"].new:
            here = (self.ranks, self.rank)
            if self.backward["nd"]:
                pull = (self._seen, self.distance, self.level, found, self.delegate_predecessor)
                delegates_backward(part.dn_source_mask, _NO_NAMES, *here, *part.dn, *pull)
            else:
                reached = (self._seen, found, self.delegate_predecessor)
                delegates_forward(self._frontier, _NO_NAMES, *here, *part.nd, *reached)
        if self._ends["dd"].new:
            if self.backward["dd"]:
                pull = (self._seen, self.delegate_distance, self.level, found, self.delegate_predecessor)
                delegates_backward(part.dd_source_mask, self.delegates, 0, 0, *part.dd, *pull)
            else:
                reached = (self._seen, found, self.delegate_predecessor)
                delegates_forward(self._delegate_frontier, self.delegates, 0, 0, *part.dd, *reached)
        return found

    def visit_normals(self) -> Bins:
        """Find local vertices along dn, and sort by rank what nn arcs reach in the first visit."""
        part = self.part
        if self._ends["dn"].new:
            labels = (self.distance, self.predecessor, self._newly, self._marked)
            if self.backward["dn"]:
                pull = (part.nd_source_list, self.delegates, *part.nd, self.level, self.delegate_distance)
                self._marked = normals_backward(*pull, *labels)
            else:
                expand = (self._delegate_frontier, self.delegates, *part.dn, self.level)
                self._marked = normals_forward(*expand, *labels)
        return self.visit_nn(0)

    @property
    def visits(self) -> int:
        """Count the visits of nn that the frontier takes, each of about `VISITED` arcs at most."""
        return len(self._cuts) - 1

    def visit_nn(self, visit: int) -> Bins:
        """Sort what nn arcs reach by rank; in a visit beyond the last there is nothing."""
        part, cut = self.part, self._cuts[visit : visit + 2]
        frontier = self._frontier[cut[0] : cut[1]] if len(cut) == 2 else self._frontier[:0]
        if self._culling is not None:
            arcs = row_work(frontier, part.nn.row_offsets)[1]
            starts, ids, tails, self.gathered = self._culling.bins(frontier, part.nn, arcs, self.distance)
            return Bins(starts, ids, tails)
        counts = numpy.zeros(self.ranks, numpy.int64)
        count_nn(frontier, self.ranks, *part.nn, counts)
        starts = numpy.zeros(self.ranks + 1, numpy.int64)
        numpy.cumsum(counts, out=starts[1:])
        ids, tails = make(bins(int(starts[-1])), numpy).values()
        bin_nn(frontier, self.ranks, *part.nn, starts[:-1].copy(), ids, tails)
        return Bins(starts, ids, tails)

    def receive(self, ids: NDArray[Any]) -> None:
        """Take in normal vertices that other ranks, or own nn arcs, reached."""
        self._marked = arrive(ids, self.level, self.distance, self._newly, self._marked)

    def candidates(
        self, ids: NDArray[Any], tails: NDArray[Any], *, level: int, scale: int = 1, shift: int = 0
    ) -> None:
        """Keep the smallest of the normal vertices tails * scale + shift as predecessors of a level's ids."""
        keep_smallest(ids, tails, scale, shift, level, self.distance, self.nn_predecessor)

    def wanted(self, ids: NDArray[Any], level: int) -> NDArray[numpy.bool_]:
        """Tell which ids were found on this level and have no delegate for a predecessor."""
        answer: NDArray[numpy.bool_] = self.distance[ids] == level + 1
        answer &= self.predecessor[ids] == NOBODY
        return answer

    def commit(self, delegates: NDArray[Any]) -> tuple[int, int]:
        """End a level with the OR of all ranks' masks; returns what `frontier_sizes` does."""
        self.level += 1
        self._frontier = self._newly[: self._marked].copy()
        if self._culling is not None:
            self._frontier.sort()
        bits = numpy.unpackbits(delegates.view(numpy.uint8), bitorder="little")
        self._delegate_frontier = numpy.flatnonzero(bits).astype(numpy.uint32)
        self.delegate_distance[self._delegate_frontier] = self.level
        self._seen |= delegates
        self._count_work()
        return self.frontier_sizes

    @property
    def frontier_sizes(self) -> tuple[int, int]:
        """Count this rank's normal vertices and all delegates of the frontier."""
        return len(self._frontier), len(self._delegate_frontier)

    def owned_predecessors(self, rank: int) -> NDArray[Any]:
        """Give the smallest predecessors found here, int64, of the delegates that a rank owns, ascending."""
        owned: NDArray[Any] = self.delegate_predecessor[self.delegates % self.ranks == rank]
        return owned

    def own_labels(
        self, delegate_predecessor: NDArray[Any] | None
    ) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Give distance (int32) and predecessor (-1 for none) of the own vertices, delegates included.

        `delegate_predecessor` has those of the delegates that this rank owns, `NOBODY` for none; without it
        there are no predecessors. They are int32 where vertices fit, else int64.
        """
        own = self.delegates % self.ranks == self.rank
        places = self.delegates[own].astype(numpy.int64) // self.ranks
        distance = self.distance.copy()
        distance[places] = self.delegate_distance[own]
        if delegate_predecessor is None:
            return distance, None
        predecessor = numpy.empty(len(distance), numpy.int32 if self._narrow else numpy.int64)
        chosen_predecessors(self.predecessor, self.nn_predecessor, predecessor)
        delegate_predecessor[delegate_predecessor == NOBODY] = -1
        predecessor[places] = delegate_predecessor
        return distance, predecessor
