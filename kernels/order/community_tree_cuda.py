"""Rounds of merging on the GPU, with the results of `gravel.kernels.order.community_tree`.

The kernels are `community_tree.cu`, the sorts and sums CuPy's. A round's sort is the height: 16 bytes for
each arc between clusters, beside the graph and, from the second round on, that of the clusters before it.
With `room` all that grows with the arcs takes no more than so many bytes of the device: columns are read from
pinned memory, and so are graphs of clusters that do not fit (`gravel.kernels.order.community_ranges_cuda`).
"""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.csr.cuda import sorted_rows
from gravel.kernels.cuda import blocks_for, load, vertex_macro
from gravel.kernels.index import index_dtype
from gravel.kernels.order.community_ranges_cuda import contracted as ranges
from gravel.kernels.order.community_ranges_cuda import on_host, range_bytes_per_arc
from gravel.kernels.order.community_tree import LEAST_MERGED, MOST_ROUNDS, salt

SOURCE = "kernels/order/community_tree.cu"
LONG_ROW = 1024  # arcs from which a block reads a row, not a warp
MOST_BLOCKS = 1 << 16
NOTHING = numpy.uint64(0)  # a null pointer


class _Launcher:
    """The kernels of one module, launched with a thread or a warp per item."""

    def __init__(self, dtype: Any, weight: Any = numpy.uint32, block: int = 256) -> None:
        macros = {"VERTEX": vertex_macro(numpy.dtype(dtype)), "WEIGHT": vertex_macro(numpy.dtype(weight))}
        self.module, self.weight, self.block = load(SOURCE, **macros), weight, block

    def __call__(self, name: str, items: int, *arguments: Any) -> None:
        grid = (blocks_for(items, self.block, most=MOST_BLOCKS),)
        self.module.get_function(name)(grid, (self.block,), arguments)

    def sums(self, values: Any, cluster: Any, clusters: int) -> Any:
        """Add up values by cluster, int64 (clusters,)."""
        return _summed(self, values, cluster, clusters)


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
    launch = _Launcher(columns.dtype, index_dtype(len(columns) + 1))
    offsets, weights = row_offsets, NOTHING
    volumes = cupy.diff(row_offsets)
    total = numpy.float64(len(column_indices))
    tree: list[Any] = []
    while vertices and len(tree) < MOST_ROUNDS:
        members = len(offsets) - 1
        parent = cupy.empty(members, columns.dtype)
        lengths = cupy.diff(offsets)
        long_rows = cupy.flatnonzero(lengths > long_row)
        launch(
            "choose",
            members * 32,
            *(
                offsets,
                columns,
                weights,
                volumes,
                total,
                numpy.uint64(salt(len(tree))),
                numpy.uint64(members),
            ),
            *(numpy.int64(long_row), long_rows, numpy.uint64(len(long_rows)), parent),
        )
        cluster, clusters = _merged(launch, parent)
        joined = int(cupy.count_nonzero(lengths))
        if (members - clusters) * LEAST_MERGED < joined or members == clusters:
            break
        tree.append(cluster)
        volumes = _summed(launch, volumes, cluster, clusters)
        # Named nowhere else, so that the graph goes when the next one is there.
        offsets, columns, weights = (
            _contracted(launch, offsets, columns, weights, cluster, clusters)
            if room is None or _fits(launch, columns, room)
            else ranges(launch, offsets, columns, weights, cluster, clusters, room)
        )
    return tree


def _columns(column_indices: Any, vertices: int, room: int | None) -> Any:
    """Bring columns to the type of so many vertices; those in host memory must have it."""
    dtype = numpy.dtype(index_dtype(vertices))
    if room is not None and column_indices.dtype != dtype:
        raise ValueError(f"columns in host memory are {column_indices.dtype}; {dtype} was expected")
    return column_indices.astype(dtype, copy=False)


def _fits(launch: _Launcher, columns: Any, room: int) -> bool:
    """Whether a graph and that of its clusters can be on the device together, with the sort between them."""
    item, weight = columns.dtype.itemsize, numpy.dtype(launch.weight).itemsize
    return len(columns) * range_bytes_per_arc(item, weight) <= room


