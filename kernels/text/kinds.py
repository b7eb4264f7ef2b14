"""Classes of bytes, by which text is cut into lines and fields on the CPU and on the GPU."""

from __future__ import annotations

import numpy
from numpy.typing import NDArray

OTHER, BLANK, NEWLINE, DELIMITER, COMMENT = 0, 1, 2, 3, 4
"""Classes of a byte."""


def byte_kinds(delimiter: str, comments: str) -> NDArray[numpy.uint8]:
    """Make the table (256,) of byte classes: blanks and newlines as ever, and what the format adds.

    `delimiter` is one character, or empty where blanks separate; `comments` are the characters that make a
    line a comment when it starts with one of them.
    """
    kinds = numpy.zeros(256, numpy.uint8)
    for blank in b" \t\r\v\f":
        kinds[blank] = BLANK
    kinds[ord("\n")] = NEWLINE
    for character in comments:
        kinds[ord(character)] = COMMENT
    if delimiter:
        kinds[ord(delimiter)] = DELIMITER
    return kinds
