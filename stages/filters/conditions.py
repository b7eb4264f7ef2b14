"""Conditions over values of Arrow's types, arrays or fields of an expression; comparisons are exact.

What a column of texts is read as rests on the filter's literals alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any
from uuid import UUID

import numpy
import pyarrow
from pyarrow import compute, types

from gravel.stages.edge_columns import ColumnsError, plain, shown
from gravel.stages.filters.grammar import (
    SECOND,
    Form,
    Literal,
    UnsuitableValue,
    kind_of,
    moment,
    time_of_day,
    written,
)

UNITS = {"s": SECOND, "ms": 1_000_000, "us": 1_000, "ns": 1}
DAY = 86_400 * SECOND

EXACT = float(1 << 53)
"""Below it, all whole numbers are numbers of 64-bit floating point."""

WHOLE = pyarrow.decimal256(76, 0)


def place_of(name: str, labels: Sequence[Hashable]) -> int:
    """Return which of the columns a filter means; raises ColumnsError for one that is not there once."""
    found = [place for place, each in enumerate(labels) if each == name]
    found = found or [place for place, each in enumerate(labels) if plain(each) == plain(name)]
    if len(found) != 1:
        what = f"there are {len(found)} columns" if found else "there is no column"
        columns = ", ".join(map(shown, labels[:20])) + (", …" if len(labels) > 20 else "")
        raise ColumnsError(
            f"{what} {shown(name)} for the filter; the columns are {columns}", "correct the filter"
        )
    return found[0]


def decoded(column: Any) -> Any:
    """Return a column without dictionary, runs, views and halves, which not all functions of Arrow take."""
    if isinstance(column, pyarrow.ChunkedArray):
        chunks = [decoded(each) for each in column.chunks]
        return pyarrow.chunked_array(chunks) if chunks else column
    if types.is_dictionary(column.type):
        return decoded(column.dictionary).take(column.indices)
    if types.is_run_end_encoded(column.type):
        return compute.run_end_decode(column)
    if types.is_string_view(column.type):
        return column.cast(pyarrow.large_string())
    if types.is_float16(column.type):
        return column.cast(pyarrow.float32())
    return column.cast(pyarrow.large_binary()) if types.is_binary_view(column.type) else column


def joined(form: Form, leaf: Callable[[Form], Any]) -> Any:
    """Join what conditions are, arrays or expressions, by the logic of three values."""
    if form[0] in ("and", "or"):
        join = compute.and_kleene if form[0] == "and" else compute.or_kleene
        return reduce(join, [joined(each, leaf) for each in form[1:]])
    return compute.invert(joined(form[1], leaf)) if form[0] == "not" else leaf(form)


def condition(form: Form, values: Any, kind: Any) -> Any:
    """Compare values of a type; the result is null where they are."""
    if form[0] == "null":
        return compute.is_null(values)
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        kind = kind.value_type
        values = values.cast(kind)
    if getattr(kind, "extension_name", "") == "arrow.uuid":
        kind = kind.storage_type
        values = values.cast(kind)
    if types.is_null(kind):
        return compute.if_else(compute.is_null(values), pyarrow.scalar(None, pyarrow.bool_()), False)
    if types.is_floating(kind) and not isinstance(values, compute.Expression):
        # NaN is neither: statistics of Parquet, which an expression is for, do not have it either.
        values = compute.if_else(compute.is_nan(values), pyarrow.scalar(None, kind), values)
    operator, column, literal = form
    places = [_place(each, kind, column) for each in (literal if operator == "in" else (literal,))]
    never = compute.if_else(
        compute.is_null(values), pyarrow.scalar(None, pyarrow.bool_()), pyarrow.scalar(False)
    )
    if operator in ("==", "in"):
        exact_values = [below for below, exact in places if exact]
        if not exact_values:
            return never
        first = compute.equal(values, exact_values[0])
        if len(exact_values) == 1:
            return first
        # What is in no list is false even where it is null; the first comparison is null there.
        among = compute.is_in(values, pyarrow.array(exact_values, kind))
        return compute.or_kleene(among, first)
    below, exact = places[0]
    if below is None:
        return never if operator in ("<", "<=") else compute.invert(never)
    if operator in ("<", "<="):
        return (compute.less if exact and operator == "<" else compute.less_equal)(values, below)
    return (compute.greater_equal if exact and operator == ">=" else compute.greater)(values, below)


def _place(literal: Literal, kind: Any, column: str) -> tuple[Any, bool]:
    """Return the largest value of a type that is not above a literal, or None, and whether it is equal.

    Raises ValueError for a literal that such values cannot be compared with.
    """
    if isinstance(literal, bool):
        if types.is_boolean(kind):
            return pyarrow.scalar(literal), True
    elif isinstance(literal, str):
        return _place_of_text(literal, kind, column)
    elif types.is_integer(kind):
        low = 0 if types.is_unsigned_integer(kind) else -(1 << (kind.bit_width - 1))
        return _at_most(Fraction(repr(literal)), low, low + (1 << kind.bit_width) - 1, kind, int)
    elif types.is_floating(kind):
        return _floating(literal, kind)
    elif types.is_decimal(kind):
        most = 10**kind.precision - 1
        scaled = Fraction(repr(literal)) * Fraction(10) ** kind.scale
        return _at_most(scaled, -most, most, kind, lambda whole: Decimal(f"{whole}E{-kind.scale}"))
    raise _unsuitable(literal, kind, column)


def _place_of_text(literal: str, kind: Any, column: str) -> tuple[Any, bool]:
    if types.is_string(kind) or types.is_large_string(kind):
        return pyarrow.scalar(literal, kind), True
    if types.is_binary(kind) or types.is_large_binary(kind):
        return pyarrow.scalar(literal.encode(), kind), True
    if types.is_fixed_size_binary(kind) and kind.byte_width == 16:
        try:
            return pyarrow.scalar(UUID(literal).bytes, kind), True
        except ValueError:
            raise _unsuitable(literal, kind, column) from None
    low, high = -(1 << 63), (1 << 63) - 1
    if types.is_time(kind) and (of_day := time_of_day(literal)) is not None:
        return _at_most(Fraction(of_day, UNITS[kind.unit]), 0, DAY, kind, int)
    if (types.is_timestamp(kind) or types.is_date(kind)) and (found := moment(literal)) is not None:
        zoned = types.is_timestamp(kind) and kind.tz is not None
        if zoned != found.zoned:
            has, other = ("a zone", "none") if zoned else ("no zone", "one")
            raise ValueError(
                f"column {column!r} holds {kind}, times with {has}, and {written(literal)} has {other}; "
                + (f"write it as in '{literal[:10]}T00:00:00Z'" if zoned else "write it without its zone")
            )
        if types.is_date32(kind):
            return _at_most(Fraction(found.nanoseconds, DAY), -(1 << 31), (1 << 31) - 1, kind, int)
        unit = UNITS["ms" if types.is_date64(kind) else kind.unit]
        return _at_most(Fraction(found.nanoseconds, unit), low, high, kind, int)
    raise _unsuitable(literal, kind, column)


def _at_most(value: Fraction, low: int, high: int, kind: Any, made: Callable[[int], Any]) -> tuple[Any, bool]:
    whole = value.numerator // value.denominator
    if whole < low:
        return None, False
    return pyarrow.scalar(made(min(whole, high)), kind), whole == value and whole <= high


def _floating(literal: int | float, kind: Any) -> tuple[Any, bool]:
    """A number with a fraction is what the type makes of it; whole numbers are compared exactly."""
    number: Any = {16: numpy.float16, 32: numpy.float32, 64: numpy.float64}[kind.bit_width]
    with numpy.errstate(over="ignore"):
        near = number(literal)
    if numpy.isfinite(near) and (isinstance(literal, float) or int(near) == literal):
        return pyarrow.scalar(near, kind), True
    if float(near) > literal:
        near = numpy.nextafter(near, number(-numpy.inf))
    return pyarrow.scalar(near, kind), False


def _unsuitable(literal: Literal, kind: Any, column: str) -> ValueError:
    return ValueError(
        f"column {column!r} holds {kind}, which is not compared with {written(literal)} (a "
        f"{kind_of(literal)}); write a literal of the column's type"
    )


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