def _merged(launch: _Launcher, parent: Any) -> tuple[Any, int]:
    import cupy

    members = len(parent)
    count = numpy.uint64(members)
    root, sums = cupy.empty_like(parent), cupy.empty_like(parent)
    smallest = cupy.full(members, numpy.uint64((1 << 64) - 1))
    launch("merge", members, parent, count, root, smallest)
    launch("mark_smallest", members, root, smallest, count, sums)
    cupy.cumsum(sums, out=sums)
    cluster = cupy.empty_like(parent)
    launch("name_clusters", members, root, smallest, sums, count, cluster)
    return cluster, int(sums[-1])


def _summed(launch: _Launcher, values: Any, cluster: Any, clusters: int) -> Any:
    import cupy

    sums = cupy.zeros(clusters, cupy.int64)
    launch("add_up", len(cluster), values, cluster, numpy.uint64(len(cluster)), sums)
    return sums


def _places(launch: _Launcher, offsets: Any, columns: Any, cluster: Any, within: int) -> Any:
    import cupy

    members = len(offsets) - 1
    places = cupy.zeros(members + 1, cupy.int64)
    launch(
        "count_arcs",
        members * 32,
        *(offsets, columns, cluster, cluster, numpy.uint64(members), numpy.uint32(within), places[1:]),
    )
    cupy.cumsum(places, out=places)
    return places


def _contracted(
    launch: _Launcher, offsets: Any, columns: Any, weights: Any, cluster: Any, clusters: int
) -> tuple[Any, Any, Any]:
    import cupy

    members = len(offsets) - 1
    bits = max(1, (clusters - 1).bit_length())
    places = _places(launch, offsets, columns, cluster, 0)
    keys = cupy.empty(int(places[-1]), cupy.uint64)
    launch(
        "cluster_keys",
        members * 32,
        *(
            offsets,
            columns,
            cluster,
            cluster,
            numpy.uint64(members),
            NOTHING,
            places,
            numpy.uint32(bits),
            keys,
        ),
    )
    del places
    rows = sorted_rows(keys, clusters, bits, columns.dtype, keep_duplicates=False)
    del keys
    new_weights = cupy.zeros(len(rows.column_indices), launch.weight)
    launch(
        "add_weights",
        members * 32,
        *(offsets, columns, weights, cluster, cluster, numpy.uint64(members), NOTHING),
        *(rows.row_offsets, rows.column_indices, new_weights),
    )
    return rows.row_offsets, rows.column_indices, new_weights


def number(tree: list[Any], row_offsets: Any) -> Any:
    """Number the vertices cluster by cluster; see `gravel.kernels.order.community_tree.number`."""
    import cupy

    vertices = len(row_offsets) - 1
    dtype = index_dtype(vertices)
    launch = _Launcher(dtype)
    sizes = [cupy.ones(vertices, cupy.int64)]
    arcs = cupy.diff(row_offsets)
    for cluster in tree:
        clusters = int(cluster.max()) + 1
        sizes.append(_summed(launch, sizes[-1], cluster, clusters))
        arcs = _summed(launch, arcs, cluster, clusters)
    order = cupy.argsort((arcs == 0).astype(cupy.uint8), kind="stable")
    start = cupy.empty(len(order), cupy.int64)
    start[order] = _before(sizes[-1][order])
    for cluster, size in zip(reversed(tree), reversed(sizes[:-1]), strict=True):
        # Where a member lies: its cluster's start, and the members before it in that cluster.
        order = cupy.argsort(cluster, kind="stable")
        of_cluster = start - _before(_summed(launch, size, cluster, len(start)))
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
    launch = _Launcher(columns.dtype)
    places = _places(launch, row_offsets, columns, cluster, 1)
    count = int(places[-1])
    far = room is not None and count * columns.dtype.itemsize > room
    kept = on_host(columns, count) if far else cupy.empty(count, columns.dtype)
    span = row_offsets, columns, cluster, cluster, numpy.uint64(members)
    launch("arcs_within", members * 32, *span, places, kept)
    return places, kept


def first_places(cluster: Any, places: Any) -> Any:
    """Find the smallest place of each vertex's cluster, uint64 (vertices,)."""
    import cupy

    start = cupy.full(len(cluster), numpy.uint64((1 << 64) - 1))
    launch = _Launcher(cluster.dtype)
    launch("first_places", len(cluster), cluster, places, numpy.uint64(len(cluster)), start)
    return start[cluster]
