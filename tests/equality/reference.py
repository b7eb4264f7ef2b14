"""A graph as other libraries take it: arcs without self-loops and duplicates, made without gravel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import networkx
import numpy
from scipy.sparse import csr_array

MERGES = {"minimum": numpy.minimum, "sum": numpy.add}


@dataclass(frozen=True)
class Reference:
    """Ascending ids, and arcs between positions in that list; undirected edges are there both ways.

    `weights` is float64 (arcs,); all are 1 where the graph has none.
    """

    ids: numpy.ndarray
    tails: numpy.ndarray
    heads: numpy.ndarray
    weights: numpy.ndarray
    directed: bool

    @property
    def count(self) -> int:
        return len(self.ids)

    def reversed(self) -> Reference:
        return reference(self.ids, self.heads, self.tails, self.weights, directed=True)

    def undirected(self) -> Reference:
        """Return the graph whose arcs lead both ways; the lighter of two counts."""
        return reference(self.ids, self.tails, self.heads, self.weights, directed=False)

    def turned(self, direction: str) -> Reference:
        if not self.directed or direction == "out":
            return self
        return self.reversed() if direction == "in" else self.undirected()

    @cached_property
    def matrix(self) -> csr_array:
        """The weights as SciPy takes them; weights of zero are arcs, too."""
        offsets = numpy.searchsorted(self.tails, numpy.arange(self.count + 1)).astype(numpy.int32)
        return csr_array((self.weights, self.heads.astype(numpy.int32), offsets), (self.count,) * 2)

    @cached_property
    def igraph(self) -> Any:
        """The graph of igraph, each undirected edge once."""
        import igraph

        return igraph.Graph(n=self.count, edges=numpy.stack(self.ends, axis=1), directed=self.directed)

    @cached_property
    def networkx(self) -> Any:
        """The graph of NetworkX, whose nodes are the positions."""
        made = (networkx.DiGraph if self.directed else networkx.Graph)()
        made.add_nodes_from(range(self.count))
        tails, heads = self.ends
        kept = self.weights if self.directed else self.weights[self.tails < self.heads]
        made.add_weighted_edges_from(zip(tails.tolist(), heads.tolist(), kept.tolist(), strict=True))
        return made

    @property
    def ends(self) -> tuple[numpy.ndarray, numpy.ndarray]:
        """The ends of each edge, of an undirected one in ascending order."""
        if self.directed:
            return self.tails, self.heads
        once = self.tails < self.heads
        return self.tails[once], self.heads[once]


def reference(
    ids: numpy.ndarray,
    source: numpy.ndarray,
    target: numpy.ndarray,
    weights: numpy.ndarray | None = None,
    *,
    directed: bool,
    merge: str = "minimum",
) -> Reference:
    """Make a graph of edges between positions in `ids`; duplicates have the least weight or their sum."""
    tails, heads = source.astype(numpy.int64), target.astype(numpy.int64)
    lengths = numpy.ones(len(tails)) if weights is None else weights.astype(numpy.float64)
    if not directed:
        # Sorted ends make both directions of an edge duplicates of each other.
        tails, heads = numpy.minimum(tails, heads), numpy.maximum(tails, heads)
    keys = tails * len(ids) + heads
    order = numpy.argsort(keys[tails != heads], kind="stable")
    keys, lengths = keys[tails != heads][order], lengths[tails != heads][order]
    firsts = numpy.flatnonzero(numpy.diff(keys, prepend=-1))
    if weights is not None and len(firsts):
        lengths = MERGES[merge].reduceat(lengths, firsts)
    else:
        lengths = numpy.ones(len(firsts))
    tails, heads = numpy.divmod(keys[firsts], max(1, len(ids)))
    if not directed:
        tails, heads = numpy.concatenate([tails, heads]), numpy.concatenate([heads, tails])
        order = numpy.lexsort((heads, tails))
        tails, heads, lengths = tails[order], heads[order], numpy.tile(lengths, 2)[order]
    return Reference(numpy.asarray(ids), tails, heads, lengths, directed)
