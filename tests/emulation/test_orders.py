"""Orders on CPU threads: the permutations of the CPU. Levels of Cuthill-McKee go on in one launch."""

from __future__ import annotations

import numpy
import pytest

from gravel.kernels.csr import build
from gravel.kernels.generate import generate
from gravel.kernels.order import permutation
from tests.emulation.strict_cupy import on_device

pytestmark = pytest.mark.usefixtures("on_cpu")


@pytest.mark.parametrize("method", ["rcm", "rcm_by_degree"])
@pytest.mark.parametrize("most_arcs", [1, 1 << 20])
def test_permutations_are_the_same(method: str, most_arcs: int) -> None:
    source, target = generate("rmat", scale=5, edge_factor=3, seed=3)
    graph = build(source, target, 40)  # several components, and vertices without arcs
    arrays = graph.row_offsets, graph.column_indices
    expected = permutation(method, *arrays)
    # Few arcs let every level be swept on its own, many let one launch take all levels.
    found = permutation(method, *map(on_device, arrays), most_arcs=most_arcs)
    numpy.testing.assert_array_equal(found.get(), expected)


@pytest.mark.parametrize("method", ["degree", "hub_sort", "hub_cluster", "degree_groups"])
def test_light_orders_are_the_same(method: str) -> None:
    graph = build(*generate("rmat", scale=6, edge_factor=4, seed=3), 70)
    arrays = graph.row_offsets, graph.column_indices
    found = permutation(method, *map(on_device, arrays))
    numpy.testing.assert_array_equal(found.get(), permutation(method, *arrays))
