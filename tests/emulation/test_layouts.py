"""The CUDA encoders and readers of all layouts, on the CPU: the twin's bytes, and back; hostile bytes too."""

from __future__ import annotations

import ctypes
import itertools
import mmap
from dataclasses import replace
from typing import Any

import numpy
import pytest

from gravel.kernels.layouts import LAYOUTS, EncodedRows, decode, device_rows, encode
from gravel.kernels.layouts.layout import padded
from gravel.kernels.layouts.varint.checkpoints import add_checkpoints
from tests.emulation.warp_kernels import WarpKernels

U32 = 2**32 - 1
NONE = 2**64 - 1
VERTICES = {"u32": numpy.uint32, "u64": numpy.uint64}
BOTH = ["u32", pytest.param("u64", marks=pytest.mark.slow)]
"""The same templates with wider numbers take as long again."""
BITS = ("blocks", "elias_fano")


def offsets_of(counts: Any) -> numpy.ndarray:
    return numpy.concatenate(([0], numpy.cumsum(counts))).astype(numpy.int64)


def sample(seed: int, dtype: Any) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Rows of every kind: random, runs, skewed gaps, repeated; short, of a block and more, and empty."""
    random = numpy.random.default_rng(seed)
    sizes = [0, 1, 2, 3, 8, 9, 17, 31, 33, 60, 255, 256, 257, 300, 0, 513, 7, 1, 40, 16, 5, 12, 700, 1]
    rows: list[numpy.ndarray] = []
    for i, size in enumerate(sizes):
        made = [
            numpy.sort(random.integers(0, U32, size, endpoint=True)),
            numpy.arange(size) + random.integers(0, 1000),
            numpy.cumsum(random.choice([1, 1, 1, 2, 5, 300, 70000], size)),
            numpy.sort(random.integers(0, 400, size)),
            numpy.cumsum(random.integers(0, 3, size)),
        ]
        rows.append(made[(i + seed) % len(made)])
    rows.append(numpy.array([0, 0, U32, U32]))
    return offsets_of([len(row) for row in rows]), numpy.concatenate(rows).astype(dtype)


def units_of(kernels: WarpKernels, arguments: tuple[Any, ...], rows: int) -> tuple[Any, Any]:
    units, weights = numpy.zeros(rows, numpy.int64), numpy.zeros(rows, numpy.int64)
    kernels.run("count_units", *arguments, rows, units, weights)
    unit_rows = numpy.repeat(numpy.arange(rows), units)
    return unit_rows, numpy.arange(len(unit_rows)) - offsets_of(units)[unit_rows]


def visits(layout: str, vertex: str) -> WarpKernels:
    return WarpKernels("tests/kernels/layouts/visit.cu", LAYOUT=layout, VERTEX=vertex)


def visited(layout: str, vertex: str, arguments: tuple[Any, ...], rows: int) -> tuple[Any, Any]:
    """Rows of all units, and their neighbours; both ways of visiting find the same."""
    counting = WarpKernels("kernels/layouts/counting.cu", LAYOUT=layout, VERTEX=vertex)
    kernels, dtype = visits(layout, vertex), VERTICES[vertex]
    unit_rows, units = units_of(counting, arguments, rows)
    count = len(unit_rows)
    counts = numpy.zeros(count, numpy.int64)
    kernels.run("measure_units", *arguments, unit_rows, units, count, counts)
    ends = offsets_of(counts)
    columns = numpy.zeros(ends[-1], dtype)
    kernels.run("write_units", *arguments, unit_rows, units, count, ends, len(columns), columns)
    tallied, sums = numpy.zeros(count, numpy.uint64), numpy.zeros(count, numpy.uint64)
    kernels.run("tally_units", *arguments, unit_rows, units, count, tallied, sums)
    assert tallied.tolist() == counts.tolist()
    upto = numpy.concatenate((numpy.zeros(1, numpy.uint64), numpy.cumsum(columns, dtype=numpy.uint64)))
    assert numpy.array_equal(sums, numpy.diff(upto[ends]))
    return numpy.bincount(unit_rows, counts, rows).astype(int), columns


@pytest.mark.parametrize("vertex", BOTH)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_unit_is_visited(layout: str, vertex: str) -> None:
    for seed in range(2):
        offsets, columns = sample(seed, VERTICES[vertex])
        rows = encode(layout, offsets, columns, bound=U32 + 1)
        ways = [rows, *([add_checkpoints(rows, columns, offsets)] if layout == "varint" else [])]
        for way, bound in itertools.product(ways, (U32 + 1, 1000)):
            counts, found = visited(layout, vertex, device_rows(way, bound=bound), len(offsets) - 1)
            assert numpy.array_equal(found, columns[columns < bound])
            assert counts.tolist() == [
                int((columns[a:b] < bound).sum()) for a, b in itertools.pairwise(offsets)
            ]
        heads = numpy.full((len(offsets) - 1, 3), 9, columns.dtype)
        arguments = device_rows(ways[-1], bound=U32 + 1)
        visits(layout, vertex).run("first_neighbours", *arguments, len(heads), 3, heads)
        assert heads.tolist() == [
            [*columns[a : min(b, a + 3)].tolist(), *[9] * 3][:3] for a, b in itertools.pairwise(offsets)
        ]


def deal(offsets: numpy.ndarray) -> tuple[Any, ...]:
    degrees = numpy.diff(offsets)
    long_rows = numpy.flatnonzero(degrees > 256)
    return offsets, len(degrees), long_rows, offsets_of((degrees[long_rows] + 255) // 256), len(long_rows)


def write(layout: str, vertex: str, offsets: Any, columns: Any, first_row: int) -> tuple[Any, Any]:
    kernels = WarpKernels(f"kernels/layouts/{layout}/write.cu", VERTEX=vertex)
    dealt, faults = deal(offsets), numpy.array([NONE], numpy.uint64)
    rows = len(offsets) - 1
    if layout == "elias_fano":
        sizes = numpy.zeros(rows, numpy.int64)
        kernels.run("measure_rows", *dealt, columns, U32, sizes, faults)
        byte_offsets = offsets_of(sizes)
        words = numpy.zeros(padded(int(byte_offsets[-1])) // 4, numpy.uint32)
        kernels.run("write_rows", *dealt, columns, U32, byte_offsets, words)
    else:
        first = offsets_of((numpy.diff(offsets) + 255) // 256)
        sizes, kinds = numpy.zeros(first[-1], numpy.int64), numpy.zeros(rows, numpy.uint8)
        kernels.run("measure_rows", *dealt, columns, first_row, first, sizes, kinds, faults)
        places = offsets_of(sizes)
        words = numpy.zeros(padded(int(places[-1])) // 4, numpy.uint32)
        kernels.run("write_rows", *dealt, columns, first_row, first, places, kinds, words)
        byte_offsets = places[first]
    assert int(faults[0]) == NONE
    return byte_offsets, words.view(numpy.uint8)


@pytest.mark.parametrize("vertex", BOTH)
@pytest.mark.parametrize("layout", BITS)
def test_the_same_bytes_and_back(layout: str, vertex: str) -> None:
    reader = WarpKernels("kernels/layouts/read.cu", LAYOUT=layout, VERTEX=vertex)
    for first_row in (0, 1000):
        offsets, columns = sample(5, VERTICES[vertex])
        expected = encode(layout, offsets, columns, first_row=first_row, bound=U32 + 1).arrays
        byte_offsets, stream = write(layout, vertex, offsets, columns, first_row)
        assert numpy.array_equal(byte_offsets, expected["byte_offsets"])
        assert numpy.array_equal(stream, expected["stream"])
        arguments, faults = (byte_offsets, stream, NONE), numpy.array([NONE], numpy.uint64)
        degrees, again = numpy.zeros(len(offsets) - 1, numpy.int64), numpy.zeros_like(columns)
        reader.run("read_degrees", *arguments, len(degrees), first_row, degrees)
        assert numpy.array_equal(degrees, numpy.diff(offsets))
        dealt = deal(offsets)
        reader.run("read_rows", *arguments, *dealt, first_row, U32, again, faults)
        reader.run("check_seams", *dealt, again, faults)
        assert numpy.array_equal(again, columns)
        assert int(faults[0]) == NONE
        reader.run("read_rows", *arguments, *dealt, first_row, U32 - 1, again, faults)
        assert int(faults[0]) == (len(degrees) - 1) << 2 | 3 or U32 in columns[: offsets[-2]]


@pytest.mark.parametrize("vertex", VERTICES)
@pytest.mark.parametrize("long_row", [16, 2048])
def test_varint_rows_come_back_by_warps_blocks_and_lanes(vertex: str, long_row: int) -> None:
    kernels = WarpKernels("kernels/layouts/varint/bytes.cu", VERTEX=vertex)
    offsets, columns = sample(1, VERTICES[vertex])
    expected, rows = encode("varint", offsets, columns).arrays, len(offsets) - 1

    def dealt(ends: numpy.ndarray) -> tuple[Any, ...]:
        long_rows = numpy.flatnonzero(numpy.diff(ends) > long_row)
        return rows, long_row, long_rows, len(long_rows)

    sizes, faults = numpy.zeros(rows, numpy.int64), numpy.array([NONE], numpy.uint64)
    kernels.run("row_sizes", offsets, columns, *dealt(offsets), sizes, faults)
    byte_offsets = offsets_of(sizes)
    stream = numpy.zeros(byte_offsets[-1], numpy.uint8)
    kernels.run("write_rows", offsets, columns, byte_offsets, *dealt(offsets), stream)
    assert numpy.array_equal(byte_offsets, expected["byte_offsets"])
    assert numpy.array_equal(stream, expected["stream"][: len(stream)])
    lengths, again = numpy.zeros(rows, numpy.int64), numpy.zeros_like(columns)
    kernels.run("row_lengths", byte_offsets, stream, *dealt(byte_offsets), lengths, faults)
    assert numpy.array_equal(lengths, numpy.diff(offsets))
    kernels.run("read_rows", byte_offsets, stream, offsets, *dealt(byte_offsets), U32, again, faults)
    assert numpy.array_equal(again, columns)
    again[:] = 0
    serial = WarpKernels("tests/kernels/layouts/read_rows_serially.cu", VERTEX=vertex)
    serial.run("read_rows_serially", byte_offsets, stream, offsets, rows, U32, again, faults)
    assert numpy.array_equal(again, columns)
    assert int(faults[0]) == NONE
    kernels.run("read_rows", byte_offsets, stream, offsets, *dealt(byte_offsets), U32 - 1, again, faults)
    assert int(faults[0]) & 3 == 3


@pytest.mark.parametrize("vertex", VERTICES)
@pytest.mark.parametrize("long_row", [1, 2048])
@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        ([0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1], 2),  # too long for any number
        ([0x80, 0x80, 0x80, 0x80, 0x80, 1], 2),  # too long for 32 bits; too large for this graph
        ([0xFF, 0xFF, 0xFF, 0xFF, 0x7F], 3),
        ([0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 1], 3),  # a sum that leaves 32 bits
        ([1, 9], 3),
    ],
)
def test_damaged_varint_rows_are_refused(vertex: str, long_row: int, stream: list[int], reason: int) -> None:
    kernels = WarpKernels("kernels/layouts/varint/bytes.cu", VERTEX=vertex)
    ends = offsets_of([len(stream)])
    arcs = sum(byte < 128 for byte in stream)
    faults, columns = numpy.array([NONE], numpy.uint64), numpy.zeros(arcs, VERTICES[vertex])
    long_rows = numpy.flatnonzero(numpy.diff(ends) > long_row)
    dealt = 1, long_row, long_rows, len(long_rows)
    kernels.run(
        "read_rows", ends, numpy.array(stream, numpy.uint8), offsets_of([arcs]), *dealt, 8, columns, faults
    )
    wide_but_whole = vertex == "u64" and len(stream) == 6 and reason == 2
    assert int(faults[0]) == (3 if wide_but_whole else reason)


class Guarded:
    """Arrays behind whose last byte memory cannot be read: a process that does ends."""

    def __init__(self) -> None:
        self._maps: list[mmap.mmap] = []

    def __call__(self, array: numpy.ndarray) -> numpy.ndarray:
        page = mmap.PAGESIZE
        whole = -(-max(array.nbytes, 1) // page) * page
        self._maps.append(mmap.mmap(-1, whole + page))
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._maps[-1]))
        assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(start + whole), page, 0) == 0
        copy = numpy.frombuffer(self._maps[-1], array.dtype, len(array), whole - array.nbytes)
        copy[:] = array
        return copy


def damaged(good: EncodedRows, trial: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Offsets and a stream that ends with its last word: some bytes changed, or all of them random."""
    random = numpy.random.default_rng(trial)
    offsets, stream = good.arrays["byte_offsets"], good.arrays["stream"].copy()
    if trial % 3 == 2:
        offsets = offsets_of(random.integers(0, 300, 12))
        stream = random.integers(0, 256, padded(int(offsets[-1]))).astype(numpy.uint8)
    else:
        stream[random.integers(0, len(stream), 1 << trial)] ^= random.integers(1, 256, dtype=numpy.uint8)
    return offsets, stream[: -(-int(offsets[-1]) // 4) * 4]


@pytest.mark.parametrize("vertex", BOTH)
@pytest.mark.parametrize("layout", ["varint", *BITS])
def test_hostile_bytes_lead_nowhere_else(layout: str, vertex: str) -> None:
    dtype, guarded = VERTICES[vertex], Guarded()
    good = encode(layout, *sample(3, dtype), bound=U32 + 1)
    for trial in range(6):
        byte_offsets, stream = map(guarded, damaged(good, trial))
        rows = len(byte_offsets) - 1
        none = (0,) if layout == "varint" else ()
        _, found = visited(layout, vertex, (byte_offsets, stream, *none, 5000), rows)
        assert (found < 5000).all()
        if layout == "varint" or trial % 3 == 2:
            continue
        reader = WarpKernels("kernels/layouts/read.cu", LAYOUT=layout, VERTEX=vertex)
        degrees = numpy.zeros(rows, numpy.int64)
        reader.run("read_degrees", byte_offsets, stream, NONE, rows, 0, degrees)
        offsets, faults = offsets_of(degrees), numpy.array([NONE], numpy.uint64)
        if offsets[-1] > 100_000:
            continue
        columns, dealt = guarded(numpy.zeros(offsets[-1], dtype)), deal(offsets)
        reader.run("read_rows", byte_offsets, stream, NONE, *dealt, 0, U32, columns, faults)
        reader.run("check_seams", *dealt, columns, faults)
        whole = numpy.append(stream, numpy.zeros(-len(stream) % 16, numpy.uint8))
        arrays = {"byte_offsets": numpy.array(byte_offsets), "stream": whole}
        try:
            expected = decode(replace(good, arrays=arrays, arc_count=len(columns)), bound=U32 + 1)
        except ValueError:
            continue
        assert int(faults[0]) == NONE
        assert numpy.array_equal(columns, expected[1])
