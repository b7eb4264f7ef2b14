"""The kernels that check components on emulated blocks: findings are those of whole graphs."""

from __future__ import annotations

import numpy
import pytest

from gravel.kernels.partition import partition
from gravel.kernels.verify import check_components
from tests.emulation.strict_cupy import on_device
from tests.emulation.test_verify_ranks import of_both_widths
from tests.kernels.verify.test_components import PARTS, SKEWED, check_over_ranks, checker_on, plant
from tests.zoo import scipy_components

pytestmark = pytest.mark.usefixtures("on_cpu")


@pytest.mark.parametrize(("ranks", "wide"), [(1, False), (3, False), (2, True)])
def test_findings_are_those_of_the_whole_graph(ranks: int, wide: bool) -> None:
    random, checker = numpy.random.default_rng(ranks), checker_on(on_device, of_both_widths)
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
