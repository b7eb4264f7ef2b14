"""Filters over columns of texts: what a column is read as rests on the filter's literals alone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

import pyarrow
from pyarrow import compute

from gravel.stages.edge_columns import shown
from gravel.stages.filters.conditions import condition, decoded
from gravel.stages.filters.literals import Form, UnsuitableValue

EXACT = float(1 << 53)
"""Below it, all whole numbers are numbers of 64-bit floating point."""

WHOLE = pyarrow.decimal256(76, 0)


def parts_of(batch: Any, name: str, kind: str, constants: Mapping[str, str], typed: bool) -> list[Any]:
    """Return a column as `holds` takes it: as it is if it is typed, else read as what it is compared with."""
    if name in constants:
        fixed = _typed(pyarrow.array([constants[name]]), kind, name)
        return [pyarrow.repeat(each[0], batch.num_rows) for each in fixed]
    column = batch.column(name)
    return [decoded(column)] if typed else _typed(column, kind, name)


def truth_of(form: Form, kind: str, text: str) -> Any:
    """Say whether a condition holds for one text; null where it is neither."""
    return holds(form, _typed(pyarrow.array([text]), kind, form[1]))[0]


def holds(form: Form, parts: list[Any]) -> Any:
    """Say for which values a condition holds, of which each is in one of the parts."""
    if form[0] == "null":
        return reduce(compute.and_, map(compute.is_null, parts))
    return compute.coalesce(*(condition(form, each, each.type) for each in parts))


def _typed(texts: Any, kind: str, column: str) -> list[Any]:
    """Read texts as one array, or as several: each text is in that whose type holds it exactly."""
    texts = texts.cast(pyarrow.large_string())
    if kind != "text":
        texts = compute.ascii_trim_whitespace(texts)
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
    numbers = texts.cast(pyarrow.float64())
    if compute.any(compute.invert(compute.is_finite(numbers))).as_py():
        raise pyarrow.ArrowInvalid("no number")
    largest = compute.max(compute.abs(numbers)).as_py()
    if largest is None or largest < EXACT:
        return [numbers]
    whole = compute.match_substring_regex(texts, r"^[+-]?[0-9]{1,76}$")
    digits = compute.if_else(whole, compute.ascii_ltrim(texts, "+"), pyarrow.scalar(None, texts.type))
    return [digits.cast(WHOLE), compute.if_else(whole, pyarrow.scalar(None, numbers.type), numbers)]


def _times(texts: Any, zone: str | None) -> list[Any]:
    try:
        return [texts.cast(pyarrow.timestamp("us", zone))]
    except pyarrow.ArrowInvalid:
        fine, nothing = compute.match_substring_regex(texts, r"\.[0-9]{7}"), pyarrow.scalar(None, texts.type)
        coarse = compute.if_else(fine, nothing, texts).cast(pyarrow.timestamp("us", zone))
        return [coarse, compute.if_else(fine, texts, nothing).cast(pyarrow.timestamp("ns", zone))]
