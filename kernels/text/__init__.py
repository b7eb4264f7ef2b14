"""Numbers and texts read from bytes: pairs, one edge a line, and lists of numbers, one vertex a line.

The kernels stop at the first fault and return its code, where it lies and how many lines came before it,
so that whoever knows the file can name the line. They take bytes that end in a newline.
"""

from __future__ import annotations

from typing import Final

FINE: Final = 0
NOT_INTEGER: Final = 1
NEGATIVE: Final = 2
TOO_LARGE: Final = 3
OUT_OF_RANGE: Final = 4
TOO_FEW: Final = 5
TOO_MANY: Final = 6
BAD_WEIGHT: Final = 7
BAD_START: Final = 8
TOO_MANY_ROWS: Final = 9
MISSING_WEIGHT: Final = 10
EMPTY_ID: Final = 11
ZERO_BYTE: Final = 12
LONG_ID: Final = 13
OPEN_QUOTE: Final = 14
AFTER_QUOTE: Final = 15
LATE_COMMENT: Final = 16
"""What stopped a kernel. An id is TOO_LARGE above 2^63-1; OUT_OF_RANGE is judged by the file's header."""
