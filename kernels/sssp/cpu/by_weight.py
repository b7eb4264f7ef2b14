"""Rows whose arcs ascend by weight, so that a search reads those arcs of a row that matter to it.

Arcs are ordered by classes of weights, of which the leading bits say which: a power of two of neighbouring
integers, or of neighbouring floats, whose bits are ordered as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy
from numba import types
from numba.core.errors import TypingError
from numpy.typing import NDArray

from gravel.kernels.generated import generated
from gravel.kernels.jit import serial
from gravel.kernels.row_blocks import row_blocks, run_blocks
from gravel.kernels.sssp.concentrated import BUCKETS, is_share_of_most
from gravel.kernels.sssp.weights import WeightedRows

CLASSES = 256
"""Of weights, at most; with them a row is ordered by counting."""

SHORT = 48
"""Arcs of a row that is ordered by insertion: about as many steps as counters of all classes take."""


@dataclass(frozen=True)
class RowsByWeight:
    """Columns and weights, as those of `WeightedRows` but in each row in ascending classes.

    `mask` leaves the leading bits of a weight, which are the least weight of its class. `symmetric` says that
    every arc has one back with its weight.
    """

    columns: NDArray[Any]
    weights: NDArray[Any]
    mask: numpy.uint32
    symmetric: bool


def is_concentrated(rows: WeightedRows, distance: NDArray[Any], width: float) -> bool | None:
    """Whether two neighbouring buckets of a search, `width` wide, have most arcs; see `concentrated`."""
    arcs, most = _arcs_of_buckets(rows.row_offsets, distance, width)
    return is_share_of_most(rows, arcs, most)


@serial
def _arcs_of_buckets(row_offsets: NDArray[Any], distance: NDArray[Any], width: float) -> Any:
    """Count the arcs of reached vertices, and the most of two neighbouring buckets."""
    counts = numpy.zeros(BUCKETS, numpy.int64)
    total = most = numpy.int64(0)
    for v in range(len(distance)):
        if 0 <= distance[v] < numpy.inf:
            arcs = row_offsets[v + 1] - row_offsets[v]
            counts[numpy.int64(distance[v] / width) % BUCKETS] += arcs
            total += arcs
    for each in range(BUCKETS):
        most = max(most, counts[each] + counts[(each + 1) % BUCKETS])
    return total, most


def is_symmetric(rows: WeightedRows, place: NDArray[Any]) -> bool:
    """Whether every arc has one back with its weight, where nobody has said so.

    Each arc is held against the next of the other row, so that no two have the same one back. Rows that do
    not ascend, or parallel arcs that do not by weight, may be taken for directed ones, never others for
    symmetric. `place` is int64 (vertices,), whatever it holds.
    """
    if rows.symmetric is not None:
        return rows.symmetric
    keys = rows.weights.view(numpy.uint32)
    return bool(_each_has_one_back(rows.row_offsets, rows.column_indices, keys, place))


@serial
def _each_has_one_back(
    row_offsets: NDArray[Any], columns: NDArray[Any], keys: NDArray[Any], place: NDArray[Any]
) -> bool:
    n = len(row_offsets) - 1
    place[:] = row_offsets[:n]
    for u in range(n):
        for k in range(row_offsets[u], row_offsets[u + 1]):
            v = numpy.int64(columns[k])
            back = place[v]
            if back == row_offsets[v + 1] or numpy.int64(columns[back]) != u or keys[back] != keys[k]:
                return False
            place[v] = back + 1
    return True


def order_by_weight(rows: WeightedRows, *, symmetric: bool) -> RowsByWeight:
    """Copy rows in the order of weights, on all threads."""
    keys = rows.weights.view(numpy.uint32)
    columns, ordered = numpy.empty_like(rows.column_indices), numpy.empty_like(keys)
    blocks = row_blocks(rows.row_offsets)
    bounds = run_blocks(lambda low, high: _bounds(keys, rows.row_offsets, low, high), blocks)
    least, most = min((low for low, _ in bounds), default=0), max((high for _, high in bounds), default=0)
    shift = 0
    while (most >> shift) - (least >> shift) + 2 > CLASSES:
        shift += 1
    graph = (rows.row_offsets, rows.column_indices, keys, columns, ordered, least >> shift, shift)
    run_blocks(lambda low, high: _order(*graph, low, high), blocks)
    mask = numpy.uint32((0xFFFFFFFF >> shift) << shift)
    return RowsByWeight(columns, ordered.view(rows.weights.dtype), mask, symmetric)


@serial
def _bounds(keys: NDArray[Any], row_offsets: NDArray[Any], low: int, high: int) -> Any:
    """Find the least weight above zero and the largest one, as bits."""
    least, most = numpy.int64(0xFFFFFFFF), numpy.int64(0)
    for k in range(row_offsets[low], row_offsets[high]):
        key = numpy.int64(keys[k])
        most = max(most, key)
        if key > 0:
            least = min(least, key)
    return min(least, most), most


@serial
def _class_of(key: Any, base: int, shift: int) -> Any:
    """Number classes from 1 on; 0 is that of zero."""
    return max(numpy.int64(0), (numpy.int64(key) >> shift) - base + 1)


@serial
def _order(
    row_offsets: NDArray[Any],
    columns: NDArray[Any],
    keys: NDArray[Any],
    ordered_columns: NDArray[Any],
    ordered: NDArray[Any],
    base: int,
    shift: int,
    low: int,
    high: int,
) -> None:
    """Order some rows: short ones by insertion, others by counting classes."""
    counts = numpy.zeros(CLASSES + 1, numpy.int64)
    for u in range(low, high):
        begin, end = row_offsets[u], row_offsets[u + 1]
        if end - begin <= SHORT:
            for k in range(begin, end):
                key, column = keys[k], columns[k]
                at = k
                while at > begin and ordered[at - 1] > key:
                    ordered[at], ordered_columns[at] = ordered[at - 1], ordered_columns[at - 1]
                    at -= 1
                ordered[at], ordered_columns[at] = key, column
            continue
        counts[:] = 0
        for k in range(begin, end):
            counts[_class_of(keys[k], base, shift) + 1] += 1
        for each in range(CLASSES):
            counts[each + 1] += counts[each]
        for k in range(begin, end):
            each = _class_of(keys[k], base, shift)
            at = begin + counts[each]
            counts[each] += 1
            ordered[at], ordered_columns[at] = keys[k], columns[k]


@generated(lambda weight, mask: (weight.view(numpy.uint32) & mask).view(weight.dtype))
def least_of_class(typing_context: Any, weight: Any, mask: Any) -> tuple[Any, Any]:
    """Return the least weight, uint32 or float32, of a weight's class."""
    if weight not in (types.uint32, types.float32) or mask is not types.uint32:
        raise TypingError(f"weights are uint32 or float32 and masks uint32; not {weight} and {mask}")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        given, leading = arguments
        if weight is types.uint32:
            return builder.and_(given, leading)
        return builder.bitcast(builder.and_(builder.bitcast(given, leading.type), leading), given.type)

    return weight(weight, mask), generate
