"""Reorderings of graphs, and what is checked of each."""

import numpy

from gravel.kernels.order import statistics
from gravel.stages.context import PlainContext
from gravel.stages.reorder import STAGE, ReorderParameters
from gravel.stages.stage import Extent, Machine
from tests.zoo import zoo

ZOO = list(zoo())


def run(graph, method, *, seed=0, machine=None):
    context = PlainContext(machine or Machine(backend="cpu", threads=2, host_memory=1 << 30))
    return STAGE.run(context, ReorderParameters(method=method, seed=seed), input=graph)


def check(graph, ordering):
    """The ordering is the graph, renumbered by its permutation."""
    new = ordering.permutation.astype(numpy.int64)
    assert sorted(new.tolist()) == list(range(graph.vertex_count))
    source = numpy.repeat(numpy.arange(graph.vertex_count), numpy.diff(graph.row_offsets))
    expected = sorted(zip(new[source].tolist(), new[graph.column_indices].tolist(), strict=True))
    source = numpy.repeat(numpy.arange(graph.vertex_count), numpy.diff(ordering.row_offsets))
    assert list(zip(source.tolist(), ordering.column_indices.tolist(), strict=True)) == expected
    measured = statistics(ordering.row_offsets, ordering.column_indices)
    assert ordering.statistics == {
        "bandwidth": measured.bandwidth,
        "mean_gap": measured.mean_gap,
        "bits_per_arc": measured.bits_per_arc,
    }


def estimate(method, *, directed=False, cap=None, **machine):
    extent = Extent(kind="Graph", vertices=1 << 22, arcs=1 << 28, directed=directed)
    there = Machine(**{"backend": "cpu", "threads": 2, "host_memory": 1 << 40, **machine})
    return STAGE.estimate(ReorderParameters(method=method, device_memory=cap), {"input": (extent,)}, there)
