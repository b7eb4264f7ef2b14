"""Degree order and renumbering on CUDA against the CPU twins."""

import numpy
import pytest

from gravel.kernels import order
from gravel.kernels.order import renumber_cuda
from tests.kernels.csr.test_build import same
from tests.kernels.cuda_case import ZOO, fast_csr, names, on_device, rmat

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("graph", [*ZOO, rmat(13)], ids=names)
def test_degree_order_and_renumbering(graph) -> None:
    for index in (numpy.uint32, numpy.uint64):
        offsets, columns = fast_csr(graph, symmetric=True, index=index)
        arrays = on_device(offsets, columns)
        permutation = order.permutation("degree", offsets, columns)
        found = order.permutation("degree", *arrays)
        same(found, permutation)
        permutation = permutation.astype(index)
        expected = order.apply(offsets, columns, permutation)
        for renumbered in (
            order.apply(*arrays, on_device(permutation)[0]),
            renumber_cuda.apply(*arrays, on_device(permutation)[0], arcs_at_once=100, long_row=20, block=64),
        ):
            same(renumbered[0], expected[0])
            same(renumbered[1], expected[1])


def test_no_permutation_is_refused() -> None:
    offsets, columns = fast_csr(rmat(6), symmetric=True)
    wrong = numpy.zeros(64, numpy.uint32)
    with pytest.raises(ValueError, match="not a permutation"):
        order.apply(*on_device(offsets, columns, wrong))
    with pytest.raises(ValueError, match="63 entries"):
        order.apply(*on_device(offsets, columns, wrong[:63]))
