"""The first bytes of a file, by which formats are recognised."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from gravel.stages.streams.lines import BYTE_ORDER_MARK

HEAD_BYTES = 1 << 16
"""Enough for the comments that real files start with and some hundred edges."""

_INTEGER = re.compile(rb"[0-9]+")
_NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class Head:
    """Decompressed bytes from the start of a file; `whole` if there are no more."""

    data: bytes
    whole: bool

    @cached_property
    def lines(self) -> list[bytes]:
        """The complete lines, without their ends and a byte order mark."""
        lines = self.data.removeprefix(BYTE_ORDER_MARK).split(b"\n")
        last = lines.pop()
        if self.whole and last:
            lines.append(last)
        return [line.rstrip(b"\r") for line in lines]

    def content(self, comments: bytes) -> list[bytes]:
        """The lines that are neither blank nor start with one of these characters."""
        marks = {b"", *(bytes([each]) for each in comments)}
        return [line for line in self.lines if line.strip()[:1] not in marks]


def is_integer(field: bytes) -> bool:
    """Return whether a field is a whole number without a sign."""
    return _INTEGER.fullmatch(field) is not None


def whole_numbers(fields: Sequence[bytes]) -> list[int] | None:
    """Return fields as whole numbers below 2^63; None if one of them is something else."""
    if not all(map(is_integer, fields)) or max(map(len, fields), default=0) > 19:
        return None
    numbers = [*map(int, fields)]
    return numbers if max(numbers, default=0) < 1 << 63 else None


def is_number(field: bytes) -> bool:
    """Return whether a field is a decimal number."""
    return _NUMBER.fullmatch(field) is not None


LONGEST = 60
"""Characters of a piece of a file in a message, unless it needs others."""


def shown(text: bytes | str, longest: int = LONGEST) -> str:
    """Quote a piece of a file for a message: short, and without characters that a terminal would act on."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", errors="backslashreplace")
    cut = text if len(text) <= longest else text[: longest - 1] + "…"
    return repr(cut)
