"""Plain scalars by the core schema of YAML 1.2 (section 10.3.2): `yes`, `on` and `010` are not special."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from gravel.stages.artifact import Json


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


_WORDS: dict[str, Json] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")

MAX_DIGITS = 40  # longer than any id, seed or size; int() refuses much longer ones by itself


def plain_value(text: str) -> Json:
    """Return what an unquoted scalar means; raises ValueError for a number of absurd length."""
    if text in _WORDS:
        return _WORDS[text]
    for pattern, base in ((_INTEGER, 10), (_OCTAL, 8), (_HEXADECIMAL, 16)):
        if pattern.fullmatch(text):
            if len(text) > MAX_DIGITS:
                raise ValueError(f"a number of {len(text)} digits; at most {MAX_DIGITS} are read")
            return int(text[2:] if base != 10 else text, base)
    return float(text) if _FLOAT.fullmatch(text) else text


def as_data(value: Json, *, written: bool = False) -> Json:
    """Return data of plain types: numbers, and what was written for those that JSON does not have.

    With `written` it stands for each number that is written otherwise than Python writes it.
    """
    if isinstance(value, WrittenInteger | WrittenFloat):
        number = int(value) if isinstance(value, int) else float(value)
        return number if math.isfinite(number) and not written else value.text
    if isinstance(value, list):
        return [as_data(each, written=written) for each in value]
    if isinstance(value, dict):
        return {key: as_data(each, written=written) for key, each in value.items()}
    return value


def to_text(value: Json) -> str:
    """Write a value as it stands in a workflow file, on one line; used in keys, messages and strings."""
    if isinstance(value, str):
        return value
    if isinstance(value, WrittenInteger | WrittenFloat):
        return value.text
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(to_text, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {to_text(item)}" for key, item in value.items()) + "}"
    return str(value)
