"""Delta-varint rows on CUDA: the same bytes as the CPU twin, and back, serially and in parallel."""

import numpy
import pytest

from gravel.kernels.layouts.varint import bytes as varint
from gravel.kernels.layouts.varint import cuda as varint_cuda
from tests.kernels.cuda_case import ZOO, fast_csr, names, on_device, rmat

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize("graph", [*ZOO, rmat(13)], ids=names)
def test_the_same_bytes_and_back(graph, index) -> None:
    offsets, columns = fast_csr(graph, symmetric=True, index=index)
    byte_offsets, stream = varint.encode(offsets, columns)
    arrays = on_device(offsets, columns)
    for options in ({}, {"block": 32}, {"block": 1024, "long_row": 16}):
        found = varint_cuda.encode(*arrays, **options)
        numpy.testing.assert_array_equal(found[0].get(), byte_offsets)
        numpy.testing.assert_array_equal(found[1].get(), stream)
        for serial in (False, True):
            rows = varint_cuda.decode(*found, len(columns), index, serial=serial, **options)
            assert rows[1].dtype == index
            numpy.testing.assert_array_equal(rows[0].get(), offsets)
            numpy.testing.assert_array_equal(rows[1].get(), columns)
    assert varint.encoded_size(*arrays) == len(stream)


@pytest.mark.parametrize("serial", [False, True])
def test_large_numbers(serial) -> None:
    columns = numpy.array([0, 0, 127, 128, (1 << 14) - 1, 1 << 35, 1 << 63, (1 << 64) - 2], numpy.uint64)
    offsets = numpy.array([0, 0, 3, 3, 8], numpy.int64)
    encoded = varint.encode(offsets, columns)
    found = varint.encode(*on_device(offsets, columns))
    numpy.testing.assert_array_equal(found[1].get(), encoded[1])
    rows = varint_cuda.decode(*found, 8, numpy.uint64, bound=(1 << 64) - 1, serial=serial)
    numpy.testing.assert_array_equal(rows[1].get(), columns)


@pytest.mark.parametrize("serial", [False, True])
@pytest.mark.parametrize(
    ("stream", "arcs", "message"),
    [
        ([5, 0x85], 2, "row 0 of the compressed graph ends within"),
        ([0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1], 1, "row 0 of the compressed graph holds a number"),
        ([99], 1, "row 0 of the compressed graph names a vertex"),
        ([1, 1], 3, "holds 2 arcs; it should hold 3"),
    ],
)
def test_damage_is_refused(stream, arcs, message, serial) -> None:
    offsets = numpy.array([0, len(stream)], numpy.int64)
    arrays = on_device(offsets, numpy.array(stream, numpy.uint8))
    with pytest.raises(ValueError, match=message):
        varint_cuda.decode(*arrays, arcs, numpy.uint32, bound=9, serial=serial)


def test_offsets_and_rows_out_of_order_are_refused() -> None:
    columns = numpy.array([3, 1], numpy.uint32)
    with pytest.raises(ValueError, match="row 1 does not ascend"):
        varint.encode(*on_device(numpy.array([0, 0, 2]), columns))
    with pytest.raises(ValueError, match="must ascend from 0 to 2"):
        varint.encode(*on_device(numpy.array([0, 3, 2]), columns))
    with pytest.raises(ValueError, match="must ascend from 0 to 1"):
        varint.decode(*on_device(numpy.array([0, 2]), numpy.array([1], numpy.uint8)), 1, numpy.uint32)
