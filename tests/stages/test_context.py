"""Sinks in memory: arrays that grow by appending, with and without knowing how long they will be."""

import numpy
import pytest

from gravel.kernels.placement.pinned import LEAST_IN_PLACE, lines_begin
from gravel.stages.context import MemorySink, PlainContext


@pytest.mark.parametrize("rows", [None, 7])
def test_rows_come_back_in_order(rows):
    sink = PlainContext().sink(numpy.uint32, rows=rows)
    given = numpy.arange(4, dtype=numpy.uint32)
    sink.append(given)
    given[:] = 9  # what was appended was copied
    sink.append(numpy.array([4, 5, 6]))
    found = sink.close()
    assert found.dtype == numpy.uint32
    assert found.tolist() == [0, 1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("rows", [None, 3])
def test_rows_of_several_numbers(rows):
    sink = MemorySink(numpy.int32, (2,), rows=rows)
    sink.append(numpy.array([[1, 2]]))
    sink.append(numpy.array([[3, 4], [5, 6]]))
    assert sink.close().tolist() == [[1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize("rows", [None, 5])
def test_fewer_rows_than_were_to_come(rows):
    sink = MemorySink(numpy.int64, rows=rows)
    sink.append(numpy.array([1]))
    assert sink.close().tolist() == [1]
    assert MemorySink(numpy.int64, (3,), rows=rows).close().shape == (0, 3)


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_more_rows_than_were_to_come(rows):
    sink = MemorySink(numpy.int64, rows=rows)
    for first in range(0, 12, 3):
        sink.append(numpy.arange(first, first + 3))
    assert sink.close().tolist() == list(range(12))


@pytest.mark.parametrize("rows", [None, LEAST_IN_PLACE])
def test_long_arrays_begin_where_a_line_does(rows):
    sink = MemorySink(numpy.uint8, rows=rows)
    for _ in range(2):
        sink.append(numpy.zeros(LEAST_IN_PLACE // 2, numpy.uint8))
    found = sink.close()
    assert len(found) == LEAST_IN_PLACE
    assert lines_begin(found)
    assert found.flags.writeable
