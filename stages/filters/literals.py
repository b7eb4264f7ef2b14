"""Literals of filters, and the times among them as whole nanoseconds."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, NamedTuple

Literal = bool | int | float | str
Form = tuple[Any, ...]
"""`("and" or "or", form, form, ...)`, `("not", form)`, `("null", column)`, `("in", column, literals)`, or
`(operator, column, literal)` with one of == < <= > >=."""

SECOND = 1_000_000_000

_MOMENT = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d)(?::(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?(Z|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)
_TIME_OF_DAY = re.compile(r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?", re.ASCII)


class UnsuitableValue(ValueError):
    """A text that is not what a filter compares its column with; `row` is its place in the batch."""

    def __init__(self, message: str, row: int) -> None:
        super().__init__(message)
        self.row = row


class Moment(NamedTuple):
    """Nanoseconds since 1970-01-01, in UTC if `zoned`, else on the clock that the text is of."""

    nanoseconds: int
    zoned: bool


def moment(text: str) -> Moment | None:
    """Read a date, or a date and a time of day; None for what is neither."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        return None
    day, hour, minute, second, fraction, zone = found.groups()
    offset = "+00:00" if zone in (None, "Z") else zone if len(zone) > 3 else f"{zone}:00"
    try:
        start = datetime.fromisoformat(f"{day}T{hour or '00'}:{minute or '00'}:{second or '00'}{offset}")
        seconds = start - datetime(1970, 1, 1, tzinfo=UTC)
    except ValueError:
        return None
    whole = seconds.days * 86_400 + seconds.seconds
    return Moment(whole * SECOND + int((fraction or "").ljust(9, "0")), zone is not None)


def time_of_day(text: str) -> int | None:
    """Read a time of day as nanoseconds since midnight; None for what is none."""
    found = _TIME_OF_DAY.fullmatch(text)
    if found is None:
        return None
    hour, minute, second = (int(each or 0) for each in found.groups()[:3])
    if hour > 23 or minute > 59 or second > 59:
        return None
    return (hour * 3600 + minute * 60 + second) * SECOND + int((found[4] or "").ljust(9, "0"))


def kind_of(literal: Literal) -> str:
    """Return what a column holds that is compared with a literal."""
    if isinstance(literal, bool):
        return "truth"
    if not isinstance(literal, str):
        return "number"
    found = moment(literal)
    return "text" if found is None else "time with a zone" if found.zoned else "time"


def written(literal: Literal) -> str:
    """Write a literal as it stands in a filter."""
    if isinstance(literal, bool):
        return str(literal).lower()
    return "'" + literal.replace("'", "''") + "'" if isinstance(literal, str) else repr(literal)
