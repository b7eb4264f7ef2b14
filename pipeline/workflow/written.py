"""Plain values of a workflow that remember how they were written: `007` is the number 7, and may be an id."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


class WrittenInteger(int):
    """A whole number that was written otherwise than Python writes it."""

    text: str


class WrittenFloat(float):
    """A number with a point or an exponent that was written otherwise."""

    text: str


class WrittenList(list[Any]):
    """A list with `words`: what was written where null, true and false stand in it, by position."""

    words: Mapping[int, str]


def written(value: Any, text: str) -> Any:
    """Return a value that remembers its text, if it is a number of which Python would write another one."""
    if isinstance(value, bool) or not isinstance(value, int | float) or str(value) == text:
        return value
    number = WrittenInteger(value) if isinstance(value, int) else WrittenFloat(value)
    number.text = text
    return number


def written_list(values: Iterable[Any], words: Iterable[str | None]) -> list[Any]:
    """Return a list that remembers words, if there are any."""
    known = {place: word for place, word in enumerate(words) if word is not None}
    if not known:
        return list(values)
    found = WrittenList(values)
    found.words = known
    return found
