"""What lines of text have that a plain reader of columns does not take: found in one pass, without a lock."""

from __future__ import annotations

from typing import Any, Final

import numpy

from gravel.kernels.jit import serial
from gravel.kernels.text.kinds import BLANK, COMMENT, DELIMITER, NEWLINE

EMPTY: Final = 1
"""A line without a field."""
COMMENTED: Final = 2
"""A line that begins as a comment does."""
PADDED: Final = 4
"""Blanks beside a delimiter, or at an end of a line."""
QUOTED: Final = 8
"""A double quote."""


@serial
def line_marks(data: Any, kinds: Any) -> tuple[int, int]:
    """Return which of the marks above occur in `data`, and how many lines it has.

    `data` is uint8, whole lines; `kinds` are from `byte_kinds`.
    """
    marks = 0
    lines = 0
    before = NEWLINE
    for place in range(len(data)):
        byte = data[numpy.uintp(place)]
        kind = kinds[byte]
        if kind == BLANK:
            if byte == 13 and place + 1 < len(data) and data[numpy.uintp(place + 1)] == 10:
                if before == NEWLINE:
                    marks |= EMPTY
                continue
            if before in (NEWLINE, DELIMITER):
                marks |= PADDED
        elif kind in (NEWLINE, DELIMITER):
            if before == BLANK:
                marks |= PADDED
            if kind == NEWLINE:
                lines += 1
                if before == NEWLINE:
                    marks |= EMPTY
        elif before == NEWLINE and kind == COMMENT:
            marks |= COMMENTED
        elif byte == 34:
            marks |= QUOTED
        before = kind
    return marks, lines
