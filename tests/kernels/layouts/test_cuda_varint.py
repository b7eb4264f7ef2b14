"""Delta-varint rows on CUDA: the same bytes as the CPU twin, and back, serially and in parallel."""

import numpy
import pytest

from gravel.kernels.layouts import EncodedRows, decode, encode
from gravel.kernels.layouts.layout import pad
from gravel.kernels.layouts.varint.cuda import VarintCodec
from tests.kernels.cuda_case import ZOO, fast_csr, names, on_device, rmat
from tests.kernels.layouts.visits import SerialCodec

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize("graph", [*ZOO, rmat(13)], ids=names)
def test_the_same_bytes_and_back(graph, index) -> None:
    offsets, columns = fast_csr(graph, symmetric=True, index=index)
    expected = encode("varint", offsets, columns).arrays
    facts = {"first_row": 0, "bound": len(offsets) - 1}
    for options in ({}, {"block": 32}, {"block": 1024, "long_row": 16}):
        found = VarintCodec(**options).encode(*on_device(offsets, columns), **facts)
        for name, array in expected.items():
            numpy.testing.assert_array_equal(found[name].get(), array)
        for made in (VarintCodec, SerialCodec):
            rows = made(**options).decode(found, len(columns), index, **facts)
            assert rows[1].dtype == index
            numpy.testing.assert_array_equal(rows[0].get(), offsets)
            numpy.testing.assert_array_equal(rows[1].get(), columns)


@pytest.mark.parametrize("made", [VarintCodec, SerialCodec])
def test_large_numbers(made) -> None:
    columns = numpy.array([0, 0, 127, 128, (1 << 14) - 1, 1 << 35, 1 << 63, (1 << 64) - 2], numpy.uint64)
    offsets = numpy.array([0, 0, 3, 3, 8], numpy.int64)
    expected = encode("varint", offsets, columns).arrays
    found = encode("varint", *on_device(offsets, columns)).arrays
    numpy.testing.assert_array_equal(found["stream"].get(), expected["stream"])
    rows = made().decode(found, 8, numpy.uint64, first_row=0, bound=(1 << 64) - 1)
    numpy.testing.assert_array_equal(rows[1].get(), columns)


@pytest.mark.parametrize("made", [VarintCodec, SerialCodec])
@pytest.mark.parametrize(
    ("stream", "arcs", "message"),
    [
        ([5, 0x85], 2, "row 0 of the compressed graph is damaged"),
        ([0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1], 1, "row 0 of the compressed graph is damaged"),
        ([99], 1, "row 0 of the compressed graph names a vertex"),
        ([1, 1], 3, "holds 2 arcs; it should hold 3"),
    ],
)
def test_damage_is_refused(stream, arcs, message, made) -> None:
    offsets = numpy.array([0, len(stream)], numpy.int64)
    placed = on_device(offsets, pad(numpy.array(stream, numpy.uint8)))
    arrays = dict(zip(("byte_offsets", "stream"), placed, strict=True))
    with pytest.raises(ValueError, match=message):
        made().decode(arrays, arcs, numpy.uint32, first_row=0, bound=9)


def test_offsets_and_rows_out_of_order_are_refused() -> None:
    columns = numpy.array([3, 1], numpy.uint32)
    with pytest.raises(ValueError, match="row 1 does not ascend"):
        encode("varint", *on_device(numpy.array([0, 0, 2]), columns))
    with pytest.raises(ValueError, match="must ascend from 0 to 2"):
        encode("varint", *on_device(numpy.array([0, 3, 2]), columns))
    placed = on_device(numpy.array([0, 20]), numpy.zeros(16, numpy.uint8))
    arrays = dict(zip(("byte_offsets", "stream"), placed, strict=True))
    with pytest.raises(ValueError, match="the rows take 20 bytes; the stream has 16"):
        decode(EncodedRows("varint", 1, 1, numpy.uint32, arrays))
