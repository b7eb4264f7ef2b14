"""One edge a line: two texts among a fixed number of columns, and perhaps a weight."""

from __future__ import annotations

from typing import Any

from gravel.kernels.jit import serial
from gravel.kernels.text import (
    AFTER_QUOTE,
    BAD_WEIGHT,
    EMPTY_ID,
    FINE,
    LATE_COMMENT,
    LONG_ID,
    OPEN_QUOTE,
    TOO_FEW,
    TOO_MANY,
    ZERO_BYTE,
)
from gravel.kernels.text.kinds import BLANK, COMMENT, DELIMITER, NEWLINE
from gravel.kernels.text.numbers import read_decimal

_QUOTE = 34


@serial
def _read_quoted(data: Any, kinds: Any, place: int, text: Any, filled: int) -> tuple[int, int, int]:
    """Copy what stands between quotes, where two of them stand for one (RFC 4180, section 2)."""
    begin = place
    place += 1
    while True:
        byte = data[place]
        if byte == 10:
            return filled, begin, OPEN_QUOTE
        if byte == 0:
            return filled, begin, ZERO_BYTE
        if byte == _QUOTE:
            place += 1
            if data[place] != _QUOTE:
                break
        text[filled] = byte
        filled += 1
        place += 1
    kind = kinds[data[place]]
    if kind not in (BLANK, DELIMITER, NEWLINE):
        return filled, begin, AFTER_QUOTE
    return filled, place, FINE


@serial
def _read_field(
    data: Any, kinds: Any, delimited: bool, place: int, text: Any, filled: int
) -> tuple[int, int, int]:
    """Copy a field without the blanks around it; returns what is filled, the place after it and a code."""
    if data[place] == _QUOTE:
        filled, place, code = _read_quoted(data, kinds, place, text, filled)
        return filled, place, code
    kept = filled
    while True:
        byte = data[place]
        kind = kinds[byte]
        if kind in (NEWLINE, DELIMITER) or (kind == BLANK and not delimited):
            break
        if byte == 0:
            return filled, place, ZERO_BYTE
        text[filled] = byte
        filled += 1
        if kind != BLANK:
            kept = filled
        place += 1
    return kept, place, FINE


@serial
def split_texts(
    data: Any,
    kinds: Any,
    within_quotes: Any,
    columns: int,
    source_column: int,
    target_column: int,
    weight_column: int,
    longest: int,
    text: Any,
    offsets: Any,
    weight: Any,
) -> tuple[int, int, int, int]:
    """Cut lines into the ids of edges: texts 2 i and 2 i + 1 are those of row i.

    Of the two, the one in the earlier column comes first.

    Parameters
    ----------
    data : uint8 (bytes,), whole lines, the last of them ended by a newline too.
    kinds : uint8 (256,) from `byte_kinds`. Without a delimiter in it, any run of blanks separates.
    within_quotes : the same with the quote for a delimiter, by which a number in quotes ends.
    columns : fields on each line.
    source_column, target_column, weight_column : which fields matter; no weight is read for -1.
    longest : bytes that an id has at most.
    text : uint8, room for as many bytes as `data`.
    offsets : int64, room for two texts of each line and one more.
    weight : float64, room for a row of each line.

    Returns rows, lines before the one where it stopped, code, and the place of the fault in `data`.

    """
    place = 0
    rows = 0
    lines = 0
    filled = 0
    offsets[0] = 0
    delimited = (kinds == DELIMITER).any()
    while place < len(data):
        kind = kinds[data[place]]
        if kind == BLANK:
            place += 1
            continue
        if kind == NEWLINE:
            place += 1
            lines += 1
            continue
        if kind == COMMENT:
            return rows, lines, LATE_COMMENT, place
        first_end = filled
        row_begin = filled
        for column in range(columns):
            while kinds[data[place]] == BLANK:
                place += 1
            if column > 0 and not delimited and kinds[data[place]] == NEWLINE:
                return rows, lines, TOO_FEW, place
            begin = place
            if column == weight_column:
                quoted = data[place] == _QUOTE
                number, place, fine = read_decimal(
                    data, within_quotes if quoted else kinds, place + 1 if quoted else place
                )
                if not fine or (quoted and data[place] != _QUOTE):
                    return rows, lines, BAD_WEIGHT, begin
                if quoted:
                    place += 1
                weight[rows] = number
            elif column in (source_column, target_column):
                before = filled
                filled, place, code = _read_field(data, kinds, delimited, place, text, filled)
                if code != FINE:
                    return rows, lines, code, place
                if filled == before:
                    return rows, lines, EMPTY_ID, begin
                if filled - before > longest:
                    return rows, lines, LONG_ID, begin
                if before == row_begin:
                    first_end = filled
            else:
                _, place, code = _read_field(data, kinds, delimited, place, text, filled)
                if code != FINE:
                    return rows, lines, code, place
            while kinds[data[place]] == BLANK:
                place += 1
            kind = kinds[data[place]]
            if column == columns - 1:
                if kind != NEWLINE:
                    return rows, lines, TOO_MANY, place
            elif kind == NEWLINE:
                return rows, lines, TOO_FEW, place
            elif delimited:
                if kind != DELIMITER:
                    return rows, lines, AFTER_QUOTE, begin
                place += 1
        offsets[2 * rows + 1] = first_end
        offsets[2 * rows + 2] = filled
        rows += 1
        lines += 1
        place += 1
    return rows, lines, FINE, 0
