"""What the tests of CUDA kernels share: a graph on the device, and the smallest predecessors by NumPy."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy

from gravel.kernels.ids.distinct import distinct
from gravel.kernels.layouts import EncodedRows
from gravel.kernels.layouts.layout import body_name
from tests.zoo import ZooGraph, zoo

ZOO = [graph for graph in zoo() if graph.vertex_count]


def names(value: object) -> str | None:
    return value.name if isinstance(value, ZooGraph) else None


@cache
def rmat(scale: int, edge_factor: int = 12, seed: int = 3) -> ZooGraph:
    """A skewed graph with hubs, isolated vertices and several levels."""
    random = numpy.random.default_rng(seed)
    edges = edge_factor << scale
    source, target = numpy.zeros(edges, numpy.int64), numpy.zeros(edges, numpy.int64)
    for _ in range(scale):
        corner = random.choice(4, size=edges, p=[0.57, 0.19, 0.19, 0.05])
        source, target = source * 2 + corner // 2, target * 2 + corner % 2
    relabel = random.permutation(1 << scale)
    return ZooGraph(
        f"rmat_{scale}",
        1 << scale,
        relabel[source].astype(numpy.uint32),
        relabel[target].astype(numpy.uint32),
    )


def _long_path() -> ZooGraph:
    path = numpy.arange(300, dtype=numpy.uint32)
    hubs = numpy.repeat(path[4::9], 4)
    leaves = len(path) + numpy.arange(len(hubs), dtype=numpy.uint32)
    source, target = numpy.concatenate((path[:-1], hubs)), numpy.concatenate((path[1:], leaves))
    apart = numpy.arange(len(path) + len(leaves), dtype=numpy.uint32)
    apart = 2 * apart + (apart >> 1 & 1)
    return ZooGraph("long_path", 2 * len(apart), apart[source], apart[target])


LONG_PATH = _long_path()
"""300 vertices in a row, every ninth with four leaves: more levels than a byte tells, and delegates. Of two
vertices side by side one has no arcs."""

ENDS_OF_PATH = [0, 599]


def fast_csr(graph: ZooGraph, *, symmetric: bool, index: Any = numpy.uint32) -> tuple[Any, Any]:
    """`ZooGraph.csr` for graphs too large for sets."""
    source, target = graph.source.astype(numpy.int64), graph.target.astype(numpy.int64)
    if symmetric:
        source, target = numpy.concatenate([source, target]), numpy.concatenate([target, source])
    keys = distinct((source * graph.vertex_count + target)[source != target])
    rows = keys // graph.vertex_count
    offsets = numpy.zeros(graph.vertex_count + 1, numpy.int64)
    numpy.cumsum(numpy.bincount(rows, minlength=graph.vertex_count), out=offsets[1:])
    return offsets, (keys % graph.vertex_count).astype(index)


def smallest_predecessors(row_offsets: Any, column_indices: Any, distance: Any) -> Any:
    """Among the vertices one level up that have an arc to v the smallest, int64, -1 for none."""
    n = len(distance)
    tail = numpy.repeat(numpy.arange(n), numpy.diff(row_offsets))
    head = column_indices.astype(numpy.int64)
    joins = (distance[tail] >= 0) & (distance[head] == distance[tail] + 1)
    smallest = numpy.full(n, n, numpy.int64)
    numpy.minimum.at(smallest, head[joins], tail[joins])
    return numpy.where(smallest == n, -1, smallest)


def on_device(*arrays: Any) -> tuple[Any, ...]:
    import cupy

    return tuple(cupy.asarray(array) for array in arrays)


def pinned(rows: EncodedRows) -> EncodedRows:
    """Bring rows from the host to the device, what grows with the arcs to pinned memory."""
    import cupy

    from gravel.kernels.placement.pinned import buffer, pin

    body = body_name(rows)
    held = buffer(len(rows.arrays[body]), rows.arrays[body].dtype)
    held[:] = rows.arrays[body]
    arrays = {name: cupy.asarray(array) for name, array in rows.arrays.items() if name != body}
    return replace(rows, arrays={**arrays, body: pin(held).view()})


def dense_layers(layers: int, width: int) -> ZooGraph:
    """Each vertex has arcs to the whole next layer, so that every one is found by many at once."""
    tail, head = numpy.divmod(numpy.arange(width * width), width)
    source = numpy.concatenate([tail + layer * width for layer in range(layers - 1)])
    target = numpy.concatenate([head + (layer + 1) * width for layer in range(layers - 1)])
    return ZooGraph("dense_layers", layers * width, source.astype("u4"), target.astype("u4"))


STAGED = {
    "tree": {"reduction_algorithm": "tree"},
    "recursive doubling": {"reduction_algorithm": "recursive_doubling"},
    "two phases": {"groups": 2},
    "two phases, tree": {"groups": 2, "reduction_algorithm": "tree"},
    "L": {"groups": 2, "local_all_to_all": True},
    "LU": {"groups": 2, "local_all_to_all": True, "uniquify": True},
    "all the paper's": {
        "groups": 2,
        "local_all_to_all": True,
        "uniquify": True,
        "reduction_algorithm": "recursive_doubling",
        "nn_directed": False,
    },
}
"""Options of searches over ranks that combine masks and vertices in stages, by what they are called."""


def path(vertices: int) -> tuple[Any, Any]:
    """Make a path along ascending vertices; from one end it has as many levels as vertices."""
    degrees = numpy.full(vertices, 2, numpy.int64)
    degrees[[0, -1]] = 1
    offsets = numpy.concatenate([[0], numpy.cumsum(degrees)])
    inner = numpy.stack([numpy.arange(vertices) - 1, numpy.arange(vertices) + 1], axis=1).ravel()
    return offsets, inner[1:-1].astype(numpy.uint32)


def peak_of(work: Any) -> int:
    """Bytes that work takes of the device at once, in a pool of its own."""
    import cupy

    pool, peak = cupy.cuda.MemoryPool(), 0

    def allocate(size: int) -> Any:
        nonlocal peak
        memory = pool.malloc(size)
        peak = max(peak, pool.used_bytes())
        return memory

    with cupy.cuda.using_allocator(allocate):
        work()
    return peak
