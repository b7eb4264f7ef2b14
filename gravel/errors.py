"""Exceptions of the Python package beside Python's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gravel.pipeline.core.errors import NotEnoughMemory

__all__ = ["NotEnoughMemory", "UnknownVertex"]


class UnknownVertex(KeyError):
    """An id that the graph does not have; `nearest` lists some that it has."""

    def __init__(self, value: Any, kind: str, nearest: Sequence[Any]) -> None:
        super().__init__(value)
        self.value = value
        self.nearest = list(nearest)
        listed = ", ".join(map(repr, self.nearest))
        self._message = f"{value!r} is no vertex of this graph, whose ids are {kind}"
        if listed:
            self._message += f"; the nearest {'are' if self.nearest[1:] else 'is'} {listed}"

    def __str__(self) -> str:
        return self._message
