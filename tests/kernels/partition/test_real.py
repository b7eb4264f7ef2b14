"""Every real graph over 1, 2, 3, 4 and 7 ranks: the same as SciPy's, and as one rank's."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

from gravel.kernels.bfs.asked import Asked
from gravel.kernels.partition import PartitionSearch, partition, suggest_threshold
from gravel.kernels.partition.components import components
from tests.kernels.cuda_case import fast_csr
from tests.workflows.real_graphs import graph_cases, read
from tests.zoo import ZooGraph, needs_data, scipy_components, scipy_distances

pytestmark = needs_data


@pytest.mark.parametrize("path", graph_cases())
def test_any_number_of_ranks_finds_the_same(path: Path) -> None:
    graph = read(path)
    offsets, columns = fast_csr(
        ZooGraph(path.name, len(graph.ids), graph.source, graph.target), symmetric=True
    )
    source = int(graph.source[len(graph.source) // 2])
    distance = scipy_distances(offsets, columns, source)
    threshold = suggest_threshold(offsets, columns, 4)
    single = PartitionSearch(
        partition(offsets, columns, ranks=1, threshold=threshold), Asked(symmetric=True)
    ).run(source)
    assert numpy.array_equal(single.distance, distance)
    labels = scipy_components(offsets, columns)
    for ranks in (2, 3, 4, 7):
        whole = partition(offsets, columns, ranks=ranks, threshold=threshold)
        assert numpy.array_equal(components(whole, symmetric=True).component, labels)
        found = PartitionSearch(whole, Asked(symmetric=True)).run(source)
        assert numpy.array_equal(found.distance, distance)
        assert numpy.array_equal(found.predecessor, single.predecessor)
