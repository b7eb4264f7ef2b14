"""Renumbering range by range and its statistics, on CPU threads: the rows and sums that the CPU finds."""

from __future__ import annotations

import numpy
import pytest

from gravel.kernels.csr import build
from gravel.kernels.generate import generate
from gravel.kernels.order import locality, locality_cuda, permutation, renumber, renumber_cuda
from tests.emulation.strict_cupy import on_device

pytestmark = pytest.mark.usefixtures("on_cpu")


def graph(dtype: type) -> tuple[numpy.ndarray, numpy.ndarray]:
    source, target = generate("rmat", scale=9, edge_factor=8, seed=3)
    made = build(source, target, 520)  # the last rows are empty
    return made.row_offsets, made.column_indices.astype(dtype)


@pytest.mark.parametrize("dtype", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize("arcs_at_once", [1, 700, 1 << 20])
def test_rows_come_range_by_range(dtype: type, arcs_at_once: int) -> None:
    offsets, columns = graph(dtype)
    order = permutation("random", offsets, None, seed=2).astype(dtype)
    expected = renumber.apply(offsets, columns, order)
    given = on_device(offsets), on_device(columns), on_device(order)
    found = renumber_cuda.Renumbering(*given, long_row=40)
    assert numpy.array_equal(found.row_offsets, expected[0])
    ranges = list(found.ranges(arcs_at_once))
    assert [first for first, _ in ranges] == [0, *(last for _, last in ranges[:-1])]
    assert ranges[-1][1] == 520
    parts = [numpy.asarray(found.rows(*each)) for each in ranges]
    assert all(len(part) <= arcs_at_once or b - a == 1 for part, (a, b) in zip(parts, ranges, strict=True))
    assert numpy.array_equal(numpy.concatenate(parts), expected[1])
    whole = renumber_cuda.apply(*given, arcs_at_once=arcs_at_once, long_row=40)
    assert numpy.array_equal(whole[0], expected[0])
    assert numpy.array_equal(whole[1], expected[1])


@pytest.mark.parametrize("wrong", [[0, 0, 1], [0, 1, 3], [0, 1]])
def test_what_is_no_permutation_is_refused(wrong: list[int]) -> None:
    offsets, columns = numpy.array([0, 1, 2, 2]), numpy.array([1, 0], numpy.uint32)
    with pytest.raises(ValueError, match="permutation"):
        renumber_cuda.apply(
            on_device(offsets), on_device(columns), on_device(numpy.array(wrong, numpy.uint32))
        )


@pytest.mark.parametrize("dtype", [numpy.uint32, numpy.uint64])
def test_sums_of_parts_are_those_of_the_host(dtype: type) -> None:
    offsets, columns = graph(dtype)
    for first, last in ((0, 520), (0, 77), (77, 301), (512, 520)):
        part = offsets[first : last + 1]
        within = columns[part[0] : part[-1]]
        found = locality_cuda.statistics(on_device(part), on_device(within), first)
        assert found == locality.statistics(part, within, first)


@pytest.mark.parametrize("bits", [*range(1, 29, 3), 7, 14, 21, 28, 35, 31, 32, 42, 49, 56, 62])
def test_bytes_of_a_difference(bits: int) -> None:
    dtype = numpy.uint32 if bits <= 32 else numpy.uint64
    columns = numpy.array([0, 0, 1, 1 << (bits - 1), (1 << bits) - 1], dtype)
    columns.sort()
    offsets = numpy.array([0, 5])
    found = locality_cuda.statistics(on_device(offsets), on_device(columns))
    assert found == locality.statistics(offsets, columns)
