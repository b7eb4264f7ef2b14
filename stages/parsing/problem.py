"""Sentences for the fault codes of kernels."""

from __future__ import annotations

from gravel.kernels import text
from gravel.stages.parsing.head import shown
from gravel.stages.readers import LONGEST_ID

_FAULTS = {
    text.NOT_INTEGER: ("found {field} where a whole number belongs; expected {form}", None),
    text.NEGATIVE: ("found the negative id {field}; ids are whole numbers from {low} up", None),
    text.TOO_LARGE: ("found the id {field}, which is too large; ids go up to {high}", None),
    text.OUT_OF_RANGE: (
        "found the id {field}; the header allows {low} to {high}",
        "correct the id, or the number of vertices in the header",
    ),
    text.TOO_FEW: ("found {line}, which has too few columns; expected {form}", None),
    text.TOO_MANY: ("found {line}, which has too many columns; expected {form}", None),
    text.BAD_WEIGHT: (
        "found {field} where a weight belongs; expected a decimal number",
        "`weights: false` reads the edges alone",
    ),
    text.TOO_MANY_ROWS: (
        "found {line} after the last vertex's line",
        "correct the number of vertices in the header",
    ),
    text.MISSING_WEIGHT: ("found {line}, whose last neighbour has no weight; expected {form}", None),
    text.EMPTY_ID: ("found an empty id in {line}; expected {form}", "an id has at least one character"),
    text.ZERO_BYTE: ("found a zero byte in {line}; ids are texts in UTF-8 without one", None),
    text.LONG_ID: (
        f"found the id {{field}}, which takes more than {LONGEST_ID:,} bytes",
        "is this another format, or another column?",
    ),
    text.OPEN_QUOTE: (
        "found {field}, whose quote does not end on its line; expected {form}",
        "line breaks within quotes are not read; a quote within quotes is written twice",
    ),
    text.AFTER_QUOTE: (
        "found {line}, where something follows a quote that ended; expected {form}",
        "a quote within quotes is written twice",
    ),
    text.LATE_COMMENT: (
        "found {line} after the first edge: a comment, or an id that starts so?",
        "remove it, or put the id in quotes",
    ),
}
"""What was found and what was expected, and what to do."""

_ENDS = b" \t\r\n\v\f"


def field_at(block: bytes, place: int, delimiter: str = "") -> bytes:
    """Cut out the field that starts at a place; at most 64 bytes of it."""
    piece, ends = block[place : place + 64], _ENDS + delimiter.encode()
    return piece[: next((at for at, byte in enumerate(piece) if byte in ends), len(piece))]


def line_at(block: bytes, place: int) -> bytes:
    """Cut out the line around a place; at most some 200 bytes of it."""
    begin = block.rfind(b"\n", max(0, place - 120), place) + 1 or max(0, place - 120)
    end = block.find(b"\n", place, place + 120)
    return block[begin : end if end >= 0 else place + 120].strip()


def describe(
    code: int, block: bytes, place: int, *, form: str, low: int, high: int, delimiter: str = ""
) -> tuple[str, str | None]:
    """Say what was found and what was expected, and what to do; `form` shows a good line."""
    field, line = field_at(block, place, delimiter), shown(line_at(block, place), 60)
    message, hint = _FAULTS.get(code, ("found {line}; expected {form}", None))
    if code == text.NOT_INTEGER and not field:
        message = "found an empty field in {line}; expected {form}"
    return message.format(field=shown(field), line=line, form=form, low=low, high=high), hint
