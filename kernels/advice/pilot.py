"""Every order tried on a sample: the bits per arc that follow from it, and where its neighbours lie.

Of a graph that is larger than the sample, orders that rest on degrees alone are found for the whole of it,
and rows from everywhere tell their bits. For the others, a ball of vertices is put into every order. What an
order saves there against the given numbering, in parts of its bits, it is taken to save in the whole graph,
where the bits of the given numbering are known from rows. Where the given numbering is a poor one, an order
that keeps neighbours together saves more in the whole than in a ball, which has fewer strangers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy
from numpy.typing import NDArray

from gravel.kernels.advice.bits import bits_per_arc
from gravel.kernels.advice.heads import scattered_heads
from gravel.kernels.advice.misses import levels_of, missed_lines
from gravel.kernels.advice.sample import Part, Rows, ball, some_rows, some_rows_renumbered
from gravel.kernels.order import METHODS, apply, permutation

WHOLE = 1 << 22
"""Arcs up to which the whole graph is the sample."""

BALL = 1 << 22
"""Arcs of the vertices of a ball; what stays inside is less."""

ORIGINAL = "original"

Share = TypeVar("Share", float, float | None)


@dataclass(frozen=True)
class Tried:
    """An order as the sample has it, with bits per arc by layout.

    `span` is the share of the vertices that lie before or at the last one that has arcs, `scattered` what
    `gravel.kernels.advice.heads` counts, and `missed` what `gravel.kernels.advice.misses` does, where that
    was asked for. `against` the given numbering it tells by how much a split search's reads change.
    """

    order: str
    bits: Mapping[str, float]
    span: float = 1.0
    scattered: float = 1.0
    missed: float | None = None

    def against(self, original: Tried) -> float:
        """Lines read behind first neighbours for each one that the given numbering makes a search read."""
        return self.missed / original.missed if self.missed is not None and original.missed else 1.0


@dataclass(frozen=True)
class Pilot:
    """What was tried, in the order that was asked for, and on how much of the graph."""

    tried: tuple[Tried, ...]
    sampled_arcs: int
    arcs: int

    def summary(self) -> str:
        """Say how much of the graph this rests on."""
        if self.sampled_arcs == self.arcs:
            return f"each order was tried on all {self.arcs:,} arcs"
        return f"each order was tried on {self.sampled_arcs:,} of {self.arcs:,} arcs"


def try_orders(
    row_offsets: NDArray[numpy.int64],
    columns: NDArray[Any],
    orders: Sequence[str],
    *,
    symmetric: bool,
    whole: int = WHOLE,
    arcs: int = BALL,
    misses: bool = False,
) -> Pilot:
    """Try orders on a graph whose arrays are in memory, sorted lists; "original" is tried always.

    `arcs` are those of the ball that stands for a graph of more than `whole` arcs. With `misses` a symmetric
    graph is searched once, and `missed` is counted.
    """
    n, m = len(row_offsets) - 1, int(row_offsets[-1])
    names = list(dict.fromkeys([ORIGINAL, *orders]))
    misses = misses and symmetric
    if m <= whole and symmetric:
        return Pilot(tuple(_all(Rows(row_offsets, columns[:m]), names, misses).values()), m, m)
    near = ball(row_offsets, columns, symmetric=symmetric, arcs=m if m <= whole else arcs)
    rows = some_rows(row_offsets, columns)
    known = Tried(ORIGINAL, bits_per_arc(rows, n), scattered=scattered_heads(rows))
    if len(near.columns) == 0:
        return Pilot((known,), 0, m)
    levels = levels_of(row_offsets, columns) if misses else None
    width = columns.dtype.itemsize
    known = replace(known, missed=_missed(rows, levels, width))
    here = _all(near, names, misses)
    before = here[ORIGINAL]
    saved = {layout: known.bits[layout] / before.bits[layout] for layout in known.bits}
    tried = []
    for name in names:
        one = here[name]
        if METHODS[name].reads_columns:
            one = replace(
                one,
                bits={layout: bits * saved[layout] for layout, bits in one.bits.items()},
                span=1.0,
                scattered=_scaled(known.scattered, one.scattered, before.scattered),
                missed=_scaled(known.missed, one.missed, before.missed),
            )
        else:
            order = permutation(name, row_offsets, None).astype(columns.dtype, copy=False)
            rows = some_rows_renumbered(row_offsets, columns, order)
            one = replace(
                one,
                bits=bits_per_arc(rows, n),
                span=(int(order[numpy.diff(row_offsets) > 0].max(initial=0)) + 1) / n,
                scattered=scattered_heads(rows),
                missed=_missed(rows, _moved(levels, order), width),
            )
        tried.append(one)
    return Pilot(tuple(tried), len(near.columns), m)


def _scaled(known: Share, one: Share, before: Share) -> Share:
    """Change a share of the whole graph as an order changes it in the ball; it stays at most 1."""
    if known is None or one is None or not before:
        return known
    return min(1.0, known * one / before)


def _moved(levels: NDArray[Any] | None, order: NDArray[Any]) -> NDArray[Any] | None:
    if levels is None:
        return None
    moved = numpy.empty_like(levels)
    moved[order] = levels
    return moved


def _missed(parts: Sequence[Part], levels: NDArray[Any] | None, width: int) -> float | None:
    return None if levels is None else missed_lines(parts, levels, width)


def _all(rows: Rows, names: Sequence[str], misses: bool) -> dict[str, Tried]:
    levels = levels_of(rows.row_offsets, rows.columns) if misses else None
    found = {}
    for name in names:
        moved, seen = rows, levels
        if name != ORIGINAL:
            order = permutation(name, rows.row_offsets, rows.columns)
            moved, seen = Rows(*apply(rows.row_offsets, rows.columns, order)), _moved(levels, order)
        part = Part(0, *moved)
        last = int(numpy.flatnonzero(numpy.diff(moved.row_offsets)).max(initial=-1)) + 1
        found[name] = Tried(
            name,
            bits_per_arc([part], len(moved.row_offsets) - 1),
            last / max(1, len(moved.row_offsets) - 1),
            scattered_heads([part]),
            _missed([part], seen, rows.columns.dtype.itemsize),
        )
    return found
