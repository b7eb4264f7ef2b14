"""Every layout on CUDA: the bytes of the CPU twin, and back, whole, unit by unit, and from damaged bytes."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy
import pytest

from gravel.kernels.layouts import LAYOUTS, EncodedRows, decode, device_rows, encode
from gravel.kernels.layouts.counting import list_units, unit_counts
from gravel.kernels.layouts.varint import UNIT_BYTES
from gravel.kernels.layouts.varint.checkpoints import add_checkpoints
from tests.kernels.cuda_case import ZOO, fast_csr, names, on_device, rmat
from tests.kernels.layouts.visits import first_neighbours, visit_kernel

pytestmark = pytest.mark.gpu

U32 = 2**32 - 1
STREAMS = [layout for layout in LAYOUTS if layout != "csr"]
GRID = (64,), (128,)


def hubs() -> tuple[numpy.ndarray, numpy.ndarray]:
    """Long rows of every kind among short ones; ids to the largest of 32 bits."""
    random = numpy.random.default_rng(2)
    rows = [
        numpy.sort(random.integers(0, U32, 5000, endpoint=True)),
        numpy.array([0, 0, U32, U32]),
        numpy.arange(3000),
        numpy.array([], int),
        numpy.cumsum(random.integers(1, 4, 2000)),
        numpy.full(700, 77),
        numpy.arange(256) * 1000,
        numpy.arange(257) * 7,
        numpy.sort(random.integers(0, 300, 900)),
        numpy.concatenate([numpy.arange(500), U32 - 400 + numpy.arange(400)]),
    ]
    offsets = numpy.cumsum([0, *map(len, rows)]).astype(numpy.int64)
    return offsets, numpy.concatenate(rows).astype(numpy.uint32)


def units_of(rows: EncodedRows, bound: int) -> tuple[list[int], list[int], numpy.ndarray]:
    """Rows and units, and their neighbours one after the other, as a warp visits them."""
    import cupy

    unit_rows, units = list_units(rows)
    count = numpy.uint64(len(units))
    counts = cupy.zeros(len(units), cupy.int64)
    arguments = *device_rows(rows, bound=bound), unit_rows, units, count
    visit_kernel(rows, "measure_units")(*GRID, (*arguments, counts))
    places = cupy.cumsum(counts) - counts
    total = int(counts.sum())
    columns = cupy.zeros(total, rows.dtype)
    visit_kernel(rows, "write_units")(*GRID, (*arguments, places, numpy.uint64(total), columns))
    return unit_rows.get().tolist(), counts.get().tolist(), columns.get()


def check_tallies(rows: EncodedRows, bound: int, counts: list[int], columns: numpy.ndarray) -> None:
    """Units that 32 lanes bring have the neighbours that a warp visits unit by unit."""
    import cupy

    unit_rows, units = list_units(rows)
    found, sums = (cupy.zeros(len(units), cupy.uint64) for _ in range(2))
    arguments = *device_rows(rows, bound=bound), unit_rows, units, numpy.uint64(len(units)), found, sums
    visit_kernel(rows, "tally_units")(*GRID, arguments)
    assert found.get().tolist() == counts
    upto = numpy.concatenate((numpy.zeros(1, numpy.uint64), numpy.cumsum(columns, dtype=numpy.uint64)))
    ends = numpy.concatenate(([0], numpy.cumsum(counts, dtype=numpy.int64)))
    numpy.testing.assert_array_equal(sums.get(), numpy.diff(upto[ends]))


def check_visits(rows: EncodedRows, offsets: numpy.ndarray, columns: numpy.ndarray, bound: int) -> None:
    unit_rows, counts, found = units_of(rows, bound)
    numpy.testing.assert_array_equal(found, columns[columns.astype(numpy.uint64) < bound])
    check_tallies(rows, bound, counts, found)
    below = numpy.add.reduceat(
        numpy.append(columns.astype(numpy.uint64) < bound, False), offsets[:-1], dtype=numpy.int64
    )
    below[numpy.diff(offsets) == 0] = 0
    numpy.testing.assert_array_equal(numpy.bincount(unit_rows, counts, len(offsets) - 1), below)


@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("graph", [*ZOO, rmat(13)], ids=names)
def test_the_same_bytes_and_back(graph, layout, index) -> None:
    offsets, columns = fast_csr(graph, symmetric=True, index=index)
    expected = encode(layout, offsets, columns)
    found = encode(layout, *on_device(offsets, columns))
    for name, array in expected.arrays.items():
        numpy.testing.assert_array_equal(found.arrays[name].get(), array, err_msg=name)
    again = decode(found)
    assert again[1].dtype == index
    numpy.testing.assert_array_equal(again[0].get(), offsets)
    numpy.testing.assert_array_equal(again[1].get(), columns)
    check_visits(found, offsets, columns, graph.vertex_count)


@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_hubs_and_the_largest_ids(layout, index) -> None:
    offsets, columns = hubs()
    columns = columns.astype(index)
    expected = encode(layout, offsets, columns, bound=U32 + 1)
    found = encode(layout, *on_device(offsets, columns), bound=U32 + 1)
    for name, array in expected.arrays.items():
        numpy.testing.assert_array_equal(found.arrays[name].get(), array, err_msg=name)
    again = decode(found, bound=U32 + 1)
    numpy.testing.assert_array_equal(again[0].get(), offsets)
    numpy.testing.assert_array_equal(again[1].get(), columns)
    check_visits(found, offsets, columns, U32 + 1)
    check_visits(found, offsets, columns, 1000)
    heads = first_neighbours(found, 3, 9, bound=U32 + 1).get()
    for v, (begin, end) in enumerate(itertools.pairwise(offsets)):
        assert heads[v].tolist() == [*columns[begin : min(end, begin + 3)], *[9] * 3][:3]


@pytest.mark.parametrize("layout", STREAMS)
def test_large_numbers_of_64_bits(layout) -> None:
    values = [0, 0, 127, 1 << 14, (1 << 18) + (1 << 14), 1 << 35, 1 << 63, (1 << 64) - 2]
    offsets, columns = numpy.array([0, 0, len(values)]), numpy.array(values, numpy.uint64)
    expected = encode(layout, offsets, columns, bound=1 << 64)
    found = encode(layout, *on_device(offsets, columns), bound=1 << 64)
    numpy.testing.assert_array_equal(found.arrays["stream"].get(), expected.arrays["stream"])
    numpy.testing.assert_array_equal(decode(found, bound=(1 << 64) - 1)[1].get(), columns)


def test_checkpoints_cut_varint_rows() -> None:
    offsets, columns = hubs()
    host = add_checkpoints(encode("varint", offsets, columns), columns, offsets)
    arrays = on_device(offsets, columns)
    found = add_checkpoints(encode("varint", *arrays), arrays[1], arrays[0])
    numpy.testing.assert_array_equal(found.arrays["checkpoints"].get(), host.arrays["checkpoints"])
    units, weights = unit_counts(found)
    assert int(units.max()) > 10
    assert (units.get()[weights.get() <= UNIT_BYTES] <= 1).all()
    check_visits(found, offsets, columns, U32 + 1)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_visitor_can_stop(layout) -> None:
    import cupy

    offsets, columns = hubs()
    rows = encode(layout, *on_device(offsets, columns), bound=U32 + 1)
    unit_rows, units = list_units(rows)
    counts = cupy.zeros(len(units), cupy.int64)
    arguments = *device_rows(rows, bound=U32 + 1), unit_rows, units, numpy.uint64(len(units))
    visit_kernel(rows, "stop_units")(*GRID, (*arguments, numpy.uint64(2000), counts))
    found = numpy.bincount(unit_rows.get(), counts.get(), len(offsets) - 1)
    wanted = [int((columns[a:b] < 2000).sum()) for a, b in itertools.pairwise(offsets)]
    assert found.tolist() == wanted


@pytest.mark.parametrize("layout", STREAMS)
def test_rows_in_ranges_have_the_bytes_of_all_at_once(layout) -> None:
    graph = rmat(10)
    offsets, columns = fast_csr(graph, symmetric=True)
    whole = encode(layout, offsets, columns)
    base = offsets[300]
    part = encode(
        layout, *on_device(offsets[300:] - base, columns[base:]), first_row=300, bound=graph.vertex_count
    )
    start = whole.arrays["byte_offsets"][300]
    size = int(part.arrays["byte_offsets"][-1])
    numpy.testing.assert_array_equal(
        part.arrays["stream"][:size].get(), whole.arrays["stream"][start : start + size]
    )
    numpy.testing.assert_array_equal(decode(part, bound=graph.vertex_count)[1].get(), columns[base:])


@pytest.mark.parametrize("layout", STREAMS)
def test_rows_that_do_not_ascend_are_refused(layout) -> None:
    for row in ([3, 2], [*range(256), 1], [*range(300), 299, 298]):
        offsets = numpy.array([0, 2, 2 + len(row)], numpy.int64)
        with pytest.raises(ValueError, match="row 1 does not ascend"):
            encode(layout, *on_device(offsets, numpy.array([1, 2, *row], numpy.uint32)))
    with pytest.raises(ValueError, match="must ascend from 0 to 2"):
        encode(layout, *on_device(numpy.array([0, 3, 2]), numpy.zeros(2, numpy.uint32)))


@pytest.mark.parametrize("layout", ["blocks", "elias_fano"])
def test_wrong_expectations_are_refused(layout) -> None:
    rows = encode(layout, *on_device(numpy.array([0, 2, 3]), numpy.array([1, 2, 0], numpy.uint32)))
    with pytest.raises(ValueError, match="should hold 4"):
        decode(rows, arc_count=4)
    with pytest.raises(ValueError, match=r"row 0 .* not in the graph"):
        decode(rows, bound=2)


@pytest.mark.parametrize("layout", ["blocks", "elias_fano"])
def test_damaged_bytes_are_read_as_the_cpu_reads_them_or_refused(layout) -> None:
    random = numpy.random.default_rng(4)
    offsets, columns = hubs()
    good = encode(layout, offsets, columns, bound=U32 + 1)
    refused = 0
    for trial in range(40):
        stream = good.arrays["stream"].copy()
        for at in random.integers(0, len(stream), 1 + trial % 5):
            stream[at] = random.integers(0, 256)
        bad = replace(good, arrays={**good.arrays, "stream": stream})
        try:
            expected = decode(bad, bound=U32 + 1)
        except ValueError:
            expected = None
        arrays = dict(zip(bad.arrays, on_device(*bad.arrays.values()), strict=True))
        on_gpu = replace(bad, arrays=arrays)
        try:
            found = decode(on_gpu, bound=U32 + 1)
        except ValueError:
            assert expected is None
            refused += 1
        else:
            assert all((found[1][a + 1 : b] >= found[1][a : b - 1]).all() for a, b in ((0, 5000),))
            if expected is not None:
                numpy.testing.assert_array_equal(found[1].get(), expected[1])
        units_of(on_gpu, 10_000)  # ends, and faults nowhere
    assert refused > 10


@pytest.mark.parametrize("layout", STREAMS)
def test_random_bytes_are_visited_without_harm(layout) -> None:
    random = numpy.random.default_rng(6)
    offsets = numpy.cumsum([0, *random.integers(0, 3000, 40)]).astype(numpy.int64)
    stream = random.integers(0, 256, -(-int(offsets[-1]) // 16) * 16).astype(numpy.uint8)
    arrays = dict(zip(("byte_offsets", "stream"), on_device(offsets, stream), strict=True))
    rows = EncodedRows(layout, 40, 0, numpy.dtype(numpy.uint32), arrays)
    _, _, found = units_of(rows, 5000)
    assert found.size == 0 or int(found.max()) < 5000
