"""Tables of the arrays that work on a graph takes: they are made from them, and memory is stated by them.

A table is a tuple of `Buffer`, made by a function of counts: vertices, arcs, ranks and what else decides.
Who plans gives bounds of the counts, who allocates what was counted. Nothing is imported that plans do
without.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import prod
from typing import Any

GRAIN = 512
"""Bytes of which CuPy's pool hands out multiples."""


@dataclass(frozen=True)
class Buffer:
    """One array, or what a library takes at its peak, as it was measured.

    Parameters
    ----------
    name : by which `make` hands the array out.
    dtype : NumPy's type string, such as "u4", whose digits are bytes.
    length : elements, or a shape.
    fill : what it holds at first, None for anything.
    place : "device", "pinned" or "host".
    phases : when it is there; () for always. Arrays of different phases are not there at the same time.
    touched : on the host, the elements that are written at most: no page of others is taken.

    """

    name: str
    dtype: str
    length: int | tuple[int, ...]
    fill: int | None = None
    place: str = "device"
    phases: tuple[str, ...] = ()
    touched: int | None = None

    @property
    def nbytes(self) -> int:
        """What it takes of the memory of its place."""
        shape = self.length if isinstance(self.length, tuple) else (self.length,)
        return int(self.dtype[1:]) * (prod(shape) if self.touched is None else self.touched)

    def make(self, arrays: Any) -> Any:
        """Make the array with NumPy or CuPy as `arrays`."""
        if self.fill is None:
            return arrays.empty(self.length, self.dtype)
        if self.fill == 0:
            return arrays.zeros(self.length, self.dtype)
        import numpy

        return arrays.full(self.length, numpy.dtype(self.dtype).type(self.fill))


Table = tuple[Buffer, ...]


def table(place: str = "device", /, *phases: str, **arrays: tuple[Any, ...]) -> Table:
    """Make a table of `name=(dtype, length)` or `name=(dtype, length, fill)`, all in one place."""
    rows = (Buffer(name, *facts) for name, facts in arrays.items())
    return tuple(replace(each, place=place, phases=phases) for each in rows)


def edges(count: int, vertex: str, place: str = "device") -> Table:
    """Both ends of edges."""
    return table(place, source=(vertex, count), target=(vertex, count))


def sorting(keys: int, *phases: str) -> Table:
    """What CuPy's sort takes beside 64-bit keys: a copy of each, and counters of CUB's radix sort.

    The counters are 256 words of 32 bits for a tile. On an H100 a tile has 5,760 keys, and they take 0.18
    bytes of a key.
    """
    return table("device", *phases, CUB=("u1", (keys, 9)))


def during(table: Iterable[Buffer], *phases: str) -> Table:
    """Return a table whose arrays are there in these phases alone."""
    return tuple(replace(each, phases=phases) for each in table)


def make(table: Iterable[Buffer], arrays: Any) -> dict[str, Any]:
    """Make the arrays of a table in its order, with NumPy or CuPy as `arrays`; returns them by name."""
    return {each.name: each.make(arrays) for each in table}


def total(table: Iterable[Buffer], place: str = "device") -> int:
    """Return the bytes that a table takes of a place at most: those of its largest phase.

    On a device they are those of CuPy's pool, which rounds arrays up.
    """
    grain = GRAIN if place == "device" else 1
    sizes = [(each.phases, -(-each.nbytes // grain) * grain) for each in table if each.place == place]
    phases = {name for named, _ in sizes for name in named} or {""}
    return max(sum(size for named, size in sizes if not named or name in named) for name in phases)


def exact(table: Iterable[Buffer]) -> int:
    """Return the bytes of the arrays of a table, wherever they are."""
    return sum(each.nbytes for each in table)


def vertex_type(vertices: int) -> str:
    """Name the type of a vertex's number: 32 bits below 2^32 vertices, else 64."""
    return "u4" if vertices < 1 << 32 else "u8"
