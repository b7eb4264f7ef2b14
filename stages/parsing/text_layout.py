"""Whether the first rows of a list of edges have texts for ids, and where its columns are.

A list is read as texts without being told so only if no id among its first rows is a number. So a list of
numbers with a damaged one stays an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from gravel.stages.parsing.columns import MOST_COLUMNS, Layout
from gravel.stages.parsing.head import is_number

DELIMITERS = ("\t", ",", ";", "")
"""Tried in this order; without one, any run of blanks separates."""


def fields_of(line: bytes, delimiter: str) -> list[bytes]:
    """Cut a line into its fields, without blanks and quotes around them."""
    if b'"' not in line:
        return line.split() if not delimiter else [part.strip() for part in line.split(delimiter.encode())]
    if not delimiter:
        return [_unquoted(word) for word in _WORD.findall(line)]
    fields, place = [], 0
    while True:
        found = _field(delimiter).match(line, place)
        assert found is not None  # anything is a field
        fields.append(_unquoted(found[1].strip()))
        if not found[2]:
            return fields
        place = found.end()


_WORD = re.compile(rb'"(?:[^"]|"")*"(?=\s|$)|\S+')


@cache
def _field(delimiter: str) -> re.Pattern[bytes]:
    """Match a field in quotes, or if it is not one, all up to the next delimiter."""
    d = re.escape(delimiter).encode()
    return re.compile(rb'([ \r\v\f]*"(?:[^"]|"")*"[ \r\v\f]*(?=%s|$)|[^%s]*)(%s|$)' % (d, d, d))


def _unquoted(field: bytes) -> bytes:
    quoted = len(field) > 1 and field.startswith(b'"') and field.endswith(b'"')
    return field[1:-1].replace(b'""', b'"') if quoted else field


def text_layout(
    content: list[bytes], header: bool | str, named: Callable[[list[bytes]], tuple[int, int, int]]
) -> Layout | None:
    """Return where the columns of a list are by its first rows; None where most have no columns in common.

    `named` finds source, target and weight by the names in a header, -1 for what is not there.
    """
    for delimiter in DELIMITERS:
        rows = [fields_of(line, delimiter) for line in content]
        columns = len(rows[0])
        # A line that lacks a column is named when it is read.
        if columns > 1 and 2 * sum(len(row) == columns for row in rows) > len(rows):
            break
    else:
        return None
    rows = [row for row in rows if len(row) == columns]
    source, target, weight = named(rows[0])
    has_header = header if isinstance(header, bool) else _is_header(rows, source, target)
    if not has_header or source < 0 or target < 0:
        source, target = 0, 1
        if not has_header or weight < 2:
            weight = 2 if (columns == 3 or not has_header) and columns > 2 else -1
    if columns > MOST_COLUMNS and not has_header:
        return None
    if weight >= 0 and not any(is_number(row[weight]) for row in rows[has_header:]):
        weight = -1  # a column of labels, which are no weights
    elsewhere = {row[column] for row in rows[1:] for column in (source, target)}
    first = {rows[0][source], rows[0][target]}
    alone = not has_header and all(first) and not elsewhere & first
    return Layout(delimiter, columns, source, target, weight, has_header, may_be_header=alone)


def _is_header(rows: list[list[bytes]], source: int, target: int) -> bool:
    """Tell a header by its names, or by a column that has numbers below it."""
    if source >= 0 and target >= 0:
        return True
    if len(rows) < 2 or any(is_number(field) for field in rows[0]):
        return False
    return any(all(is_number(row[column]) for row in rows[1:]) for column in range(2, len(rows[0])))


def are_texts(content: list[bytes], layout: Layout) -> bool:
    """Whether no id among the first rows is a number, or looks like anything but an id."""
    rows = [fields_of(line, layout.delimiter) for line in content][layout.header :]
    rows = [row for row in rows if len(row) == layout.columns]
    return bool(rows) and not any(
        is_number(row[column]) for row in rows for column in (layout.source, layout.target)
    )
