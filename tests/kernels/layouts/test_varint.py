"""Delta-varint rows: the paper's bytes, and no bytes can make the reader misbehave; on CUDA as on the CPU."""

from __future__ import annotations

import itertools

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gravel.kernels import layouts
from gravel.kernels.layouts.layout import pad
from gravel.kernels.layouts.varint.cuda import VarintCodec
from tests.kernels.cuda_case import ZOO, fast_csr, names, on_device, rmat
from tests.kernels.layouts.visits import SerialCodec


def decode(
    byte_offsets: numpy.ndarray, stream: numpy.ndarray, arcs: int, dtype: type, bound: int | None = None
) -> tuple[numpy.ndarray, numpy.ndarray]:
    arrays = {"byte_offsets": byte_offsets, "stream": pad(stream)}
    return layouts.decode(
        layouts.EncodedRows("varint", len(byte_offsets) - 1, arcs, dtype, arrays), bound=bound
    )


def test_the_papers_row() -> None:
    arrays = layouts.encode("varint", numpy.array([0, 4]), numpy.array([5, 8, 12, 20], numpy.uint32)).arrays
    assert arrays["stream"].tolist() == [5, 3, 4, 8, *[0] * 12]


@pytest.mark.parametrize(
    ("rows", "arcs", "dtype", "reason"),
    [
        ([b"\x01\x80"], 1, numpy.uint32, "row 0 .* is damaged"),
        ([b"\x01", b"\x80"], 1, numpy.uint32, "row 1 .* is damaged"),
        ([b"\x80", b"\x01"], 1, numpy.uint32, "row 0 .* is damaged"),
        ([b"\x80\x80\x80\x80\x80\x01"], 1, numpy.uint32, "row 0 .* is damaged"),
        ([b"\xff\xff\xff\xff\x7f"], 1, numpy.uint32, "not in the graph"),
        ([b"\x80" * 10 + b"\x01"], 1, numpy.uint64, "row 0 .* is damaged"),
        ([b"\xff" * 9 + b"\x02"], 1, numpy.uint64, "row 0 .* is damaged"),
        ([b"\xff" * 9 + b"\x01" + b"\x01"], 2, numpy.uint64, "is damaged|not in the graph"),
        ([b"\x01\x01", b"\x02"], 3, numpy.uint32, "row 0 .* not in the graph"),
        ([b"\x00", b"\x02"], 2, numpy.uint32, "row 1 .* not in the graph"),
        ([b"\x00", b"\x01"], 3, numpy.uint32, "holds 2 arcs; it should hold 3"),
        ([b"\x00", b"\x01"], 1, numpy.uint32, "holds 2 arcs; it should hold 1"),
    ],
)
def test_malformed_streams_are_refused(rows: list[bytes], arcs: int, dtype: type, reason: str) -> None:
    offsets = numpy.cumsum([0, *map(len, rows)]).astype(numpy.int64)
    stream = numpy.frombuffer(b"".join(rows), numpy.uint8)
    with pytest.raises(ValueError, match=reason):
        decode(offsets, stream, arcs, dtype)


def test_columns_of_another_type_are_refused() -> None:
    with pytest.raises(ValueError, match="uint32 or uint64"):
        decode(numpy.array([0]), numpy.zeros(0, numpy.uint8), 0, numpy.int32)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.binary(max_size=14), max_size=5), st.sampled_from([numpy.uint32, numpy.uint64]))
def test_any_bytes_are_read_or_refused(rows: list[bytes], dtype: type) -> None:
    offsets = numpy.cumsum([0, *map(len, rows)]).astype(numpy.int64)
    stream = numpy.frombuffer(b"".join(rows), numpy.uint8)
    arcs = sum(byte < 128 for byte in b"".join(rows))
    largest = int(numpy.iinfo(dtype).max)
    wanted: list[list[int]] | None = []
    for row in rows:
        values, number, shift, before = [], 0, 0, 0
        for byte in row:
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                before += number
                values.append(before)
                whole = shift <= (35 if dtype is numpy.uint32 else 70)
                wanted = wanted if whole and before <= largest else None
                number = shift = 0
        if shift:
            wanted = None
        if wanted is None:
            break
        wanted.append(values)
    if wanted is None:
        with pytest.raises(ValueError, match="row"):
            decode(offsets, stream, arcs, dtype, bound=largest + 1)
    else:
        row_offsets, columns = decode(offsets, stream, arcs, dtype, bound=largest + 1)
        parts = itertools.pairwise(row_offsets)
        assert [columns[a:b].tolist() for a, b in parts] == wanted


@pytest.mark.gpu
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize("graph", [*ZOO, rmat(13)], ids=names)
def test_cuda_has_the_same_bytes_and_back(graph, index) -> None:
    offsets, columns = fast_csr(graph, symmetric=True, index=index)
    expected = layouts.encode("varint", offsets, columns).arrays
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


@pytest.mark.gpu
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
def test_cuda_refuses_damage(stream, arcs, message, made) -> None:
    offsets = numpy.array([0, len(stream)], numpy.int64)
    placed = on_device(offsets, pad(numpy.array(stream, numpy.uint8)))
    arrays = dict(zip(("byte_offsets", "stream"), placed, strict=True))
    with pytest.raises(ValueError, match=message):
        made().decode(arrays, arcs, numpy.uint32, first_row=0, bound=9)
