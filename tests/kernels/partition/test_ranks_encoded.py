"""Ranks on a GPU whose rows are encoded find what the CPU does, in every layout."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest

from gravel.kernels.bfs.asked import Asked
from gravel.kernels.partition import PartitionSearch, SearchOptions, partition
from tests.kernels.cuda_case import fast_csr, rmat
from tests.kernels.partition.test_encoded import encoded
from tests.trees import check_tree
from tests.zoo import zoo

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")

ANY = SearchOptions()
LAYOUTS = ["varint", "blocks", "elias_fano"]


def check(whole, layout: str, sources: list[int], *, symmetric: bool = True, options=ANY) -> None:
    from gravel.kernels.partition.cuda import CudaPartitionSearch

    on_cpu = PartitionSearch(whole, Asked(symmetric=symmetric), options)
    search = CudaPartitionSearch(
        encoded(whole, layout), Asked(symmetric=symmetric), replace(options, barrier_seconds=5.0)
    )
    for source in sources:
        wanted, found = on_cpu.run(source), search.run(source)
        assert numpy.array_equal(found.distance.get(), wanted.distance)
        if options.predecessors == "smallest":
            assert numpy.array_equal(found.predecessor.get(), wanted.predecessor)
        else:
            check_tree(whole, source, wanted.distance, found.predecessor.get())
        assert found.directions == wanted.directions


@pytest.mark.parametrize("layout", LAYOUTS)
def test_small_graphs(layout: str) -> None:
    for graph in zoo():
        if not graph.vertex_count:
            continue
        for symmetric, threshold in ((True, 3), (False, 0), (True, 10**6)):
            whole = partition(*graph.csr(symmetric=symmetric), ranks=3, threshold=threshold)
            check(whole, layout, sorted({0, graph.vertex_count - 1}), symmetric=symmetric)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("optimized", [True, False])
@pytest.mark.parametrize("predecessors", ["any", "smallest"])
def test_a_skewed_graph(layout: str, optimized: bool, predecessors) -> None:
    offsets, columns = fast_csr(rmat(14), symmetric=True)
    degrees = numpy.diff(offsets)
    sources = [int(numpy.argmax(degrees)), int(numpy.flatnonzero(degrees)[5])]
    for ranks, threshold in ((1, 30), (4, 30), (2, 0), (2, 10**6)):
        whole = partition(offsets, columns, ranks=ranks, threshold=threshold)
        options = SearchOptions(direction_optimized=optimized, predecessors=predecessors)
        check(whole, layout, sources, options=options)
