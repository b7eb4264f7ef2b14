"""Rows of a graph of clusters, made on the GPU from the rows of the clusters' members.

The kernels are `community_tree.cu`, the sorts and sums CuPy's.
"""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.csr.cuda import sorted_rows
from gravel.kernels.cuda import vertex_macro
from gravel.kernels.cuda.launch import Kernels

SOURCE = "kernels/order/community_tree.cu"
MAX_BLOCKS = 1 << 16


class ClusterKernels(Kernels):
    """The kernels for clusters of a dtype, whose arcs have weights of another."""

    def __init__(self, dtype: Any, weight: Any = numpy.uint32) -> None:
        self.weight = numpy.dtype(weight)
        vertex = vertex_macro(numpy.dtype(dtype))
        super().__init__(SOURCE, most=MAX_BLOCKS, VERTEX=vertex, WEIGHT=vertex_macro(self.weight))

    def sums(self, values: Any, cluster: Any, clusters: int) -> Any:
        """Add up values by cluster, int64 (clusters,)."""
        import cupy

        sums = cupy.zeros(clusters, cupy.int64)
        self.run("add_up", len(cluster), values, cluster, len(cluster), sums)
        return sums

    def arc_places(self, offsets: Any, columns: Any, own: Any, cluster: Any, *, within: bool) -> Any:
        """Give the place of each member's first arc within its cluster, or between clusters, (members + 1,).

        `own` is the cluster of the member that has each row, `cluster` that of any vertex.
        """
        import cupy

        members = len(own)
        places = cupy.zeros(members + 1, cupy.int64)
        here = offsets, columns, own, cluster, members
        self.run("count_arcs", 32 * members, *here, numpy.uint32(within), places[1:])
        cupy.cumsum(places, out=places)
        return places

    def rows(
        self, graph: tuple[Any, Any, Any], own: Any, cluster: Any, clusters: int, *, bits: int, first: int = 0
    ) -> tuple[Any, Any, Any]:
        """Build the rows of some clusters from `first` on: offsets, columns, and the arcs' summed weights.

        `graph` has the rows of all of their members: offsets, columns, and weights or None. `bits` hold the
        number of any cluster.
        """
        import cupy

        offsets, columns, weights = graph
        members = len(own)
        places = self.arc_places(offsets, columns, own, cluster, within=False)
        keys = cupy.empty(int(places[-1]), cupy.uint64)
        here = offsets, columns, own, cluster, members, first
        self.run("cluster_keys", 32 * members, *here, places, numpy.uint32(bits), keys)
        del places
        made = sorted_rows(keys, clusters, bits, columns.dtype, keep_duplicates=False)
        del keys
        sums = cupy.zeros(len(made.column_indices), self.weight)
        arcs = offsets, columns, weights, own, cluster, members, first
        self.run("add_weights", 32 * members, *arcs, made.row_offsets, made.column_indices, sums)
        return made.row_offsets, made.column_indices, sums
