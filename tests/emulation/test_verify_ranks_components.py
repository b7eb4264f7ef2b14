"""The kernels that check components on emulated blocks: findings are those of whole graphs."""

from __future__ import annotations

import shutil
import sys
from typing import Any

import numpy
import pytest

from gravel.kernels.partition import partition
from gravel.kernels.verify import check_components
from gravel.kernels.verify.ranks import components_cuda
from tests.emulation import grid_kernels, numpy_as_cupy
from tests.emulation.grid_kernels import on_device
from tests.emulation.test_verify_ranks import part_on_device
from tests.kernels.verify.test_components import PARTS, SKEWED, check_over_ranks, plant
from tests.zoo import scipy_components


@pytest.fixture(autouse=True)
def emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("g++") is None:
        pytest.skip("emulated kernels are compiled with g++")
    monkeypatch.setitem(sys.modules, "cupy", numpy_as_cupy.module())
    monkeypatch.setattr("gravel.kernels.cuda.launch.load", grid_kernels.load)


def checker(part: Any, delegates: Any, vertex_count: int, ranks: int) -> Any:
    given = part_on_device(part), on_device(delegates), vertex_count, ranks
    return components_cuda.RankLabelChecker(*given)


@pytest.mark.parametrize(("ranks", "wide"), [(1, False), (3, False), (2, True)])
def test_findings_are_those_of_the_whole_graph(ranks: int, wide: bool) -> None:
    random = numpy.random.default_rng(ranks)
    broken: set[str] = set()
    for member in (PARTS, SKEWED):
        csr = member.csr()
        columns = csr[1].astype(numpy.uint64) if wide else csr[1]
        right = scipy_components(*csr).astype(columns.dtype)
        for threshold in (0, 4):
            graph = partition(csr[0], columns, ranks=ranks, threshold=threshold)
            for labels in (right, *(plant(right, random) for _ in range(3))):
                expected = check_components(*csr, labels, symmetric=True)
                found = check_over_ranks(graph, on_device(labels), checker, piece=23)
                assert found == expected
                broken |= {check.name for check in expected if not check.passed}
    assert len(broken) >= 2
