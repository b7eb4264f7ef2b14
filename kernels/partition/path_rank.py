"""One rank's state in a search by weights, and its local steps between two exchanges.

Delta-stepping as in `gravel.kernels.sssp.cpu.delta_stepping`: a frontier of near vertices and a pile of
farther ones, of own normal vertices and, the same on all ranks, of delegates.
`gravel.kernels.partition.paths` puts the steps in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.buffers import make
from gravel.kernels.partition import relaxation
from gravel.kernels.partition.buffers import paths_on_cpu
from gravel.kernels.partition.heads import Heads
from gravel.kernels.partition.layout import RankPart, find_delegate
from gravel.kernels.partition.relaxation import FAR, NEAR
from gravel.kernels.sssp.weights import Distances, without_minus_zeros

WIDTH = 4.0
"""Mean weights over the mean degree that a bucket is wide at least, as on one machine."""

FEW, WIDEST = 1 << 12, 64
"""Vertices of a rank in a bucket up to which the next one is twice as wide, at most so many times: what is
expanded again takes less than a round, in which ranks wait for each other."""


@dataclass(frozen=True)
class AgreedWeights(Distances):
    """What all ranks know of the weights of the whole graph."""

    vertices: int
    arcs: int
    is_float: bool
    words: numpy.dtype[Any]
    mean_weight: float


class Vertices:
    """Words of vertices with their frontier and pile: of own normal ones, or of all delegates."""

    def __init__(
        self, words: NDArray[Any], queues: NDArray[numpy.uint32], flags: NDArray[numpy.uint8], unreached: Any
    ) -> None:
        self.words, self._flags, self._unreached = words, flags, unreached
        self._near, self._other, self._far, self._kept = queues
        self._counts = numpy.zeros(2, numpy.int64)
        self.frontier = queues[0, :0]

    def clear(self) -> None:
        """Forget the last search."""
        self.words.fill(self._unreached)
        self._flags.fill(0)
        self._counts.fill(0)
        self.frontier = self._near[:0]

    def begin(self, source: int) -> None:
        """Put the source into the frontier."""
        self.words[source] = 0
        self._near[0] = source
        self.frontier = self._near[:1]

    @property
    def next(self) -> tuple[Any, ...]:
        """What loops take to put vertices into the next frontier or the pile."""
        return self.words, self._flags, self._other, self._far, self._counts

    def expand(self) -> None:
        """Let those that are expanded in this round come into the next frontier."""
        relaxation.leave_next(self.frontier, self._flags)

    def advance(self) -> None:
        """Make the next frontier that of the next round."""
        self._near, self._other = self._other, self._near
        self.frontier = self._near[: self._counts[NEAR]]
        self._counts[NEAR] = 0

    def nearest(self, bound: NDArray[Any], out: NDArray[Any]) -> None:
        """Lower out[0] to the smallest word of the pile."""
        relaxation.nearest(self.words, self._far, int(self._counts[FAR]), bound, out)

    def take_bucket(self, begin: NDArray[Any], bound: NDArray[Any]) -> None:
        """Make a frontier of those in the pile whose words are below the bound."""
        taken = begin, bound, self.words, self._flags, self._near, self._far, self._kept, self._counts
        relaxation.take_bucket(*taken)
        self._far, self._kept = self._kept, self._far
        self.frontier = self._near[: self._counts[NEAR]]
        self._counts[NEAR] = 0


class PathRank:
    """One rank's state: words of own vertices and of all delegates, and the smallest that were sent.

    Parameters
    ----------
    tree : whether predecessors are wanted.
    factor : how many mean weights a bucket is wide; by default `WIDTH` over the mean degree, and more while
        buckets have few vertices.

    """

    def __init__(
        self, whole: RankPart, agreed: AgreedWeights, *, tree: bool, factor: float | None = None
    ) -> None:
        self.part, self.delegates, self.ranks = whole.graph, whole.delegates, whole.ranks
        self.rank, self.agreed, self.local = whole.graph.rank, agreed, whole.local
        self.heads = Heads(self.part.nn.column_indices, self.ranks)
        self.tree_dtype = agreed.tree if tree else None
        count, word = len(self.delegates), agreed.words.str[1:]
        kept = paths_on_cpu(
            self.local, count, len(self.heads.ids), word, tree=agreed.tree.str[1:] if tree else ""
        )
        arrays = make(kept, numpy)
        self.unreached = agreed.words.type(agreed.unreached)
        self.normal = Vertices(arrays["words"], arrays["queues"], arrays["flags"], self.unreached)
        self.of_delegates = Vertices(
            arrays["delegate_words"], arrays["delegate_queues"], arrays["delegate_flags"], self.unreached
        )
        self.sent: NDArray[Any] = arrays["sent"]
        self.changed: NDArray[numpy.uint32] = arrays["changed"]
        self.head_flags: NDArray[numpy.uint8] = arrays["head_flags"]
        self.trees = arrays.get("tree"), arrays.get("delegate_tree"), arrays.get("tails")
        kind = numpy.float32 if agreed.is_float else numpy.uint32
        self.weights = {name: without_minus_zeros(of).view(kind) for name, of in self.part.weights.items()}
        self._least, self._widens = factor or WIDTH / agreed.mean_degree, factor is None
        self._wider, self._expanded = 1, 0
        self.begin, self.bound = (numpy.zeros(1, agreed.words) for _ in range(2))
        self.source_place: int | None = None
        self.source_local = -1

    def start(self, source: int) -> None:
        """Forget the last search and place the source, a vertex, wherever it lives."""
        self.normal.clear()
        self.of_delegates.clear()
        self.sent.fill(self.unreached)
        self.head_flags.fill(0)
        self.begin[0] = self.bound[0] = 0
        self._wider, self._expanded = 1, 0
        self._raise_bound()
        self.source_place = find_delegate(self.delegates, source)
        own = self.source_place is None and source % self.ranks == self.rank
        self.source_local = source // self.ranks if own else -1
        if self.source_place is not None:
            self.of_delegates.begin(self.source_place)
        elif own:
            self.normal.begin(self.source_local)

    @property
    def going(self) -> int:
        """Count the own vertices that are expanded in this round."""
        return len(self.normal.frontier)

    def relax_to_delegates(self) -> NDArray[Any]:
        """Find words of delegates along nd and dd; those that do not come nearer are unreached."""
        found = numpy.full(len(self.delegates), self.unreached)
        delegate_words = self.of_delegates.words
        for name, vertices in (("nd", self.normal), ("dd", self.of_delegates)):
            rows = *self.part.subgraph(name), self.weights[name]
            relaxation.to_delegates(vertices.frontier, vertices.words, *rows, delegate_words, found)
        return found

    def relax_to_normals(self) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
        """Relax dn and nn; returns ids and words for each rank, which have come nearer."""
        self.normal.expand()
        self.of_delegates.expand()
        of, own = self.of_delegates, self.normal
        dn = *self.part.dn, self.weights["dn"]
        relaxation.to_own(of.frontier, of.words, *dn, self.bound, *own.next)
        nn = self.part.nn.row_offsets, self.heads.compact_ids, self.weights["nn"]
        given = own.frontier, own.words, *nn, self.sent, self.head_flags, self.changed
        cuts = self.by_owner(relaxation.to_heads(*given))
        return [self.heads.ids[cut] for cut in cuts], [self.sent[cut] for cut in cuts]

    def by_owner(self, count: int) -> list[NDArray[Any]]:
        """Sort the changed heads, and cut them by the rank that owns them."""
        changed = self.changed[:count]
        changed.sort()
        ends = numpy.searchsorted(changed, self.heads.starts)
        return [changed[ends[rank] : ends[rank + 1]] for rank in range(self.ranks)]

    def receive(self, ids: NDArray[Any], words: NDArray[Any]) -> None:
        """Take in words that came for own vertices."""
        relaxation.arrive(ids, words, self.bound, *self.normal.next)

    def commit(self, found: NDArray[Any] | None, expanded: int) -> None:
        """End a round with the smallest words that all ranks found of delegates, if there are delegates.

        `expanded` counts the vertices that all ranks expanded.
        """
        self._expanded += expanded
        if found is not None:
            nearer = numpy.flatnonzero(found < self.of_delegates.words)
            relaxation.arrive(nearer, found[nearer], self.bound, *self.of_delegates.next)
        self.normal.advance()
        self.of_delegates.advance()

    def nearest(self) -> Any:
        """Give the smallest word of the pile of own vertices, of the words' type."""
        out = numpy.full(1, self.unreached)
        self.normal.nearest(self.bound, out)
        return out[0]

    def next_bucket(self, nearest: Sequence[Any]) -> bool:
        """Begin the bucket at the nearest vertex of any rank; returns whether there is one."""
        self.begin[0] = min(nearest)
        self.of_delegates.nearest(self.bound, self.begin)
        if self.begin[0] == self.unreached:
            return False
        self.bound[0] = self.begin[0]
        if self._widens:
            few = self._expanded < FEW * self.ranks
            self._wider = min(2 * self._wider, WIDEST) if few else max(1, self._wider // 2)
        self._expanded = 0
        self._raise_bound()
        self.normal.take_bucket(self.begin, self.bound)
        self.of_delegates.take_bucket(self.begin, self.bound)
        return True

    def _raise_bound(self) -> None:
        relaxation.raise_bound(self.bound, self.agreed.width(self._wider * self._least))

    def own_labels(self) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Give distance and predecessor of the own vertices, delegates included, as their types are."""
        own = self.delegates % self.ranks == self.rank
        places = self.delegates[own].astype(numpy.int64) // self.ranks
        words = self.normal.words.copy()
        words[places] = self.of_delegates.words[own]
        tree, delegate_tree, _ = self.trees
        if tree is None or delegate_tree is None:
            return self.agreed.distances(words), None
        found = tree.copy()
        found[places] = delegate_tree[own]
        return self.agreed.distances(words), self.agreed.predecessors(found)
