"""Delta-varint rows: what is written is read back, and no bytes can make the reader misbehave."""

from __future__ import annotations

import itertools

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gravel.kernels import layouts
from gravel.kernels.layouts.layout import pad
from tests.zoo import zoo

U32 = 2**32 - 1
U64 = 2**64 - 1


def encode(offsets: numpy.ndarray, columns: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Byte offsets, and the stream without its padding."""
    arrays = layouts.encode("varint", offsets, columns).arrays
    assert not arrays["stream"][arrays["byte_offsets"][-1] :].any()
    assert len(arrays["stream"]) % layouts.ALIGNMENT == 0
    return arrays["byte_offsets"], arrays["stream"][: arrays["byte_offsets"][-1]]


def decode(
    byte_offsets: numpy.ndarray, stream: numpy.ndarray, arcs: int, dtype: type, bound: int | None = None
) -> tuple[numpy.ndarray, numpy.ndarray]:
    arrays = {"byte_offsets": byte_offsets, "stream": pad(stream)}
    return layouts.decode(
        layouts.EncodedRows("varint", len(byte_offsets) - 1, arcs, dtype, arrays), bound=bound
    )


def csr(rows: list[list[int]], dtype: type) -> tuple[numpy.ndarray, numpy.ndarray]:
    offsets = numpy.cumsum([0, *map(len, rows)]).astype(numpy.int64)
    return offsets, numpy.array([v for row in rows for v in row], dtype)


def slow_bytes(rows: list[list[int]]) -> list[bytes]:
    """LEB128 gaps the obvious way."""
    result = []
    for row in rows:
        written, before = bytearray(), 0
        for value in row:
            gap, before = value - before, value
            while gap > 127:
                written.append(gap % 128 + 128)
                gap //= 128
            written.append(gap)
        result.append(bytes(written))
    return result


def rows_of(largest: int) -> st.SearchStrategy[list[list[int]]]:
    edges = [value for value in (127, 128, 16383, 16384, largest - 1, largest) if value <= largest]
    values = st.integers(0, largest) | st.integers(0, 300) | st.sampled_from(edges)
    return st.lists(st.lists(values, max_size=12).map(sorted), max_size=12)


def check_round_trip(rows: list[list[int]], dtype: type, largest: int) -> None:
    offsets, columns = csr(rows, dtype)
    byte_offsets, stream = encode(offsets, columns)
    expected = slow_bytes(rows)
    assert byte_offsets.dtype == numpy.int64
    assert stream.dtype == numpy.uint8
    assert stream.tobytes() == b"".join(expected)
    assert numpy.array_equal(byte_offsets, numpy.cumsum([0, *map(len, expected)]))
    again = decode(byte_offsets, stream, len(columns), dtype, bound=largest + 1)
    assert numpy.array_equal(again[0], offsets)
    assert numpy.array_equal(again[1], columns)
    assert again[1].dtype == dtype


@settings(max_examples=60, deadline=None)
@given(rows_of(U32))
def test_uint32_rows_come_back(rows: list[list[int]]) -> None:
    check_round_trip(rows, numpy.uint32, U32)


@settings(max_examples=60, deadline=None)
@given(rows_of(U64))
def test_uint64_rows_come_back(rows: list[list[int]]) -> None:
    check_round_trip(rows, numpy.uint64, U64)


@pytest.mark.parametrize(
    "rows",
    [[], [[]], [[], [], []], [[0]], [[U32]], [[0, U32]], [[5, 5, 5]], [[U32, U32]], [[], [7], []]],
    ids=str,
)
def test_edge_rows_come_back(rows: list[list[int]]) -> None:
    check_round_trip(rows, numpy.uint32, U32)


def test_the_papers_row() -> None:
    _, stream = encode(*csr([[5, 8, 12, 20]], numpy.uint32))
    assert stream.tolist() == [5, 3, 4, 8]


def test_zoo_comes_back_with_the_default_bound() -> None:
    for graph in zoo():
        offsets, columns = graph.csr()
        again = decode(*encode(offsets, columns), len(columns), numpy.uint32)
        assert numpy.array_equal(again[0], offsets), graph.name
        assert numpy.array_equal(again[1], columns), graph.name


def test_many_blocks_agree_with_one() -> None:
    random = numpy.random.default_rng(3)
    offsets = numpy.concatenate(([0], numpy.cumsum(random.integers(0, 40, 20_000)))).astype(numpy.int64)
    columns = random.integers(0, 20_000, offsets[-1]).astype(numpy.uint32)
    for first, last in itertools.pairwise(offsets):
        columns[first:last].sort()
    byte_offsets, stream = encode(offsets, columns)
    assert stream.tobytes() == b"".join(
        slow_bytes([columns[a:b].tolist() for a, b in itertools.pairwise(offsets)])
    )
    again = decode(byte_offsets, stream, len(columns), numpy.uint32)
    assert numpy.array_equal(again[1], columns)


def test_rows_that_do_not_ascend_are_refused() -> None:
    with pytest.raises(ValueError, match="row 1 does not ascend"):
        encode(*csr([[1, 2], [3, 2]], numpy.uint32))


def test_row_offsets_must_fit_the_columns() -> None:
    with pytest.raises(ValueError, match="row_offsets must ascend"):
        encode(numpy.array([0, 5]), numpy.zeros(3, numpy.uint32))


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


@pytest.mark.parametrize("offsets", [[], [1, 2], [0, 30], [0, 2, 1, 2], [0, -1, 2], [0, 9, 2]])
def test_bad_byte_offsets_are_refused(offsets: list[int]) -> None:
    with pytest.raises(ValueError, match=r"byte_offsets must ascend|the rows take 30 bytes"):
        decode(numpy.array(offsets, numpy.int64), numpy.zeros(2, numpy.uint8), 2, numpy.uint32)


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
