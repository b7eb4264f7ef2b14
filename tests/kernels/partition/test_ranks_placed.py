"""Ranks on a GPU whose columns lie in pinned host memory, or some of them, find what the CPU does."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.bfs.query import Query
from gravel.kernels.partition import PartitionSearch, SearchOptions, partition
from tests.kernels.cuda_case import ZOO, fast_csr, names, rmat
from tests.kernels.partition.ranks_case import check, two_sources

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")


def placings(whole: Any) -> dict[str, Any]:
    from gravel.kernels.partition.cuda.placing import Placing

    arcs = max(sum(len(part.subgraph(n)[1]) for n in ("nn", "nd", "dn", "dd")) for part in whole.parts)
    return {
        "device": Placing("device"),
        "most": Placing("split", 3 * arcs),
        "few": Placing("split", arcs),
        "pinned": Placing("pinned"),
    }


@pytest.mark.parametrize("graph", ZOO, ids=names)
def test_small_graphs(graph: Any) -> None:
    for symmetric in (True, False):
        for ranks, threshold in ((1, 3), (3, 0), (3, 10**6)):
            whole = partition(*graph.csr(symmetric=symmetric), ranks=ranks, threshold=threshold)
            sources = sorted({0, graph.vertex_count - 1})
            for placing in placings(whole).values():
                check(whole, sources, symmetric=symmetric, placing=placing)


@pytest.mark.parametrize("optimized", [True, False])
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
def test_a_skewed_graph(optimized: bool, index: type) -> None:
    offsets, columns = fast_csr(rmat(13), symmetric=True, index=index)
    degrees = numpy.diff(offsets)
    sources = two_sources(offsets)
    for ranks in (1, 2, 4):
        whole = partition(offsets, columns, ranks=ranks, threshold=30)
        options = SearchOptions(direction_optimized=optimized)
        reads = [check(whole, sources, options=options, placing=each) for each in placings(whole).values()]
        reached = PartitionSearch(whole, Query(symmetric=True)).run(sources[0]).distance >= 0
        arcs = len(sources) * int(degrees[reached].sum())
        for predecessors in ("any", "smallest"):
            read = [each[predecessors] for each in reads]
            assert read[0] == 0
            assert 0 < read[1] < read[2] < read[3]
            # Forward every arc of what is reached is read once, 8 of 32 bits in a sector at most.
            assert optimized or 4 * arcs <= read[3] <= 32 * arcs
