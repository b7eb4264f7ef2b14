"""Small graphs in every stored form, and a traversal of one."""

import numpy
import pytest

from gravel.kernels.layouts import encode
from gravel.kernels.partition import partition
from gravel.kernels.partition.layout import to_arrays
from gravel.stages.artifacts import CompressedGraph, Graph, Ordering, Partition
from gravel.stages.context import PlainContext
from gravel.stages.stage import Machine
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traverse import traverse
from tests.zoo import ZooGraph, zoo

GRAPHS = {graph.name: graph for graph in zoo()}


def plain(graph: ZooGraph, *, symmetric=True) -> Graph:
    offsets, columns = graph.csr(symmetric=symmetric)
    return as_graph(offsets, columns, symmetric=symmetric)


def as_graph(offsets, columns, *, symmetric=True, **more) -> Graph:
    return Graph(
        row_offsets=offsets,
        column_indices=columns,
        vertex_count=len(offsets) - 1,
        arc_count=len(columns),
        symmetric=symmetric,
        deduplicated=True,
        **more,
    )


def renumbered(graph: Graph, seed=3) -> Ordering:
    n = graph.vertex_count
    permutation = numpy.random.default_rng(seed).permutation(n).astype(numpy.uint32)
    tail = permutation[numpy.repeat(numpy.arange(n), numpy.diff(graph.row_offsets))]
    head = permutation[graph.column_indices]
    order = numpy.lexsort((head, tail))
    offsets = numpy.zeros(n + 1, numpy.int64)
    offsets[1:] = numpy.cumsum(numpy.bincount(tail, minlength=n))
    return Ordering(
        row_offsets=offsets,
        column_indices=head[order],
        vertex_count=n,
        arc_count=graph.arc_count,
        symmetric=graph.symmetric,
        deduplicated=True,
        permutation=permutation,
        method="random",
    )


def compressed(graph: Graph) -> CompressedGraph:
    arrays = encode("varint", graph.row_offsets, graph.column_indices).arrays
    return CompressedGraph(
        byte_offsets=arrays["byte_offsets"],
        stream=arrays["stream"][: arrays["byte_offsets"][-1]],
        codec="varint",
        permutation=getattr(graph, "permutation", None),
        vertex_count=graph.vertex_count,
        arc_count=graph.arc_count,
        symmetric=graph.symmetric,
        deduplicated=True,
    )


def partitioned(graph: Graph, ranks=3) -> Partition:
    split = partition(graph.row_offsets, graph.column_indices, ranks=ranks, threshold=8)
    return Partition(
        arrays={name: array for part in split.parts for name, array in to_arrays(part).items()},
        delegates=split.delegates,
        permutation=getattr(graph, "permutation", None),
        ranks=ranks,
        threshold=8,
        vertex_count=graph.vertex_count,
        arc_count=graph.arc_count,
        symmetric=graph.symmetric,
    )


LAYOUTS = {
    "graph": lambda graph: graph,
    "ordering": renumbered,
    "compressed": compressed,
    "compressed_ordering": lambda graph: compressed(renumbered(graph)),
    "partition": partitioned,
    "partitioned_ordering": lambda graph: partitioned(renumbered(graph)),
}


def run(graph, *, backend="cpu", **parameters):
    machine = Machine(backend=backend, threads=2, host_memory=1 << 30, device_memory=1 << 30)
    return traverse(PlainContext(machine), TraverseParameters(**parameters), input=graph)


def check_tree(graph: Graph, source, distance, predecessor):
    """A predecessor is a neighbour one step nearer; everyone but the source has one."""
    offsets, columns = graph.row_offsets, graph.column_indices
    for v in range(graph.vertex_count):
        p = int(predecessor[v])
        if distance[v] <= 0:
            assert p == -1
        else:
            assert distance[p] == distance[v] - 1
            assert v in columns[offsets[p] : offsets[p + 1]]


BACKENDS = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
