"""Whether the first rows of a list of edges have texts for ids, and where its columns are.

A list is read as texts without being told so only if no id among its first rows is a number. So a list of
numbers with a damaged one stays an error.
"""

from __future__ import annotations

from collections.abc import Callable

from gravel.stages.parsing.columns import MOST_COLUMNS, Layout
from gravel.stages.parsing.head import is_number

DELIMITERS = ("\t", ",", ";", "")
"""Tried in this order; without one, any run of blanks separates."""


def fields_of(line: bytes, delimiter: str) -> list[bytes]:
    """Cut a line into its fields, without blanks and quotes around them."""
    if b'"' not in line:
        return line.split() if not delimiter else [part.strip() for part in line.split(delimiter.encode())]
    fields: list[bytes] = []
    rest, separator = line.strip(), delimiter.encode()
    while True:
        if rest.startswith(b'"'):
            end = 1
            while (end := rest.find(b'"', end)) >= 0 and rest[end + 1 : end + 2] == b'"':
                end += 2
            if end < 0:
                return [*fields, rest]
            fields.append(rest[1:end].replace(b'""', b'"'))
            rest = rest[end + 1 :].lstrip(None if not delimiter else b" \r\v\f")
            if delimiter and rest:
                rest = rest.removeprefix(separator).lstrip(b" \r\v\f")
                if not rest:
                    return [*fields, b""]
            if not rest:
                return fields
            continue
        field, found, rest = rest.partition(separator) if delimiter else _first_word(rest)
        fields.append(field.strip())
        rest = rest.lstrip(b" \r\v\f")
        if not found:
            return fields
        if not rest:
            return [*fields, b""] if delimiter else fields


def _first_word(text: bytes) -> tuple[bytes, bytes, bytes]:
    words = text.split(None, 1)
    return words[0], b" " if len(words) > 1 else b"", words[1] if len(words) > 1 else b""


def text_layout(
    content: list[bytes], header: bool | str, named: Callable[[list[bytes]], tuple[int, int, int]]
) -> Layout | None:
    """Return where the columns of a list are by its first rows; None where those have no columns in common.

    `named` finds source, target and weight by the names in a header, -1 for what is not there.
    """
    for delimiter in DELIMITERS:
        rows = [fields_of(line, delimiter) for line in content]
        if rows and len(rows[0]) > 1 and all(len(row) == len(rows[0]) for row in rows):
            break
    else:
        return None
    columns = len(rows[0])
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
    alone = not has_header and not elsewhere & {rows[0][source], rows[0][target]}
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
    return bool(rows) and all(
        _is_text(row[column]) for row in rows for column in (layout.source, layout.target)
    )


def _is_text(field: bytes) -> bool:
    return bool(field) and not is_number(field) and min(field) >= 32
