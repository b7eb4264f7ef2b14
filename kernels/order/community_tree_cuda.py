"""Rounds of merging on the GPU, with the results of `gravel.kernels.order.community_tree`.

A round's sort is the height: 16 bytes for
each arc between clusters, beside the graph and, from the second round on, that of the clusters before it.
With `room` all that grows with the arcs takes no more than so many bytes of the device: columns are read from
pinned memory, and so are graphs of clusters that do not fit (`gravel.kernels.order.community_ranges_cuda`).
"""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.arrays import index_bits, index_dtype
from gravel.kernels.buffers import exact, make
from gravel.kernels.order.buffers import merging, range_of_clusters
from gravel.kernels.order.clusters_cuda import ClusterKernels
from gravel.kernels.order.community_ranges_cuda import contracted as ranges
from gravel.kernels.order.community_ranges_cuda import on_host
from gravel.kernels.order.community_tree import LEAST_MERGED, MAX_ROUNDS, salt

LONG_ROW = 1024  # arcs from which a block reads a row, not a warp


def aggregate(
    row_offsets: Any, column_indices: Any, *, long_row: int = LONG_ROW, room: int | None = None
) -> list[Any]:
    """Merge the vertices of a symmetric graph; see `gravel.kernels.order.community_tree.aggregate`.

    `room` is the device memory, in bytes, that graphs of clusters may take while they are built; without it
    all that there is. Raises ValueError for 2^32 vertices or more, whose pairs do not fit a sort key, and
    with `room` for columns of another type than so many vertices have; `PinnedRefused` where the system pins
    no memory and `room` is not enough.
    """
    import cupy

    vertices = len(row_offsets) - 1
    if vertices >= 1 << 32:
        raise ValueError(f"communities on the GPU need fewer than 2^32 vertices; there are {vertices}")
    columns = _columns(column_indices, vertices, room)
    kernels = ClusterKernels(columns.dtype, index_dtype(len(columns) + 1))
    offsets, weights = row_offsets, None
    volumes = cupy.diff(row_offsets)
    total = numpy.float64(len(column_indices))
    tree: list[Any] = []
    while vertices and len(tree) < MAX_ROUNDS:
        members = len(offsets) - 1
        parent = cupy.empty(members, columns.dtype)
        lengths = cupy.diff(offsets)
        long_rows = cupy.flatnonzero(lengths > long_row)
        given = offsets, columns, weights, volumes, total, salt(len(tree)), members
        long = numpy.int64(long_row), long_rows, len(long_rows)
        kernels.run("choose", 32 * members, *given, *long, parent)
        cluster, clusters = _merged(kernels, parent)
        joined = int(cupy.count_nonzero(lengths))
        if (members - clusters) * LEAST_MERGED < joined or members == clusters:
            break
        tree.append(cluster)
        volumes = kernels.sums(volumes, cluster, clusters)
        # Named nowhere else, so that the graph goes when the next one is there.
        offsets, columns, weights = (
            kernels.rows((offsets, columns, weights), cluster, cluster, clusters, bits=index_bits(clusters))
            if room is None or _fits(kernels, columns, room)
            else ranges(kernels, (offsets, columns, weights), cluster, clusters, room)
        )
    return tree


def _columns(column_indices: Any, vertices: int, room: int | None) -> Any:
    """Bring columns to the type of so many vertices; those in host memory must have it."""
    dtype = numpy.dtype(index_dtype(vertices))
    if room is not None and column_indices.dtype != dtype:
        raise ValueError(f"columns in host memory are {column_indices.dtype}; {dtype} was expected")
    return column_indices.astype(dtype, copy=False)


def _fits(kernels: ClusterKernels, columns: Any, room: int) -> bool:
    """Whether a graph and that of its clusters can be on the device together, with the sort between them."""
    of_range = range_of_clusters(len(columns), 0, columns.dtype.str[1:], kernels.weight.str[1:])
    return exact(of_range) <= room


def _merged(kernels: ClusterKernels, parent: Any) -> tuple[Any, int]:
    import cupy

    members = len(parent)
    root, sums, smallest, cluster = make(merging(members, parent.dtype.str[1:]), cupy).values()
    kernels.run("merge", members, parent, members, root, smallest)
    kernels.run("mark_smallest", members, root, smallest, members, sums)
    cupy.cumsum(sums, out=sums)
    kernels.run("name_clusters", members, root, smallest, sums, members, cluster)
    return cluster, int(sums[-1])


def number(tree: list[Any], row_offsets: Any) -> Any:
    """Number the vertices cluster by cluster; see `gravel.kernels.order.community_tree.number`."""
    import cupy

    vertices = len(row_offsets) - 1
    dtype = index_dtype(vertices)
    kernels = ClusterKernels(dtype)
    sizes = [cupy.ones(vertices, cupy.int64)]
    arcs = cupy.diff(row_offsets)
    for cluster in tree:
        clusters = int(cluster.max()) + 1
        sizes.append(kernels.sums(sizes[-1], cluster, clusters))
        arcs = kernels.sums(arcs, cluster, clusters)
    order = cupy.argsort((arcs == 0).astype(cupy.uint8), kind="stable")
    start = cupy.empty(len(order), cupy.int64)
    start[order] = _before(sizes[-1][order])
    for cluster, size in zip(reversed(tree), reversed(sizes[:-1]), strict=True):
        # Where a member lies: its cluster's start, and the members before it in that cluster.
        order = cupy.argsort(cluster, kind="stable")
        of_cluster = start - _before(kernels.sums(size, cluster, len(start)))
        start = cupy.empty(len(order), cupy.int64)
        start[order] = _before(size[order]) + of_cluster[cluster[order]]
    return start.astype(dtype)


def _before(sizes: Any) -> Any:
    import cupy

    return cupy.cumsum(sizes) - sizes


def communities(tree: list[Any], row_offsets: Any, size: int) -> Any:
    """Give each vertex its cluster; see `gravel.kernels.order.community_tree.communities`."""
    import cupy

    vertices = len(row_offsets) - 1
    cluster = cupy.arange(vertices, dtype=index_dtype(vertices))
    lonely = int(cupy.count_nonzero(cupy.diff(row_offsets) == 0))
    for members in tree:
        if vertices - lonely > size * (int(members.max()) + 1 - lonely):
            break
        cluster = members[cluster]
    return cluster


def within(
    row_offsets: Any, column_indices: Any, cluster: Any, *, room: int | None = None
) -> tuple[Any, Any]:
    """Keep the arcs whose ends are in the same cluster, as sorted as they were.

    With `room` they are in pinned memory where they take more bytes than that.
    """
    import cupy

    members = len(row_offsets) - 1
    columns = _columns(column_indices, members, room)
    kernels = ClusterKernels(columns.dtype)
    places = kernels.arc_places(row_offsets, columns, cluster, cluster, within=True)
    count = int(places[-1])
    far = room is not None and count * columns.dtype.itemsize > room
    kept = on_host(columns, count) if far else cupy.empty(count, columns.dtype)
    kernels.run("arcs_within", 32 * members, row_offsets, columns, cluster, cluster, members, places, kept)
    return places, kept


def first_places(cluster: Any, places: Any) -> Any:
    """Find the smallest place of each vertex's cluster, uint64 (vertices,)."""
    import cupy

    start = cupy.full(len(cluster), numpy.uint64((1 << 64) - 1))
    ClusterKernels(cluster.dtype).run("first_places", len(cluster), cluster, places, len(cluster), start)
    return start[cluster]
