"""Filters over columns of texts: what a column is read as rests on the filter's literals alone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

import pyarrow
from pyarrow import compute

from gravel.stages.edge_columns import shown
from gravel.stages.filters.conditions import condition, joined, place_of
from gravel.stages.filters.literals import Form, UnsuitableValue

EXACT = float(1 << 53)
"""Below it, all whole numbers are numbers of 64-bit floating point."""

WHOLE = pyarrow.decimal256(76, 0)


def kept(form: Form, kinds: Mapping[str, str], batch: Any, constants: Mapping[str, str]) -> Any:
    """Return which rows are kept; `kinds` says what the columns hold."""
    names = [*batch.schema.names, *constants]
    columns = {}
    for column, kind in kinds.items():
        name = names[place_of(column, names)]
        if name in constants:
            fixed = _typed(pyarrow.array([constants[name]]), kind, column)
            columns[column] = [pyarrow.repeat(each[0], batch.num_rows) for each in fixed]
        else:
            columns[column] = _typed(batch.column(name), kind, column)
    held = joined(form, lambda inner: _holds(inner, columns[inner[1]]))
    return compute.fill_null(held, False)


def truth_of(form: Form, kind: str, text: str) -> bool | None:
    """Say whether a condition holds for one text; None where it is neither."""
    held: bool | None = _holds(form, _typed(pyarrow.array([text]), kind, form[1]))[0].as_py()
    return held


def _holds(form: Form, parts: list[Any]) -> Any:
    if form[0] == "null":
        return reduce(compute.and_, map(compute.is_null, parts))
    return compute.coalesce(*(condition(form, each, each.type) for each in parts))


def _typed(texts: Any, kind: str, column: str) -> list[Any]:
    """Read texts as one array, or as several: each text is in that whose type holds it exactly."""
    texts = texts.cast(pyarrow.large_string())
    if kind != "text":
        texts = compute.utf8_trim_whitespace(texts)
    texts = compute.if_else(compute.equal(texts, ""), pyarrow.scalar(None, texts.type), texts)
    if kind == "text":
        return [texts]
    try:
        return _read(texts, kind)
    except pyarrow.ArrowInvalid:
        for row, text in enumerate(texts.to_pylist()):
            try:
                _read(pyarrow.array([text], texts.type), kind)
            except pyarrow.ArrowInvalid:
                raise UnsuitableValue(
                    f"column {shown(column)} holds {shown(text)!r}, and the filter compares it with a {kind}",
                    row,
                ) from None
        raise


def _read(texts: Any, kind: str) -> list[Any]:
    if kind == "truth":
        return [texts.cast(pyarrow.bool_())]
    return _numbers(texts) if kind == "number" else _times(texts, "UTC" if "zone" in kind else None)


def _numbers(texts: Any) -> list[Any]:
    try:
        # Arrow reads hexadecimal digits as a whole number, but not as a decimal one.
        if not compute.any(compute.match_substring(texts, "x", ignore_case=True)).as_py():
            return [texts.cast(pyarrow.int64())]
    except pyarrow.ArrowInvalid:
        pass
    numbers = texts.cast(pyarrow.float64())
    if not compute.all(compute.is_finite(numbers)).as_py() and compute.count(numbers).as_py():
        raise pyarrow.ArrowInvalid("not finite")
    largest = compute.max(compute.abs(numbers)).as_py()
    if largest is None or largest < EXACT:
        return [numbers]
    whole = compute.match_substring_regex(texts, r"^[+-]?[0-9]{1,76}$")
    nothing = pyarrow.scalar(None, texts.type)
    digits = compute.replace_substring_regex(compute.if_else(whole, texts, nothing), r"^\+", "")
    return [digits.cast(WHOLE), compute.if_else(whole, pyarrow.scalar(None, numbers.type), numbers)]


def _times(texts: Any, zone: str | None) -> list[Any]:
    try:
        return [texts.cast(pyarrow.timestamp("us", zone))]
    except pyarrow.ArrowInvalid:
        fine, nothing = compute.match_substring_regex(texts, r"\.[0-9]{7}"), pyarrow.scalar(None, texts.type)
        coarse = compute.if_else(fine, nothing, texts).cast(pyarrow.timestamp("us", zone))
        return [coarse, compute.if_else(fine, texts, nothing).cast(pyarrow.timestamp("ns", zone))]
