"""Partitions of weighted rows, each arc with its weight looked up in the rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy

from gravel.kernels.csr.weighted import build_weighted
from gravel.kernels.partition import PartitionedGraph, partition
from gravel.kernels.partition.layout import SUBGRAPHS, RankGraph
from tests.kernels.sssp_case import WeightedGraph

DTYPES = (numpy.uint32, numpy.int32, numpy.float32)


def drawn(seed: int, *, direction: str = "both") -> WeightedGraph:
    """Draw a graph without loops and parallel arcs, with a few busy vertices, ties and zeros."""
    rng = numpy.random.default_rng(seed)
    n, most = int(rng.integers(2, 90)), (2, 9, 1000)[seed % 3]
    m = 4 * n if seed % 5 else n // 2
    source, target = rng.integers(0, n, m), (n * rng.random(m) ** 3).astype(numpy.int64)
    weights = (rng.random(m) if seed % 2 else 1) * rng.integers(0, most, m)
    return built(f"drawn {seed}", source, target, weights.astype(DTYPES[seed // 3 % 3]), n, direction)


def built(
    name: str, source: Any, target: Any, weights: Any, n: int, direction: str = "both"
) -> WeightedGraph:
    """Build rows as `symmetrize` does, with the smallest weight of parallel arcs."""
    ends = (each.astype(numpy.uint32) for each in (source, target))
    rows = build_weighted(*ends, weights, n, direction=direction)
    heads = numpy.repeat(numpy.arange(n), numpy.diff(rows.row_offsets))
    return WeightedGraph(name, rows.row_offsets, rows.column_indices, rows.weights, heads)


def weighted_partition(graph: WeightedGraph, ranks: int, threshold: int) -> PartitionedGraph:
    """Split rows over ranks, with their weights."""
    divided = partition(graph.row_offsets, graph.columns, ranks=ranks, threshold=threshold)
    keys = graph.heads.astype(numpy.uint64) << numpy.uint64(32) | graph.columns.astype(numpy.uint64)
    parts = []
    for part in divided.parts:
        ends = {name: arcs_of(divided, part, name) for name in SUBGRAPHS}
        weights = {name: graph.weights[numpy.searchsorted(keys, each)] for name, each in ends.items()}
        parts.append(replace(part, weights=weights))
    return replace(divided, parts=tuple(parts))


def arcs_of(graph: Any, part: RankGraph, name: str) -> Any:
    """Name the arcs of a subgraph by both ends, the tail in the upper half of 64 bits."""
    offsets, columns = part.subgraph(name)
    rows = numpy.repeat(numpy.arange(len(offsets) - 1), numpy.diff(offsets.astype(numpy.int64)))
    delegates, local = graph.delegates.astype(numpy.int64), graph.ranks
    tails = rows * local + part.rank if name[0] == "n" else delegates[rows]
    heads = delegates[columns] if name[1] == "d" else columns.astype(numpy.int64)
    heads = heads * local + part.rank if name == "dn" else heads
    return tails.astype(numpy.uint64) << numpy.uint64(32) | heads.astype(numpy.uint64)
