"""Every layout of rows gives back what was written, in the stated format, and refuses what is no row."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gravel.kernels.layouts import ALIGNMENT, LAYOUTS, decode, device_rows, encode
from gravel.kernels.layouts.varint import UNIT_BYTES
from gravel.kernels.layouts.varint.checkpoints import add_checkpoints
from tests.zoo import zoo

U32 = 2**32 - 1
U64 = 2**64 - 1
STREAMS = [layout for layout in LAYOUTS if layout != "csr"]
DTYPES = {U32: numpy.uint32, U64: numpy.uint64}


def csr(rows: list[list[int]], dtype: type) -> tuple[numpy.ndarray, numpy.ndarray]:
    offsets = numpy.cumsum([0, *map(len, rows)]).astype(numpy.int64)
    return offsets, numpy.array([v for row in rows for v in row], dtype)


def class_code(number: int, bits: int) -> str:
    """Class and offset the obvious way, lowest bit first."""
    bases = [2**c - 1 for c in range(15)] + [2**14 - 1 + 2**18]
    widths = [*range(14), 18, bits]
    found = max(c for c, base in enumerate(bases) if base <= number)
    return bit_string(found, 4) + bit_string(number - bases[found], widths[found])


def bit_string(number: int, width: int) -> str:
    return "".join(str(number >> i & 1) for i in range(width))


def split_string(values: list[int], low: int) -> str:
    highs = [0] * ((values[-1] >> low) + len(values))
    for i, value in enumerate(values):
        highs[(value >> low) + i] = 1
    return "".join(bit_string(value, low) for value in values) + "".join(map(str, highs))


def slow_block(values: list[int], bits: int) -> tuple[str, str]:
    """Kind and body."""
    if len(values) == 1:
        return "", ""
    rests = [value - values[0] for value in values[1:]]
    low = max(0, (rests[-1] // len(rests)).bit_length() - 1)
    split = "0" + bit_string(low, 5 if bits == 32 else 6), split_string(rests, low)
    gaps = [b - a for a, b in itertools.pairwise(values)]
    codes = [class_code(gap - 2, bits) for gap in gaps if gap > 1]
    flags = "".join(str(int(gap != 1)) for gap in gaps)
    by_class = "1", flags + "".join(code[:4] for code in codes) + "".join(code[4:] for code in codes)
    return split if 0 in gaps or sum(map(len, split)) <= sum(map(len, by_class)) else by_class


def to_bytes(bits: str) -> bytes:
    bits += "0" * (-len(bits) % 8)
    return bytes(int(bits[i : i + 8][::-1], 2) for i in range(0, len(bits), 8))


def slow_blocks_row(v: int, row: list[int], bits: int, bound: int) -> bytes:
    if not row:
        return b""
    wrapped = (row[0] - v) % 2**bits
    signed = wrapped - 2**bits if wrapped >= 2 ** (bits - 1) else wrapped
    codes = class_code(len(row) - 1, bits), class_code(2 * signed if signed >= 0 else -2 * signed - 1, bits)
    parts = [row[i : i + 256] for i in range(0, len(row), 256)]
    (kind, first), *others = (slow_block(part, bits) for part in parts)
    start = codes[0][:4] + codes[1][:4] + kind + codes[0][4:] + codes[1][4:]
    written = [to_bytes("".join(block)) for block in others]
    size = (len(start) + len(others) * (32 + bits) + len(first) + 7) // 8
    directory = ""
    for part, block in zip(parts[1:], written, strict=True):
        directory += bit_string(size, 32) + bit_string(part[0], bits)
        size += len(block)
    return to_bytes(start + directory + first) + b"".join(written)


def slow_elias_fano_row(v: int, row: list[int], bits: int, bound: int) -> bytes:
    if not row:
        return b""
    low = max(0, (max(bound - 1, row[-1]) // len(row)).bit_length() - 1)
    code = class_code(len(row) - 1, bits)
    start = code[:4] + bit_string(low, 5 if bits == 32 else 6) + code[4:]
    samples = "".join(bit_string((row[k - 1] >> low) + k, 32) for k in range(256, len(row), 256))
    return to_bytes(start + samples + split_string(row, low))


def slow_varint_row(v: int, row: list[int], bits: int, bound: int) -> bytes:
    """LEB128 gaps."""
    written = bytearray()
    for before, value in itertools.pairwise([0, *row]):
        gap = value - before
        while gap > 127:
            written.append(gap % 128 + 128)
            gap //= 128
        written.append(gap)
    return bytes(written)


SLOW = {"varint": slow_varint_row, "blocks": slow_blocks_row, "elias_fano": slow_elias_fano_row}


def check_round_trip(layout: str, rows: list[list[int]], largest: int) -> None:
    dtype = DTYPES[largest]
    bits = 32 if largest == U32 else 64
    offsets, columns = csr(rows, dtype)
    encoded = encode(layout, offsets, columns)
    assert (encoded.vertex_count, encoded.arc_count) == (len(rows), len(columns))
    if layout in SLOW:
        expected = [SLOW[layout](v, row, bits, len(rows)) for v, row in enumerate(rows)]
        ends = numpy.cumsum([0, *map(len, expected)])
        assert encoded.arrays["stream"].dtype == numpy.uint8
        assert encoded.arrays["stream"][: ends[-1]].tobytes() == b"".join(expected)
        assert encoded.arrays["byte_offsets"].dtype == numpy.int64
        assert numpy.array_equal(encoded.arrays["byte_offsets"], ends)
    if layout in STREAMS:
        end, stream = int(encoded.arrays["byte_offsets"][-1]), encoded.arrays["stream"]
        assert len(stream) % ALIGNMENT == 0
        assert len(stream) - end < ALIGNMENT
        assert not stream[end:].any()
    again = decode(encoded, bound=largest + 1)
    assert numpy.array_equal(again[0], offsets)
    assert numpy.array_equal(again[1], columns)
    assert again[1].dtype == dtype


def rows_of(largest: int) -> st.SearchStrategy[list[list[int]]]:
    edges = [0, 1, 127, 128, 2**14 - 1, 2**14, 2**14 + 2**18, largest - 1, largest]
    values = st.integers(0, largest) | st.integers(0, 300) | st.sampled_from(edges)
    steps = st.lists(st.integers(0, 3), max_size=40).map(lambda gaps: list(itertools.accumulate(gaps)))
    return st.lists(st.lists(values, max_size=12).map(sorted) | steps, max_size=12)


EDGE_ROWS: list[list[list[int]]] = [
    [],
    [[]],
    [[], [], []],
    [[0]],
    [[U32]],
    [[0, U32]],
    [[5, 5, 5]],
    [[U32, U32]],
    [[], [7], []],
    [list(range(257))],
    [list(range(0, 5120, 10)), [*range(300), U32]],
    [[3] * 600],
]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("largest", [U32, U64])
def test_edge_rows_come_back(layout: str, largest: int) -> None:
    for rows in EDGE_ROWS:
        check_round_trip(layout, rows, largest)
        check_round_trip(layout, [[largest if v == U32 else v for v in row] for row in rows], largest)


@pytest.mark.parametrize("layout", STREAMS)
@settings(max_examples=50, deadline=None)
@given(rows=rows_of(U32))
@example(rows=[[0, 2**31]])
def test_uint32_rows_come_back(layout: str, rows: list[list[int]]) -> None:
    check_round_trip(layout, rows, U32)


@pytest.mark.parametrize("layout", STREAMS)
@settings(max_examples=50, deadline=None)
@given(rows=rows_of(U64))
@example(rows=[[2**63], [1, 2**63 + 5]])
def test_uint64_rows_come_back(layout: str, rows: list[list[int]]) -> None:
    check_round_trip(layout, rows, U64)


@pytest.mark.parametrize("layout", STREAMS)
@settings(max_examples=20, deadline=None)
@given(st.data())
def test_long_rows_come_back(layout: str, data: st.DataObject) -> None:
    random = numpy.random.default_rng(data.draw(st.integers(0, 2**32)))
    length, span = data.draw(st.integers(200, 1500)), data.draw(st.sampled_from([600, 2**16, U32]))
    rows = [numpy.sort(random.integers(0, span, length, endpoint=True)).tolist() for _ in range(3)]
    check_round_trip(layout, [rows[0], [], sorted(set(rows[1])), [4], rows[2]], U32)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_zoo_comes_back(layout: str) -> None:
    for graph in zoo():
        for raw, symmetric in ((False, True), (True, False)):
            offsets, columns = graph.csr(raw=raw, symmetric=symmetric)
            again = decode(encode(layout, offsets, columns))
            assert numpy.array_equal(again[0], offsets), graph.name
            assert numpy.array_equal(again[1], columns), graph.name


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", ["random", "run", "steps"])
def test_ten_million_neighbours_come_back(layout: str, kind: str) -> None:
    random = numpy.random.default_rng(5)
    count = 10_000_000
    columns = {
        "random": lambda: numpy.sort(random.integers(0, U32, count, dtype=numpy.uint32)),
        "run": lambda: numpy.arange(count, dtype=numpy.uint32),
        "steps": lambda: numpy.cumsum(random.geometric(0.01, count)).astype(numpy.uint32),
    }[kind]()
    offsets = numpy.array([0, 0, count, count], numpy.int64)
    again = decode(encode(layout, offsets, columns), bound=U32 + 1)
    assert numpy.array_equal(again[0], offsets)
    assert numpy.array_equal(again[1], columns)


@pytest.mark.parametrize("layout", STREAMS)
def test_rows_in_ranges_have_the_bytes_of_all_at_once(layout: str) -> None:
    random = numpy.random.default_rng(3)
    offsets = numpy.concatenate(([0], numpy.cumsum(random.integers(0, 60, 9_000)))).astype(numpy.int64)
    columns = random.integers(0, 9_000, offsets[-1]).astype(numpy.uint32)
    for first, last in itertools.pairwise(offsets):
        columns[first:last].sort()
    whole = encode(layout, offsets, columns)
    parts = []
    for first, last in ((0, 1000), (1000, 1001), (1001, 9000)):
        base, end = offsets[first], offsets[last]
        part = encode(
            layout, offsets[first : last + 1] - base, columns[base:end], first_row=first, bound=9_000
        )
        parts.append(part.arrays["stream"][: int(part.arrays["byte_offsets"][-1])])
        again = decode(part, bound=9_000)
        assert numpy.array_equal(again[1], columns[base:end])
    joined = numpy.concatenate(parts)
    assert numpy.array_equal(joined, whole.arrays["stream"][: len(joined)])
    assert numpy.array_equal(decode(whole)[1], columns)


@pytest.mark.parametrize("layout", STREAMS)
def test_rows_that_do_not_ascend_are_refused(layout: str) -> None:
    for row in ([3, 2], [*range(256), 1], [*range(300), 299, 298]):
        with pytest.raises(ValueError, match="row 1 does not ascend"):
            encode(layout, *csr([[1, 2], row], numpy.uint32))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_offsets_must_fit(layout: str) -> None:
    with pytest.raises(ValueError, match="row_offsets must ascend"):
        encode(layout, numpy.array([0, 5]), numpy.zeros(3, numpy.uint32))


def test_unknown_layouts_are_refused() -> None:
    with pytest.raises(ValueError, match="is no layout; there are csr"):
        encode("zip", *csr([[1]], numpy.uint32))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_wrong_expectations_are_refused(layout: str) -> None:
    rows = encode(layout, *csr([[1, 2], [0]], numpy.uint32))
    with pytest.raises(ValueError, match="4"):
        decode(rows, arc_count=4)
    with pytest.raises(ValueError, match="not in the graph"):
        decode(rows, bound=2)
    with pytest.raises(ValueError, match=r"not in the graph|must ascend"):
        decode(rows, bound=0)


@pytest.mark.parametrize("layout", STREAMS)
@pytest.mark.parametrize("offsets", [[], [1, 2], [0, 30], [0, 2, 1, 2], [0, -1, 2], [0, 9, 2]])
def test_bad_byte_offsets_are_refused(layout: str, offsets: list[int]) -> None:
    rows = encode(layout, *csr([[1, 2], [0]], numpy.uint32))
    arrays = {**rows.arrays, "byte_offsets": numpy.array(offsets, numpy.int64)}
    with pytest.raises(ValueError, match=r"byte_offsets|the stream has"):
        decode(replace(rows, arrays=arrays))


@pytest.mark.parametrize("layout", STREAMS)
@settings(max_examples=60, deadline=None)
@given(data=st.data(), largest=st.sampled_from([U32, U64]))
def test_any_bytes_are_read_or_refused(layout: str, data: st.DataObject, largest: int) -> None:
    """Where bytes are accepted, rows ascend below the bound; nothing else can be said of them."""
    parts = data.draw(st.lists(st.binary(max_size=40), max_size=5))
    offsets = numpy.cumsum([0, *map(len, parts)]).astype(numpy.int64)
    joined = b"".join(parts)
    stream = numpy.frombuffer(joined + bytes(-len(joined) % ALIGNMENT), numpy.uint8)
    arcs = data.draw(st.integers(0, 60))
    rows = encode(layout, *csr([[] for _ in parts], DTYPES[largest]))
    rows = replace(rows, arc_count=arcs, arrays={"byte_offsets": offsets, "stream": stream})
    bound = data.draw(st.sampled_from([1, 40, largest + 1]))
    try:
        found = decode(rows, bound=bound)
    except ValueError:
        return
    assert len(found[1]) == arcs
    assert all(int(v) < bound for v in found[1])
    for first, last in itertools.pairwise(found[0]):
        row = found[1][first:last]
        assert (row[1:] >= row[:-1]).all()


@pytest.mark.parametrize("layout", STREAMS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_changed_bytes_are_read_or_refused(layout: str, data: st.DataObject) -> None:
    random = numpy.random.default_rng(9)
    rows = [sorted(random.integers(0, 900, size).tolist()) for size in (3, 40, 700)]
    good = encode(layout, *csr([*rows, *[[]] * 900], numpy.uint32))
    stream = good.arrays["stream"].copy()
    for _ in range(data.draw(st.integers(1, 4))):
        stream[data.draw(st.integers(0, len(stream) - 1))] = data.draw(st.integers(0, 255))
    try:
        _, columns = decode(replace(good, arrays={**good.arrays, "stream": stream}))
    except ValueError:
        return
    assert columns.max() < 903


def test_checkpoints_are_the_neighbours_before_each_cut() -> None:
    random = numpy.random.default_rng(1)
    rows = [[], list(range(70)), sorted(random.integers(0, U32, 3000).tolist()), [9], list(range(2000))]
    offsets, columns = csr(rows, numpy.uint32)
    encoded = add_checkpoints(encode("varint", offsets, columns), columns, offsets)
    stream, starts = encoded.arrays["stream"], encoded.arrays["byte_offsets"]
    expected = []
    for place in range(0, len(stream), UNIT_BYTES):
        row = max(v for v in range(len(rows)) if starts[v] <= place)
        ended = int((stream[starts[row] : place] < 128).sum())
        expected.append(rows[row][ended - 1] if ended else 0)
    assert len(expected) > 3
    assert encoded.arrays["checkpoints"].tolist() == expected
    assert numpy.array_equal(decode(encoded, bound=U32 + 1)[1], columns)


def test_device_arguments_keep_their_order() -> None:
    rows = encode("csr", *csr([[1], [0]], numpy.uint32))
    offsets, columns, bound = device_rows(rows)
    assert int(offsets) == rows.arrays["row_offsets"].ctypes.data
    assert int(columns) == rows.arrays["column_indices"].ctypes.data
    assert int(bound) == 2
    assert int(device_rows(encode("varint", *csr([[1]], numpy.uint32)), bound=9)[2]) == 0
