"""Masks in rounds and local all-to-all between ranks of one GPU: found is what the CPU finds."""

from __future__ import annotations

import numpy
import pytest

from gravel.kernels.partition import SearchOptions, partition
from tests.kernels.cuda_case import ENDS_OF_PATH, LONG_PATH, STAGED, ZOO, fast_csr, rmat
from tests.kernels.partition.ranks_case import check, two_sources
from tests.kernels.side_by_side import sharing

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")

LAYOUTS = {0: ((2, 2), (3, 3), (7, 4), (8, 1), (8, 8)), 2: ((4, 1), (4, 4), (6, 3), (8, 8))}
"""Ranks and devices, by groups."""


@pytest.mark.parametrize("name", STAGED)
def test_stages_find_what_the_cpu_does(name: str) -> None:
    options = SearchOptions(**STAGED[name])  # type: ignore[arg-type]
    offsets, columns = fast_csr(rmat(15), symmetric=True)
    for ranks, devices in LAYOUTS[options.groups]:
        for threshold in (0, 12, 10**6):
            whole = partition(offsets, columns, ranks=ranks, threshold=threshold)
            with sharing(devices) as shared:
                check(whole, two_sources(offsets), options=options, devices=shared)


@pytest.mark.parametrize("name", ["recursive doubling", "all the paper's"])
def test_small_graphs_and_hundreds_of_levels(name: str) -> None:
    options = SearchOptions(**STAGED[name])  # type: ignore[arg-type]
    for graph in ZOO:
        for symmetric in (True, False):
            whole = partition(*graph.csr(symmetric=symmetric), ranks=4, threshold=3)
            with sharing(4) as shared:
                sources = sorted({0, graph.vertex_count - 1})
                check(whole, sources, symmetric=symmetric, options=options, devices=shared)
    whole = partition(*fast_csr(LONG_PATH, symmetric=True), ranks=4, threshold=2)
    with sharing(4) as shared:
        check(whole, ENDS_OF_PATH, options=options, devices=shared)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7, 8])
def test_reductions_apart_from_searches(ranks: int) -> None:
    from gravel.kernels.partition.reductions import ALGORITHMS
    from tests.benchmarks.reductions_side_by_side import SideBySide, masks_of

    for words in (1, 1000, 1 << 17):
        masks = masks_of(ranks, words)
        wanted = numpy.bitwise_or.reduce(masks)
        for devices in {1, ranks}:
            probe = SideBySide(masks, [cupy.cuda.Device().id] * devices, time_limit=5.0)
            for algorithm in ALGORITHMS:
                for groups in (0, *([2] if ranks % 2 == 0 else [])):
                    assert probe.run(algorithm, 3, groups) > 0
                    assert all(numpy.array_equal(found, wanted) for found in probe.found())
