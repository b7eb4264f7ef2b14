"""Ranks on a GPU whose columns lie in pinned host memory, or some of them, find what the CPU does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy
import pytest

from gravel.kernels.bfs.asked import Asked
from gravel.kernels.partition import PartitionSearch, SearchOptions, partition
from tests.kernels.cuda_case import ZOO, fast_csr, names, rmat
from tests.trees import check_tree

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")

ANY = SearchOptions()


def placings(whole: Any) -> dict[str, Any]:
    from gravel.kernels.partition.cuda.placing import Placing

    arcs = max(sum(len(part.subgraph(n)[1]) for n in ("nn", "nd", "dn", "dd")) for part in whole.parts)
    return {
        "device": Placing("device"),
        "most": Placing("split", 3 * arcs),
        "few": Placing("split", arcs),
        "pinned": Placing("pinned"),
    }


def check(
    whole: Any, sources: list[int], *, symmetric: bool = True, options: SearchOptions = ANY
) -> list[int]:
    """Compare with the CPU; returns what was read over the link for each placing."""
    from gravel.kernels.partition.cuda import CudaPartitionSearch

    on_cpu = PartitionSearch(whole, Asked(symmetric=symmetric), options)
    read = []
    for placing in placings(whole).values():
        search = CudaPartitionSearch(
            whole, Asked(symmetric=symmetric), replace(options, barrier_seconds=5.0), placing=placing
        )
        total = 0
        for source in sources:
            wanted, found = on_cpu.run(source), search.run(source)
            assert numpy.array_equal(found.distance.get(), wanted.distance)
            if options.predecessors == "smallest":
                assert numpy.array_equal(found.predecessor.get(), wanted.predecessor)
            else:
                check_tree(whole, source, wanted.distance, found.predecessor.get())
            assert found.directions == wanted.directions
            total += found.link_bytes
        read.append(total)
    return read


@pytest.mark.parametrize("graph", ZOO, ids=names)
def test_small_graphs(graph: Any) -> None:
    for symmetric in (True, False):
        for ranks, threshold in ((1, 3), (3, 0), (3, 10**6)):
            whole = partition(*graph.csr(symmetric=symmetric), ranks=ranks, threshold=threshold)
            check(whole, sorted({0, graph.vertex_count - 1}), symmetric=symmetric)


@pytest.mark.parametrize("predecessors", ["any", "smallest"])
@pytest.mark.parametrize("optimized", [True, False])
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
def test_a_skewed_graph(optimized: bool, index: type, predecessors: Any) -> None:
    offsets, columns = fast_csr(rmat(13), symmetric=True, index=index)
    degrees = numpy.diff(offsets)
    sources = [int(numpy.argmax(degrees)), int(numpy.flatnonzero(degrees)[5])]
    for ranks in (1, 2, 4):
        whole = partition(offsets, columns, ranks=ranks, threshold=30)
        options = SearchOptions(direction_optimized=optimized, predecessors=predecessors)
        read = check(whole, sources, options=options)
        assert read[0] == 0
        assert 0 < read[1] < read[2] < read[3]
        if optimized:
            continue
        # Every arc of what is reached is read once, 8 of 32 bits in a sector at most.
        reached = PartitionSearch(whole, Asked(symmetric=True)).run(sources[0]).distance >= 0
        arcs = len(sources) * int(degrees[reached].sum())
        assert 4 * arcs <= read[3] <= 32 * arcs
