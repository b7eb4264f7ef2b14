"""Afforest on CUDA against SciPy."""

import numpy
import pytest

from kernels.components import components
from tests.kernels.cuda_case import ZOO, fast_csr, names, on_device, rmat
from tests.zoo import ZooGraph, scipy_components

pytestmark = pytest.mark.gpu


def two_giants() -> ZooGraph:
    """Two large parts with a hub each, and many small ones."""
    random = numpy.random.default_rng(5)
    low, high = random.integers(0, 9000, (12000, 2)), random.integers(9000, 18000, (12000, 2))
    hubs = [(17, i) for i in range(9000)] + [(17999, i) for i in range(9000, 18000)]
    small = [(18000 + 3 * i, 18001 + 3 * i) for i in range(500)]
    pairs = numpy.concatenate([low, high, hubs, small]).astype(numpy.uint32)
    return ZooGraph("two_giants", 20000, pairs[:, 0].copy(), pairs[:, 1].copy())


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize("graph", [*ZOO, rmat(14), rmat(12, 1), two_giants()], ids=names)
def test_components(graph, index, symmetric) -> None:
    offsets, columns = fast_csr(graph, symmetric=symmetric, index=index)
    expected = scipy_components(offsets, columns)
    for tuning in ({}, {"rounds": 0}, {"rounds": 2, "block": 256}, {"block": 1024}):
        result = components(*on_device(offsets, columns), symmetric=symmetric, strategy="afforest", **tuning)
        assert result.component.dtype == index
        numpy.testing.assert_array_equal(result.component.get(), expected)


def test_unfit_blocks_are_refused() -> None:
    with pytest.raises(ValueError, match="256 to 1024"):
        components(*on_device(*fast_csr(rmat(5), symmetric=True)), symmetric=True, block=128)
