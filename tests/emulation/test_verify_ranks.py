"""The rank verifier's kernels on emulated blocks: findings are those of the verifier of whole graphs."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from typing import Any

import numpy
import pytest

from gravel.kernels.partition import partition
from gravel.kernels.partition.layout import SUBGRAPHS, PartitionedGraph, Subgraph
from gravel.kernels.verify import check_bfs
from gravel.kernels.verify.ranks import cuda as on_gpu
from tests.emulation import grid_kernels, numpy_as_cupy
from tests.emulation.grid_kernels import on_device
from tests.kernels.verify.damage import search
from tests.kernels.verify.test_ranks import (
    GRID,
    SKEWED,
    assert_levels_are_summed,
    check_over_ranks,
    outputs,
    plant,
)


@pytest.fixture
def emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("g++") is None:
        pytest.skip("emulated kernels are compiled with g++")
    monkeypatch.setitem(sys.modules, "cupy", numpy_as_cupy.module())
    monkeypatch.setattr("gravel.kernels.cuda.launch.load", grid_kernels.load)


def part_on_device(part: Any) -> Any:
    arrays: dict[str, Any] = {name: Subgraph(*map(on_device, part.subgraph(name))) for name in SUBGRAPHS}
    # Offsets of both widths: the rows of a rank may have either.
    wide = arrays["nd"].row_offsets.astype(numpy.int64)
    arrays["nd"] = arrays["nd"]._replace(row_offsets=on_device(wide))
    return replace(part, **arrays)


def checker(part: Any, delegates: Any, vertex_count: int, ranks: int) -> Any:
    return on_gpu.RankChecker(part_on_device(part), on_device(delegates), vertex_count, ranks)


@pytest.mark.parametrize(
    ("ranks", "wide"), [(1, False), pytest.param(3, False, marks=pytest.mark.slow), (2, True)]
)
def test_findings_are_those_of_the_whole_graph(emulated: None, ranks: int, wide: bool) -> None:
    random = numpy.random.default_rng(ranks)
    broken: set[str] = set()
    for member in (GRID, SKEWED) if ranks == 1 else (SKEWED,):
        csr = member.csr()
        columns = csr[1].astype(numpy.uint64) if wide else csr[1]
        graphs: list[PartitionedGraph] = [
            partition(csr[0], columns, ranks=ranks, threshold=threshold) for threshold in (0, 4)
        ]
        for turn in range(1 if wide else 2):
            source = int(random.integers(member.vertex_count))
            right = search(csr, source)
            for labels in (right, plant(right, random, source)):
                for some in outputs(labels):
                    expected = check_bfs(*csr, source, *some, symmetric=True)
                    given = tuple(None if each is None else on_device(each) for each in some)
                    found = check_over_ranks(graphs[turn % 2], source, given, checker=checker)
                    assert found == expected
                    broken |= {check.name for check in expected if not check.passed}
    assert wide or len(broken) >= 2


def test_levels_are_summed_over_ranks(emulated: None) -> None:
    assert_levels_are_summed(checker, on_device)
