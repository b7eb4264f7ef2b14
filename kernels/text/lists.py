"""One vertex a line: its neighbours, perhaps with weights, perhaps after numbers about the vertex itself."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.jit import serial
from gravel.kernels.text import BAD_WEIGHT, FINE, MISSING_WEIGHT, OUT_OF_RANGE, TOO_MANY_ROWS
from gravel.kernels.text.kinds import BLANK, COMMENT, NEWLINE
from gravel.kernels.text.numbers import SHORT, digits_at, read_decimal, read_integer

ROW, TOKEN, LINE, IN_COMMENT, PENDING = 0, 1, 2, 3, 4
"""Entries of the state: row, numbers read of it, lines ended, in a comment, neighbour without its weight."""


def new_state() -> Any:
    """Make the state (5,) with which the first block is parsed."""
    return numpy.zeros(5, numpy.int64)


@serial
def parse_lists(
    data: Any,
    kinds: Any,
    rows: int,
    low: int,
    high: int,
    skip: int,
    weighted: bool,
    state: Any,
    source: Any,
    target: Any,
    weight: Any,
) -> tuple[int, int, int]:
    """Parse rows into arcs; a row may go on in the next block, so that no line is too long.

    Parameters
    ----------
    data : uint8 (bytes,), cut anywhere between numbers; its last byte is a blank or a newline.
    kinds : uint8 (256,) from `byte_kinds`.
    rows : how many rows there are; row i belongs to vertex `low + i`. Blank lines may follow the last.
    low, high : the ids that may occur.
    skip : numbers at the start of each row that are not neighbours.
    weighted : whether a weight follows each neighbour.
    state : int64 (5,), see `ROW`; carried from block to block.
    source, target, weight : int64, int64, float64, filled from the start; one entry for each two bytes.

    Returns arcs, code and the place of the fault in `data`; `state[LINE]` lines came before it.

    """
    place = 0
    arcs = 0
    end = len(data)
    row, token, in_comment = state[ROW], state[TOKEN], state[IN_COMMENT] != 0
    plain = not weighted
    while place < end:
        if plain and not in_comment and token >= skip:
            # A short number and what ends it: what most of most files is.
            value, after = digits_at(data, place)
            kind = kinds[data[numpy.uintp(after)]]
            short = place < after <= place + SHORT and kind in (BLANK, NEWLINE)
            if short and low <= value <= high and row < rows:
                source[arcs] = low + row
                target[arcs] = value
                arcs += 1
                token += 1
                place = after
                if kind == BLANK:
                    place += 1
                    continue
        kind = kinds[data[numpy.uintp(place)]]
        if in_comment:
            if kind == NEWLINE:
                in_comment = False
                state[LINE] += 1
            place += 1
            continue
        if kind == BLANK:
            place += 1
            continue
        if kind == NEWLINE:
            if weighted and token > skip and (token - skip) & 1:
                return arcs, MISSING_WEIGHT, place
            place += 1
            state[LINE] += 1
            row += 1
            token = 0
            continue
        if kind == COMMENT and token == 0:
            in_comment = True
            continue
        if row >= rows:
            return arcs, TOO_MANY_ROWS, place
        if token < skip or (weighted and (token - skip) & 1):
            number, after, fine = read_decimal(data, kinds, place)
            if not fine:
                return arcs, BAD_WEIGHT, place
            if token >= skip:
                source[arcs] = low + row
                target[arcs] = state[PENDING]
                weight[arcs] = number
                arcs += 1
        else:
            value, after, code = read_integer(data, kinds, place)
            if code != FINE:
                return arcs, code, place
            if value < low or value > high:
                return arcs, OUT_OF_RANGE, place
            if weighted:
                state[PENDING] = value
            else:
                source[arcs] = low + row
                target[arcs] = value
                arcs += 1
        place = after
        token += 1
    state[ROW] = row
    state[TOKEN] = token
    state[IN_COMMENT] = in_comment
    return arcs, FINE, place


@serial
def add_imbalance(source: Any, target: Any, weight: Any, first: int, imbalance: Any) -> None:
    """Add each arc's fingerprint at its source and take it off at its target.

    `weight` has the bits of each arc's weight (uint64), or is empty.

    The fingerprint is the same in both directions, so that over all arcs of a symmetric graph every entry of
    `imbalance` (uint64, vertex `first + i` at i modulo its length) comes back to zero, and a vertex whose
    arcs lack their reverses keeps something else, but for one chance in 2^64.
    """
    length = len(imbalance)
    for i in range(len(source)):
        near, far = source[i], target[i]
        small, large = numpy.uint64(min(near, far)), numpy.uint64(max(near, far))
        value = small * numpy.uint64(0x9E3779B97F4A7C15) + large
        if len(weight):
            value = (value ^ (value >> numpy.uint64(32))) * numpy.uint64(0xD6E8FEB86659FD93) + weight[i]
        value = (value ^ (value >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
        value ^= value >> numpy.uint64(31)
        imbalance[(near - first) % length] += value
        imbalance[(far - first) % length] -= value
