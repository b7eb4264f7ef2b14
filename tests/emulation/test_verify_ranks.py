"""The rank verifier's kernels on emulated blocks: findings are those of the verifier of whole graphs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy
import pytest

from gravel.kernels.partition import partition
from gravel.kernels.partition.layout import PartitionedGraph
from tests.emulation.strict_cupy import on_device
from tests.kernels.partition.ranks_case import part_on_device
from tests.kernels.verify.damage import search
from tests.kernels.verify.test_ranks import (
    GRID,
    SKEWED,
    assert_agree,
    assert_levels_are_summed,
    checker_on,
    plant,
)

pytestmark = pytest.mark.usefixtures("on_cpu")


def of_both_widths(part: Any, place: Any) -> Any:
    """Bring a rank to the device; the offsets of its rows may have either width."""
    placed = part_on_device(part, place)
    return replace(placed, nd=placed.nd._replace(row_offsets=place(part.nd.row_offsets.astype(numpy.int64))))


checker = checker_on(on_device, of_both_widths)


@pytest.mark.parametrize(
    ("ranks", "wide"), [(1, False), pytest.param(3, False, marks=pytest.mark.slow), (2, True)]
)
def test_findings_are_those_of_the_whole_graph(ranks: int, wide: bool) -> None:
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
                broken |= assert_agree(csr, graphs[turn % 2], source, labels, checker, on_device)
    assert wide or len(broken) >= 2


def test_levels_are_summed_over_ranks() -> None:
    assert_levels_are_summed(checker, on_device)
