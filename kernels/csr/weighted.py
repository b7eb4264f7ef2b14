"""Sorted rows with a weight for each arc, on the CPU.

A column and the bits of its weight are sorted as one 64-bit key, so that parallel arcs of a row, too, have an
order that does not depend on that of the edges.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from gravel.kernels.csr import buffers, degrees
from gravel.kernels.csr.rows import arc_ends
from gravel.kernels.csr.sort import LONG_ROW, long_rows, sort_piece
from gravel.kernels.jit import serial
from gravel.kernels.row_blocks import row_blocks, run_blocks

DUPLICATES = ("minimum", "sum", "error", "keep")


class WeightedRows(NamedTuple):
    """`row_offsets` int64 (vertices + 1,), `column_indices` uint32 and `weights` (arcs,), and kept loops."""

    row_offsets: NDArray[numpy.int64]
    column_indices: NDArray[numpy.uint32]
    weights: NDArray[Any]
    loop_count: int


def build_weighted(
    source: NDArray[Any],
    target: NDArray[Any],
    weights: NDArray[Any],
    vertex_count: int,
    *,
    direction: str = "both",
    duplicates: str = "minimum",
    keep_loops: bool = False,
) -> WeightedRows:
    """Build sorted rows of weighted edges.

    Parameters
    ----------
    source, target : uint32 (edges,). weights : uint32, int32 or float32 (edges,).
    direction, keep_loops : see `gravel.kernels.csr.build`.
    duplicates : what an arc that occurs more than once becomes: one with the "minimum" or the "sum" of the
        weights, or all of them ("keep"). "error" takes one if the weights are equal, and refuses others.

    Raises ValueError as `build` does, for duplicates of different weights with "error", and for a sum
    that the weights' type does not hold, naming the arc.

    """
    if duplicates not in DUPLICATES:
        raise ValueError(f"duplicates is {duplicates!r}; it can be {', '.join(DUPLICATES)}")
    if weights.shape != source.shape:
        raise ValueError(f"there are {len(weights)} weights and {len(source)} edges")
    edges = (source, target, weights.view(numpy.uint32))
    offsets, keys = _sorted_keys(edges, vertex_count, direction, keep_loops)
    columns, values = split_keys(keys, weights.dtype)
    del keys
    if duplicates == "keep":
        return WeightedRows(offsets, columns, values, _loops(offsets, columns))
    kept, loops = merge_parallel(offsets, columns, values, duplicates)
    return WeightedRows(offsets, columns[:kept].copy(), values[:kept].copy(), loops)


def split_keys(keys: NDArray[numpy.uint64], dtype: Any) -> tuple[NDArray[numpy.uint32], NDArray[Any]]:
    """Take columns and the bits of weights apart; the weights are of so a type."""
    columns, bits = (each.make(numpy) for each in buffers.split(len(keys)))
    numpy.right_shift(keys, numpy.uint64(32), out=columns, casting="unsafe")
    numpy.copyto(bits, keys, casting="unsafe")
    return columns, bits.view(dtype)


def joined_keys(columns: NDArray[Any], weights: NDArray[Any]) -> NDArray[numpy.uint64]:
    """Put a column and the bits of its weight into one key."""
    keys = columns.astype(numpy.uint64)
    keys <<= numpy.uint64(32)
    keys |= weights.view(numpy.uint32)
    return keys


class UnlikeWeights(ValueError):
    """Parallel arcs of the vertex `tail` whose weights do not become one."""

    def __init__(self, tail: int, message: str) -> None:
        super().__init__(message)
        self.tail = tail


def merge_parallel(
    offsets: NDArray[numpy.int64],
    columns: NDArray[Any],
    values: NDArray[Any],
    duplicates: str,
    tail_of: Callable[[int], int] = int,
) -> tuple[int, int]:
    """Make one arc of equal ones, in place; returns how many arcs are left, and how many of them are loops.

    Columns ascend in each row, and weights in parallel arcs. `tail_of` names the vertex of a row. Raises
    `UnlikeWeights` for weights that `duplicates` does not allow, and for a sum that their type does not hold.
    """
    is_float = values.dtype == numpy.float32
    wide: Any = numpy.float64 if is_float else numpy.int64
    limits: Any = numpy.finfo(numpy.float32) if is_float else numpy.iinfo(values.dtype)
    kept, loops, row, at = _merge(
        offsets, columns, values, duplicates == "sum", duplicates == "error", wide(0), wide(limits.max)
    )
    if row < 0:
        return int(kept), int(loops)
    tail = tail_of(int(row))
    arc = f"the arc ({tail}, {columns[at]})"
    if duplicates == "error":
        raise UnlikeWeights(
            tail,
            f"{arc} occurs with the weights {values[at]} and {values[at + 1]}; "
            "take their minimum or their sum, or keep both arcs",
        )
    raise UnlikeWeights(tail, f"the weights of {arc} add up to more than {values.dtype} holds, {limits.max}")


def _sorted_keys(
    edges: tuple[NDArray[Any], ...], vertex_count: int, direction: str, keep_loops: bool
) -> tuple[NDArray[numpy.int64], NDArray[numpy.uint64]]:
    offsets = buffers.ends(vertex_count).make(numpy)
    degrees(edges[0], edges[1], vertex_count, direction=direction, keep_loops=keep_loops, out=offsets[2:])
    numpy.cumsum(offsets, out=offsets)
    keys = buffers.keys(int(offsets[-1])).make(numpy)
    _scatter(*edges, offsets[1:], keys, *arc_ends(direction), keep_loops)
    offsets = offsets[:-1]
    for row in long_rows(offsets, LONG_ROW):
        keys[offsets[row] : offsets[row + 1]].sort()
    run_blocks(lambda low, high: _sort(keys, offsets, low, high), row_blocks(offsets))
    return offsets, keys


@serial
def _scatter(
    source: NDArray[Any],
    target: NDArray[Any],
    bits: NDArray[Any],
    cursors: NDArray[numpy.int64],
    keys: NDArray[numpy.uint64],
    forward: bool,
    backward: bool,
    keep_loops: bool,
) -> None:
    for i in range(len(source)):
        u, v = numpy.int64(source[i]), numpy.int64(target[i])
        if u == v and not keep_loops:
            continue
        weight = numpy.uint64(bits[i])
        if forward or u == v:
            keys[cursors[u]] = (numpy.uint64(v) << numpy.uint64(32)) | weight
            cursors[u] += 1
        if backward and u != v:
            keys[cursors[v]] = (numpy.uint64(u) << numpy.uint64(32)) | weight
            cursors[v] += 1


@serial
def _sort(keys: NDArray[numpy.uint64], offsets: NDArray[numpy.int64], low: int, high: int) -> None:
    buffer = numpy.empty(LONG_ROW, keys.dtype)
    for row in range(low, high):
        if offsets[row + 1] - offsets[row] <= LONG_ROW:
            sort_piece(keys, offsets[row], offsets[row + 1], buffer, 64)


@serial
def _loops(offsets: NDArray[numpy.int64], columns: NDArray[Any]) -> int:
    loops = 0
    for row in range(len(offsets) - 1):
        for k in range(offsets[row], offsets[row + 1]):
            loops += columns[k] == row
    return loops


@serial
def _merge(
    offsets: NDArray[numpy.int64],
    columns: NDArray[Any],
    values: NDArray[Any],
    add_up: bool,
    refuse: bool,
    zero: Any,
    most: Any,
) -> tuple[Any, Any, Any, Any]:
    """Make one arc of equal ones, in place; return arcs, loops, and row and place of one to refuse, or -1."""
    write = numpy.int64(0)
    loops = numpy.int64(0)
    begin = numpy.int64(0)
    for row in range(len(offsets) - 1):
        end = offsets[row + 1]
        at = begin
        while at < end:
            past = at + 1
            smallest, total = values[at], zero + values[at]
            while past < end and columns[past] == columns[at]:
                if refuse and values[past] != values[at]:
                    return write, loops, row, past - 1
                smallest = min(smallest, values[past])
                total += values[past]
                past += 1
            if add_up and (total > most or total < -most):
                return write, loops, row, at
            columns[write] = columns[at]
            values[write] = total if add_up else smallest
            loops += columns[at] == row
            write += 1
            at = past
        begin = end
        offsets[row + 1] = write
    return write, loops, numpy.int64(-1), numpy.int64(-1)
