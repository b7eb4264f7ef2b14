"""One edge a line: two whole numbers among a fixed number of columns, and perhaps a weight."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.jit import serial
from gravel.kernels.text import BAD_START, BAD_WEIGHT, FINE, NOT_INTEGER, OUT_OF_RANGE, TOO_FEW, TOO_MANY
from gravel.kernels.text.kinds import BLANK, COMMENT, DELIMITER, NEWLINE, OTHER
from gravel.kernels.text.numbers import SHORT, digits_at, read_decimal, read_integer


@serial
def parse_pairs(
    data: Any,
    kinds: Any,
    prefix: int,
    columns: int,
    source_column: int,
    target_column: int,
    weight_column: int,
    low: int,
    high: int,
    source: Any,
    target: Any,
    weight: Any,
) -> tuple[int, int, int, int]:
    """Parse lines into edges.

    Parameters
    ----------
    data : uint8 (bytes,), whole lines, the last of them ended by a newline too.
    kinds : uint8 (256,) from `byte_kinds`. Without a delimiter in it, any run of blanks separates.
    prefix : byte that starts each line (a blank follows), or -1.
    columns : fields on each line, the prefix not counted.
    source_column, target_column, weight_column : which fields matter; no weight is read for -1.
    low, high : the ids that may occur.
    source, target, weight : int64, int64, float64, filled from the start; at least one row for each line.

    Returns rows, lines before the one where it stopped, code, and the place of the fault in `data`.

    """
    place = 0
    rows = 0
    lines = 0
    end = len(data)
    delimited = (kinds == DELIMITER).any()
    separator = DELIMITER if delimited else BLANK
    plain = prefix < 0 and columns == 2 and source_column == 0 and target_column == 1
    while place < end:
        if plain:
            # Two short numbers with one separator between: what most lines of most files are.
            first, after = digits_at(data, place)
            if place < after <= place + SHORT and kinds[data[numpy.uintp(after)]] == separator:
                second, last = digits_at(data, after + 1)
                fits = after + 1 < last <= after + 1 + SHORT
                if data[numpy.uintp(last)] == 13:
                    last += 1
                fits &= data[numpy.uintp(last)] == 10
                if fits and low <= first <= high and low <= second <= high:
                    source[rows] = first
                    target[rows] = second
                    rows += 1
                    lines += 1
                    place = last + 1
                    continue
        kind = kinds[data[numpy.uintp(place)]]
        if kind == BLANK:
            place += 1
            continue
        if kind == NEWLINE:
            place += 1
            lines += 1
            continue
        # A DIMACS comment starts with the letter c, so a letter can be of this class too.
        if kind == COMMENT:
            while data[numpy.uintp(place)] != 10:
                place += 1
            continue
        if prefix >= 0:
            if data[numpy.uintp(place)] != prefix or kinds[data[numpy.uintp(place + 1)]] != BLANK:
                return rows, lines, BAD_START, place
            place += 1
            while kinds[data[numpy.uintp(place)]] == BLANK:
                place += 1
        column = 0
        while True:
            if column in (source_column, target_column):
                value, after, code = read_integer(data, kinds, place)
                if code != FINE:
                    if code == NOT_INTEGER and kinds[data[numpy.uintp(place)]] == NEWLINE:
                        code = TOO_FEW
                    return rows, lines, code, place
                if value < low or value > high:
                    return rows, lines, OUT_OF_RANGE, place
                if column == source_column:
                    source[rows] = value
                else:
                    target[rows] = value
                place = after
            elif column == weight_column:
                number, after, fine = read_decimal(data, kinds, place)
                if not fine:
                    return rows, lines, BAD_WEIGHT, place
                weight[rows] = number
                place = after
            else:
                kind = kinds[data[numpy.uintp(place)]]
                while kind in (OTHER, COMMENT) or (delimited and kind == BLANK):
                    place += 1
                    kind = kinds[data[numpy.uintp(place)]]
            column += 1
            while kinds[data[numpy.uintp(place)]] == BLANK:
                place += 1
            kind = kinds[data[numpy.uintp(place)]]
            if kind == NEWLINE:
                break
            if column == columns:
                return rows, lines, TOO_MANY, place
            if delimited:
                if kind != DELIMITER:
                    return rows, lines, NOT_INTEGER, place
                place += 1
                while kinds[data[numpy.uintp(place)]] == BLANK:
                    place += 1
        if column < columns:
            return rows, lines, TOO_FEW, place
        rows += 1
    return rows, lines, FINE, place
