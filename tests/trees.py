"""Trees of predecessors, of which any is right that lies one level up along an arc."""

from __future__ import annotations

from typing import Any

import numpy

from kernels.partition.assemble import assemble
from kernels.partition.layout import PartitionedGraph


def check_tree(whole: PartitionedGraph, source: int, distance: Any, predecessor: Any) -> None:
    """Assert that what was reached has predecessors one level up, along arcs, and nothing else has one."""
    offsets, columns = assemble(whole)
    n = whole.vertex_count
    arcs = numpy.repeat(numpy.arange(n), numpy.diff(offsets)) * n + columns.astype(numpy.int64)
    inner = numpy.flatnonzero(distance > 0)
    parents = numpy.asarray(predecessor)[inner].astype(numpy.int64)
    assert (numpy.delete(predecessor, inner) == -1).all()
    assert distance[source] == 0
    assert (parents >= 0).all()
    assert (distance[parents] == distance[inner] - 1).all()
    assert numpy.isin(parents * n + inner, arcs).all()
