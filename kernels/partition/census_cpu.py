"""The counts of a census on the CPU, over a whole graph or a range of its rows."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial
from gravel.kernels.partition.census import LARGEST, Census, capped
from gravel.kernels.partition.distributor import buffers
from gravel.kernels.partition.distributor.buffers import COUNTING_BLOCKS
from gravel.kernels.row_blocks import row_blocks, run_blocks


def count_rows(
    row_offsets: NDArray[Any],
    columns: NDArray[Any],
    first_row: int,
    degrees: NDArray[Any],
    *,
    step: int = 1,
    per_thread: int = COUNTING_BLOCKS,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Count the arcs of a row range by their busier and by their quieter end, int64 (LARGEST + 1,).

    Parameters
    ----------
    row_offsets : int64 (rows + 1,), of the range; need not begin at 0.
    columns : of the range alone.
    degrees : `capped` degrees of all vertices.
    step : between the vertices of two rows.
    per_thread : blocks of rows for each thread, each with its own histograms.

    """

    def count(first: int, last: int) -> NDArray[Any]:
        ends: NDArray[Any] = buffers.ends().make(numpy)
        _count_ends(first, last, first_row, step, row_offsets, columns, degrees, *ends)
        return ends

    total = buffers.ends().make(numpy)
    for ends in run_blocks(count, row_blocks(row_offsets, per_thread=per_thread)):
        total += ends
    busier, quieter = total
    return busier, quieter


def take_census(row_offsets: NDArray[Any], columns: NDArray[Any]) -> Census:
    """Count a whole graph, int64 row offsets and uint32 or uint64 columns."""
    degrees = capped(numpy.diff(row_offsets))
    return Census(
        numpy.bincount(degrees, minlength=LARGEST + 1), *count_rows(row_offsets, columns, 0, degrees)
    )


@serial
def _count_ends(first, last, first_row, step, row_offsets, columns, degrees, busier, quieter):  # type: ignore[no-untyped-def]
    """Count arcs of rows by their ends; row r is vertex first_row + r * step."""
    base = row_offsets[0]
    for row in range(first, last):
        own = degrees[first_row + row * step]
        for arc in range(row_offsets[row] - base, row_offsets[row + 1] - base):
            other = degrees[numpy.int64(columns[arc])]
            busier[max(own, other)] += 1
            quieter[min(own, other)] += 1
