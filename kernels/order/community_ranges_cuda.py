"""Graphs of clusters that do not fit the device: in pinned host memory, built a range of clusters at a time.

The kernels are `community_ranges.cu` and those of `community_tree.cu`. Members are grouped by cluster, so
that the rows of a range of clusters are copied to the device one after the other; there the arcs between
clusters are sorted and added up as for a graph that fits, and go back to the host. A cluster with more arcs
than there is room for is added up in one row of weights, an element for every cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.arrays import index_bits
from gravel.kernels.buffers import exact
from gravel.kernels.cuda import vertex_macro
from gravel.kernels.cuda.launch import Kernels
from gravel.kernels.order.buffers import range_of_clusters
from gravel.kernels.order.clusters_cuda import ClusterKernels
from gravel.kernels.placement.pinned import buffer, pin

SOURCE = "kernels/order/community_ranges.cu"


class RangesBuilder:
    """The graph of the clusters of one that may lie in host memory; see `contracted`."""

    def __init__(
        self, kernels: ClusterKernels, graph: tuple[Any, Any, Any], cluster: Any, clusters: int
    ) -> None:
        import cupy

        self._kernels = kernels
        self._graph, self._weighted = graph, graph[2] is not None
        self._cluster, self._clusters = cluster, clusters
        self._dtype, self._weight = graph[1].dtype, kernels.weight
        of_ranges = Kernels(SOURCE, VERTEX=vertex_macro(self._dtype), WEIGHT=vertex_macro(self._weight))
        self._run, self._block = of_ranges.run, of_ranges.block
        members = len(cluster)
        self._grouped = cupy.empty(members, cupy.uint64)
        self._run("group_keys", members, cluster, members, self._grouped)
        self._grouped.sort()

    def rows(self, begin: int, end: int, first: int, last: int) -> tuple[Any, Any, Any]:
        """Build the rows of clusters `first` to below `last`, of which grouped[begin:end] are the members."""
        import cupy

        count = end - begin
        own = cupy.empty(count, self._dtype)
        offsets = cupy.zeros(count + 1, cupy.int64)
        span = self._grouped, begin, count
        self._run("measure_rows", count, self._graph[0], *span, own, offsets[1:])
        cupy.cumsum(offsets, out=offsets)
        arcs = int(offsets[-1])
        columns = cupy.empty(max(1, arcs), self._dtype)
        graph = offsets, columns, cupy.empty(max(1, arcs), self._weight) if self._weighted else None
        self._run("copy_rows", 32 * count, *self._graph, *span, *graph)
        bits = index_bits(self._clusters)
        return self._kernels.rows(graph, own, self._cluster, last - first, bits=bits, first=first)

    def long_row(self, begin: int, end: int) -> tuple[Any, Any, Any]:
        """Build the row of the one cluster of which grouped[begin:end] are the members."""
        import cupy

        sums = cupy.zeros(self._clusters, self._weight)
        members = self._cluster, self._grouped, begin, end - begin
        self._run("add_rows", self._block * (end - begin), *self._graph, *members, sums)
        found = cupy.flatnonzero(sums)
        offsets = cupy.asarray(numpy.array([0, len(found)], numpy.int64))
        return offsets, found.astype(self._dtype), sums[found]


def contracted(
    kernels: ClusterKernels, graph: tuple[Any, Any, Any], cluster: Any, clusters: int, room: int
) -> tuple[Any, Any, Any]:
    """Build the graph of the clusters as `gravel.kernels.order.community_tree_cuda` does, within `room`
    bytes.

    Columns and weights of the graph may be views of pinned memory, and those of the result are where they
    take more than half of `room`. Raises `gravel.kernels.placement.pinned.PinnedRefused` where the system
    pins no memory.
    """
    import cupy

    offsets, columns, _ = graph
    sizes = kernels.sums(cupy.ones(len(cluster), cupy.int64), cluster, clusters).get()
    lengths = kernels.sums(offsets[1:] - offsets[:-1], cluster, clusters).get()
    builder = RangesBuilder(kernels, graph, cluster, clusters)
    resident = buffer(len(columns), columns.dtype), buffer(len(columns), kernels.weight)
    made = numpy.zeros(clusters + 1, numpy.int64)
    item, weight = columns.dtype.itemsize, resident[1].itemsize
    used = 0
    kinds = columns.dtype.str[1:], resident[1].dtype.str[1:]
    for first, last, begin, end, long in cut_ranges(sizes, lengths, room, *kinds):
        row_offsets, *arrays = builder.long_row(begin, end) if long else builder.rows(begin, end, first, last)
        made[first + 1 : last + 1] = cupy.asnumpy(row_offsets)[1:] + used
        upto = int(made[last])
        for out, found in zip(resident, arrays, strict=True):
            # The rest of the buffers stays untouched, and takes no memory.
            out[used:upto] = cupy.asnumpy(found)
        used = upto
        del row_offsets, arrays
    del builder
    there = [_placed(each[:used], near=used * (item + weight) * 2 <= room) for each in resident]
    return cupy.asarray(made), *there


def _placed(array: NDArray[Any], *, near: bool) -> Any:
    import cupy

    return cupy.asarray(array) if near or not len(array) else pin(array).view()


def on_host(array: Any, count: int) -> Any:
    """Give room for `count` elements like those of `array` in pinned memory, as a CuPy array."""
    return pin(buffer(count, array.dtype)).view()


def cut_ranges(
    sizes: NDArray[numpy.int64], lengths: NDArray[numpy.int64], room: int, vertex: str, weight: str
) -> Iterator[tuple[int, int, int, int, bool]]:
    """Cut clusters into ranges whose rows fit `room` bytes.

    Parameters
    ----------
    sizes, lengths : int64 (clusters,), members of each cluster and arcs of these.
    room : bytes of a range.
    vertex, weight : types of a column and of a weight.

    Yields (first cluster, one more than the last, first member, one more than the last, whether this is one
    cluster that takes more).

    """
    members, upto = numpy.zeros(len(sizes) + 1, numpy.int64), numpy.zeros(len(sizes) + 1, numpy.int64)
    numpy.cumsum(sizes, out=members[1:])
    arc, row = (exact(range_of_clusters(*one, vertex, weight)) for one in ((1, 0), (0, 1)))
    numpy.cumsum(lengths * arc + sizes * row, out=upto[1:])
    first = 0
    while first < len(sizes):
        fitting = int(numpy.searchsorted(upto, upto[first] + room, side="right")) - 1
        last = max(fitting, first + 1)
        yield first, last, int(members[first]), int(members[last]), fitting <= first
        first = last
