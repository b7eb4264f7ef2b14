"""Trees of predecessors, of which any is right that lies one level up along an arc."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.partition.chunks import assemble
from gravel.kernels.partition.layout import PartitionedGraph


class Arcs:
    """All arcs of a partitioned graph, looked up by its identity."""

    def __init__(self, whole: PartitionedGraph) -> None:
        self.whole = whole

    def __hash__(self) -> int:
        return id(self.whole)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Arcs) and self.whole is other.whole

    @lru_cache(maxsize=1)  # noqa: B019, one graph is all that it keeps
    def named(self) -> NDArray[numpy.int64]:
        """Give a number of each arc, ascending."""
        offsets, columns = assemble(self.whole)
        tails = numpy.repeat(numpy.arange(self.whole.vertex_count), numpy.diff(offsets))
        return numpy.sort(tails * self.whole.vertex_count + columns.astype(numpy.int64))


def check_tree(whole: PartitionedGraph, source: int, distance: Any, predecessor: Any) -> None:
    """Assert that what was reached has predecessors one level up, along arcs, and nothing else has one."""
    arcs, predecessor = Arcs(whole).named(), numpy.asarray(predecessor)
    inner = numpy.flatnonzero(distance > 0)
    parents = predecessor[inner].astype(numpy.int64)
    assert (numpy.delete(predecessor, inner) == -1).all()
    assert distance[source] == 0
    assert (parents >= 0).all()
    assert (distance[parents] == distance[inner] - 1).all()
    wanted = parents * whole.vertex_count + inner
    assert (
        not len(wanted)
        or (arcs[numpy.minimum(numpy.searchsorted(arcs, wanted), len(arcs) - 1)] == wanted).all()
    )
