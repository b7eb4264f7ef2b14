"""Vertex ids as the input file writes them, resolved to internal indices."""

from __future__ import annotations

import bisect
import os
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gravel.stages.errors import StageError

if TYPE_CHECKING:
    from gravel.stages.artifact import Array
    from gravel.stages.artifacts import VertexIds

BLOCK = 65_536  # ids read at once; half a chunk of the store

_WHOLE = re.compile(r"[+-]?[0-9]{1,40}|0o[0-7]{1,40}|0x[0-9a-fA-F]{1,40}")
"""Whole numbers as YAML writes them."""

MAX_NAMED = 5  # unknown ids named in one message
MAX_SHOWN = 80  # characters of an id in a message
NEIGHBOURS = 16  # sorted neighbours of an unknown text among which the nearest is sought, on each side


class UnknownSource(StageError):
    """Sources that are not vertices of the graph."""


def find_vertices(
    vertex_ids: VertexIds, wanted: Sequence[int | str], what: str = "source"
) -> tuple[int, ...]:
    """Return the internal index of each id.

    The ids are ascending, and read in blocks around the places of a binary search. Raises UnknownSource that
    names the ids that are not in the graph, each with the nearest one that is; `what` is what it calls them.
    """
    count = vertex_ids.vertex_count
    ascending = _ascending(vertex_ids)
    texts = isinstance(ascending, _TextBlocks)
    found, unknown = [], []
    for each in wanted:
        value: Any = str(each).encode() if texts else _number(each)
        if value is None:
            unknown.append((_shown(str(each)), "its ids are whole numbers" if count else ""))
            continue
        place = bisect.bisect_left(ascending, value)
        if place < count and ascending[place] == value:
            found.append(place)
        elif texts:
            unknown.append((_shown(str(each)), _like(ascending, place, str(each))))
        else:
            around = [int(ascending[at]) for at in (place - 1, place) if 0 <= at < count]
            nearest = min(around, key=lambda known: abs(known - value), default=None)
            unknown.append((str(each), f"the nearest id that is: {nearest}"))
    if unknown:
        raise UnknownSource(_unknown_message(unknown, count, what))
    return tuple(found)


def _ascending(vertex_ids: VertexIds) -> Any:
    count = vertex_ids.vertex_count
    if vertex_ids.text is not None and vertex_ids.offsets is not None:
        return _TextBlocks(vertex_ids.text, vertex_ids.offsets, count)
    if vertex_ids.ids is None:
        return range(vertex_ids.first, vertex_ids.first + count)
    return _Blocks(vertex_ids.ids, count)


def _number(wanted: int | str) -> int | None:
    if isinstance(wanted, int):
        return wanted
    base = {"0o": 8, "0x": 16}.get(wanted[:2], 10)
    return int(wanted, base) if _WHOLE.fullmatch(wanted) else None


def _like(ascending: _TextBlocks, place: int, wanted: str) -> str:
    """Name the ids that look most like one that is not there, of its sorted neighbours."""
    import difflib

    first, last = max(0, place - NEIGHBOURS), min(len(ascending), place + NEIGHBOURS)
    around = [ascending[at].decode() for at in range(first, last)]
    beside = around[max(0, place - first - 1) : place - first + 1]
    alike = difflib.get_close_matches(wanted, around, 3, 0.7)
    alike = alike or [max(beside, key=lambda near: len(os.path.commonprefix([near, wanted])))]  # noqa: RUF071
    what = "ids that are" if len(alike) > 1 else "id that is"
    return f"the nearest {what}: {', '.join(map(_shown, alike))}"


def _shown(text: str) -> str:
    return repr(text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…")


def _unknown_message(unknown: list[tuple[str, str]], count: int, what: str) -> str:
    if count == 0:
        return f"{what} {unknown[0][0]} is not in the graph, which has no vertices"
    if len(unknown) == 1:
        return f"{what} {unknown[0][0]} is not in the graph ({unknown[0][1]})"
    named = [f"{each} ({nearest})" for each, nearest in unknown[:MAX_NAMED]]
    more = f" and {len(unknown) - MAX_NAMED} more" if len(unknown) > MAX_NAMED else ""
    many = {"vertex": "vertices"}.get(what, f"{what}s")
    return f"these {many} are not in the graph: {', '.join(named)}{more}"


class _TextBlocks:
    """Texts whose ends are read a block at a time, and whose bytes one by one."""

    def __init__(self, text: Array, offsets: Array, count: int) -> None:
        self._text = text
        self._offsets = _Blocks(offsets, count + 1)
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, position: int) -> bytes:
        return bytes(self._text[self._offsets[position] : self._offsets[position + 1]])


class _Blocks:
    """An array that is read a block at a time, for a search by bisection."""

    def __init__(self, array: Array, count: int) -> None:
        self.count = count
        self._block = lru_cache(maxsize=64)(lambda number: array[number * BLOCK : (number + 1) * BLOCK])

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, position: int) -> int:
        return int(self._block(position // BLOCK)[position % BLOCK])
