"""Lengths of time: as people write them in a workflow, and as they are shown."""

from __future__ import annotations

import re

from gravel.stages.artifact import Json

_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_NAMES = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), "s"),
    **dict.fromkeys(("m", "min", "minute", "minutes"), "m"),
    **dict.fromkeys(("h", "hour", "hours"), "h"),
    **dict.fromkeys(("d", "day", "days"), "d"),
}
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", re.IGNORECASE)

FORM = "write it like 10 min, 90 s, 1.5 h or 1 h 30 min"


def parse_duration(value: Json) -> float:
    """Return seconds, of a text such as `10 min` or `1 h 30 min`, or of a number of seconds.

    Raises ValueError for anything else, and for what is no time at all.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = float(value)
    elif isinstance(value, str) and value.strip():
        seconds, place = 0.0, 0
        while place < len(value):
            part = _PART.match(value, place)
            unit = _NAMES.get(part[2].lower()) if part is not None else None
            if part is None or unit is None:
                raise ValueError(f"{value!r} is no length of time")
            seconds += float(part[1]) * _SECONDS[unit]
            place = part.end()
    else:
        raise ValueError(f"{value!r} is no length of time")
    if not 0 < seconds < float("inf"):
        raise ValueError(f"{value!r} is no time at all" if seconds <= 0 else f"{value!r} has no end")
    return seconds


def format_duration(seconds: float) -> str:
    """Write seconds with the unit that suits them."""
    for unit, name in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= unit:
            whole, rest = divmod(seconds, unit)
            return f"{whole:g} {name}" if rest < unit / 60 else f"{whole:g} {name} {format_duration(rest)}"
    return f"{seconds:g} s"


def format_seconds(seconds: float) -> str:
    """Write a duration: 0.00042 s, 0.42 s, 12.3 s, 4 min 05 s, 2 h 03 min."""
    if 1e-8 < seconds < 0.005:
        return f"{float(f'{seconds:.1e}'):.9f}".rstrip("0") + " s"
    if seconds < 99.95:
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
