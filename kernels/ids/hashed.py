"""Sets of 64-bit ids far from each other: an open-addressing table, and the rank of each id in it.

A table is split into shards by the high bits of an id's hash (Fibonacci hashing: Knuth, The Art of Computer
Programming 3, section 6.4). Each thread fills shards of its own, so nothing is atomic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial
from gravel.kernels.row_blocks import run_blocks
from gravel.kernels.threads import thread_count

EMPTY = -(1 << 63)
"""Marks a slot without an id; it cannot be an id itself."""

LEAST_SLOTS = 1 << 12
LOAD = 2
"""A table has at least so many slots for each id."""

PIECE = 1 << 18
"""Ids that a thread looks up in one go."""

_FACTOR = numpy.uint64(0x9E3779B97F4A7C15)


def ranked(
    columns: Sequence[NDArray[numpy.int64]], dtype: Any
) -> tuple[NDArray[numpy.int64], list[NDArray[Any]]]:
    """Return the distinct ids of all columns, ascending, and the rank of each entry, of type `dtype`.

    No id is `EMPTY`.
    """
    bits = max(0, (thread_count() - 1).bit_length())
    tables = run_blocks(
        lambda shard, _: _filled(columns, shard, bits), [(shard, 0) for shard in range(1 << bits)]
    )
    parts = [table[table != EMPTY] for table in tables]
    ids = numpy.concatenate(parts)
    del parts
    ids.sort()
    slots = numpy.array([0, *(len(table) for table in tables)]).cumsum()
    keys, ranks = numpy.concatenate(tables), numpy.empty(int(slots[-1]), numpy.int64)
    del tables
    run_blocks(lambda low, high: _number(keys, ids, ranks, low, high), _pieces(len(keys)))
    found = []
    for column in columns:
        out = numpy.empty(len(column), dtype)

        def part(low: int, high: int, column: Any = column, out: Any = out) -> None:
            _look_up(column, keys, ranks, slots, bits, out, low, high)

        run_blocks(part, _pieces(len(column)))
        found.append(out)
    return ids, found


def _filled(columns: Sequence[NDArray[numpy.int64]], shard: int, bits: int) -> NDArray[numpy.int64]:
    table = numpy.full(LEAST_SLOTS, EMPTY, numpy.int64)
    used = 0
    for column in columns:
        at = 0
        while at < len(column):
            at, used = _insert(column, table, shard, bits, at, used)
            if at < len(column):
                larger = numpy.full(4 * len(table), EMPTY, numpy.int64)
                _move(table, larger, bits)
                table = larger
    return table


def _pieces(count: int) -> list[tuple[int, int]]:
    return [(low, min(low + PIECE, count)) for low in range(0, count, PIECE)]


@serial
def _hash(value: Any) -> Any:
    mixed = numpy.uint64(value)
    mixed = (mixed ^ (mixed >> numpy.uint64(32))) * _FACTOR
    return mixed ^ (mixed >> numpy.uint64(29))


@serial
def _shard(mixed: Any, bits: Any) -> Any:
    return numpy.int64((mixed >> numpy.uint64(48)) & numpy.uint64((1 << bits) - 1))


@serial
def _insert(
    column: NDArray[Any], table: NDArray[Any], shard: int, bits: int, start: int, used: int
) -> tuple[int, int]:
    """Add the shard's ids from `start` on, until the table is half full; returns where to go on."""
    mask = numpy.uint64(len(table) - 1)
    most = len(table) // LOAD
    for i in range(start, len(column)):
        value = column[i]
        mixed = _hash(value)
        if _shard(mixed, bits) != shard:
            continue
        slot = mixed & mask
        while table[slot] != EMPTY and table[slot] != value:
            slot = (slot + numpy.uint64(1)) & mask
        if table[slot] == EMPTY:
            if used >= most:
                return i, used
            table[slot] = value
            used += 1
    return len(column), used


@serial
def _move(table: NDArray[Any], larger: NDArray[Any], bits: int) -> None:
    mask = numpy.uint64(len(larger) - 1)
    for i in range(len(table)):
        value = table[i]
        if value != EMPTY:
            slot = _hash(value) & mask
            while larger[slot] != EMPTY:
                slot = (slot + numpy.uint64(1)) & mask
            larger[slot] = value


@serial
def _number(keys: NDArray[Any], ids: NDArray[Any], ranks: NDArray[Any], low: int, high: int) -> None:
    for i in range(low, high):
        if keys[i] != EMPTY:
            ranks[i] = numpy.searchsorted(ids, keys[i])


@serial
def _look_up(
    column: NDArray[Any],
    keys: NDArray[Any],
    ranks: NDArray[Any],
    slots: NDArray[Any],
    bits: int,
    out: NDArray[Any],
    low: int,
    high: int,
) -> None:
    for i in range(low, high):
        value = column[i]
        mixed = _hash(value)
        shard = _shard(mixed, bits)
        base = slots[shard]
        mask = numpy.uint64(slots[shard + 1] - base - 1)
        slot = mixed & mask
        while keys[base + numpy.int64(slot)] != value:
            slot = (slot + numpy.uint64(1)) & mask
        out[i] = ranks[base + numpy.int64(slot)]
