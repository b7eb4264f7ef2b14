"""Dates, times and durations as ids: compared as moments, exactly, whatever their units are.

A moment with a zone and one without are of different kinds, as are a date and a time with a date.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any

import numpy
import pyarrow
from numpy.typing import NDArray
from pyarrow import types

UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""Of Arrow, with how many are in a second."""

_DAY = 86_400
_PYTHON = datetime.date | datetime.time | datetime.timedelta


def kind_of(kind: Any) -> str | None:
    """Call a type of Arrow by what its values are; None for one that has no moments."""
    if types.is_date(kind):
        return "dates"
    if types.is_timestamp(kind):
        return "times with dates" if kind.tz is None else "times with dates and zones"
    if types.is_time(kind):
        return "times of day"
    return "durations" if types.is_duration(kind) else None


def per_second(kind: Any) -> int:
    """Return how many units of a type that is no date are in a second."""
    return UNITS[kind.unit]


def merged(kinds: Iterable[Any]) -> list[Any]:
    """Return the types that hold values of types of one kind, the finest first."""
    first, *others = kinds
    if types.is_date(first):
        return [pyarrow.date32()]
    units = [unit for unit in reversed(UNITS) if UNITS[unit] <= max(map(per_second, (first, *others)))]
    if types.is_timestamp(first):
        return [pyarrow.timestamp(unit, first.tz) for unit in units]
    if types.is_duration(first):
        return [pyarrow.duration(unit) for unit in units]
    return [pyarrow.time64(unit) if unit in ("us", "ns") else pyarrow.time32(unit) for unit in units]


def stored(values: Any) -> NDArray[Any]:
    """Return an array's moments as NumPy's integers, in the array's units: days for dates."""
    width = values.type.bit_width
    whole = values.view(pyarrow.int32() if width == 32 else pyarrow.int64())
    found: NDArray[Any] = whole.to_numpy(zero_copy_only=False).astype(numpy.int64, copy=False)
    return found // (1000 * _DAY) if types.is_date64(values.type) else found


def in_single_units(values: NDArray[Any]) -> NDArray[Any]:
    """Return moments of NumPy that count single units; Arrow takes 10 us for 1 us."""
    unit, step = numpy.datetime_data(values.dtype) if values.dtype.kind in "mM" else ("", 1)
    return values if step == 1 else values.astype(f"{values.dtype.kind}8[{unit}]")


def ticks(value: Any, kind: Any) -> tuple[int, bool] | None:
    """Return a value in units of a type, rounded down, and whether it is that exactly.

    None for what is no moment of the type's kind. Takes values of Python, NumPy, pandas and Arrow.
    """
    found = _moment(value)
    if found is None or found[0] != kind_of(kind):
        return None
    _, amount, units = found
    if types.is_date(kind):
        return amount, True
    whole, rest = divmod(amount * per_second(kind), units)
    return whole, not rest


def exact_column(values: Any, column: Any) -> Any:
    """Return what Arrow made of Python's or pandas' moments, with nanoseconds, which it cuts.

    Raises ValueError where it took a zone away, and for nanoseconds that do not fit 64 bits.
    """
    if kind_of(column.type) in (None, "dates"):
        return column
    known = [value for value in values if value is not None and value == value]
    zones = {getattr(value, "tzinfo", None) is not None for value in known}
    if len(zones) > 1:
        raise ValueError("mixes times with a zone and times without one")
    if True in zones and types.is_time(column.type):
        raise ValueError("has times of day with zones, which are no ids")
    if not any(getattr(value, name, 0) for value in known for name in ("nanosecond", "nanoseconds")):
        return column
    kind = pyarrow.duration("ns")
    if types.is_timestamp(column.type):
        kind = pyarrow.timestamp("ns", column.type.tz)
    found = [ticks(value, kind) for value in values]
    try:
        return pyarrow.array([each and each[0] for each in found], pyarrow.int64()).view(kind)
    except OverflowError:
        raise ValueError("has nanoseconds that do not fit 64 bits") from None


def _moment(value: Any) -> tuple[str, int, int] | None:
    """Return the kind of a value, a whole number, and how many of its units are in a second.

    Of a date it is the number of days.
    """
    if isinstance(value, pyarrow.Scalar):
        kind = kind_of(value.type)
        if kind is None or not value.is_valid:
            return None
        amount = int(stored(pyarrow.array([value], value.type))[0])
        return kind, amount, 1 if kind == "dates" else per_second(value.type)
    if hasattr(value, "asm8"):  # pandas' Timestamp and Timedelta
        found = _moment(value.asm8)
        zone = getattr(value, "tzinfo", None) is not None
        return found and ("times with dates and zones" if zone else found[0], *found[1:])
    values: Any = [value]
    if isinstance(value, numpy.datetime64 | numpy.timedelta64):
        values = in_single_units(numpy.array(values))
    elif isinstance(value, datetime.datetime) and value.tzinfo is not None:
        values = [value.astimezone(datetime.UTC)]
    elif not isinstance(value, _PYTHON) or getattr(value, "tzinfo", None) is not None:
        return None
    try:
        return _moment(pyarrow.array(values)[0])
    except (pyarrow.ArrowException, OverflowError):  # of a unit or a size that Arrow does not have
        return None
