"""Graphs of every size and form, and where traverse would have their rows: what tests of placements share."""

import numpy

from gravel.kernels.ids.distinct import distinct
from gravel.pipeline.store.cache import Cache
from gravel.stages.artifacts import Graph
from gravel.stages.compress import STAGE as COMPRESS
from gravel.stages.compress import CompressParameters
from gravel.stages.context import PlainContext
from gravel.stages.stage import Extent, Machine
from gravel.stages.traversal.buffers import extent_of
from gravel.stages.traversal.memory import estimate
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traverse import traverse
from tests.stages.traverse_case import as_graph

GB = 10**9
N, M = 65_608_366, 3_612_134_270  # Friendster
FRIENDSTER = Extent(kind="Graph", vertices=N, arcs=M, bytes=8 * N + 4 * M)
PACKED = Extent(kind="CompressedGraph", vertices=N, arcs=M, bytes=8 * N + M)
GPU = Machine(backend="cuda", threads=16, host_memory=110 * GB, device_memory=140 * GB)
CPU = Machine(backend="cpu", threads=2, host_memory=110 * GB)
CODECS = ("csr", "varint", "blocks", "elias_fano")


def need(machine, graph=FRIENDSTER, **parameters):
    return estimate(TraverseParameters(**parameters), {"input": (graph,)}, machine)


def run(graph, machine=None, **parameters):
    context = PlainContext(machine or Machine(backend="cpu", threads=2, host_memory=1 << 32))
    told = []
    context.progress = lambda done, total, unit: told.append((done, total, unit))
    return *traverse(context, TraverseParameters(**parameters), input=graph), told


def stored(tmp_path, graph) -> Graph:
    """The graph as it lies in a store."""
    cache = Cache(tmp_path)
    with cache.writer() as writer:
        return cache.open(writer.publish(graph).id)


def packed(graph, codec):
    context = PlainContext(Machine(backend="cpu", threads=2, host_memory=1 << 30))
    return COMPRESS.run(context, CompressParameters(codec=codec), input=graph)


def symmetric_graph(seed, n=30_000, drawn=4):
    """Draw so many edges for each of n vertices, most of them among few."""
    random = numpy.random.default_rng(seed)
    pairs = (random.random((drawn * n, 2)) ** 3 * n).astype(numpy.int64)
    keys = distinct(numpy.concatenate([pairs, pairs[:, ::-1]]) @ numpy.array([n, 1]))
    keys = keys[keys // n != keys % n]
    offsets = numpy.zeros(n + 1, numpy.int64)
    offsets[1:] = numpy.cumsum(numpy.bincount(keys // n, minlength=n))
    return as_graph(offsets, (keys % n).astype(numpy.uint32))


def just_too_small(graph, machine=GPU, **options):
    """A cap under which the rows of a graph do not fit the device with what a search there takes."""
    whole = need(machine, extent_of(graph), placement="device", **options)
    return str(whole.device_bytes - 1)
