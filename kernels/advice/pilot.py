"""Every order tried on a sample: the bits per arc that follow from it, and the arcs that a search looks at.

Of a graph that is larger than the sample, orders that rest on degrees alone are found for the whole of it,
and rows from everywhere tell their bits. For the others, a ball of vertices is put into every order. Bits
grow with the number of vertices where an order does not keep neighbours together, and stay where it does, so
they are measured on two balls and drawn on to the whole graph along the bits that rows without any locality
take at these sizes. What the given numbering takes is known from rows of the whole graph, and corrects the
rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from kernels.advice.bits import bits_per_arc
from kernels.advice.sample import Part, Rows, ball, shuffled, some_rows, some_rows_renumbered
from kernels.advice.search import looked_at
from kernels.order import METHODS, apply, permutation

WHOLE = 1 << 22
"""Arcs up to which the whole graph is the sample."""

LARGE, SMALL = 1 << 22, 1 << 20
"""Arcs of the vertices of either ball; what stays inside is less."""

ORIGINAL = "original"


@dataclass(frozen=True)
class Tried:
    """An order as the sample has it: bits per arc by layout, and shares of all arcs that a search reads.

    `span` is the share of the vertices that lie before or at the last one that has arcs.
    """

    order: str
    bits: Mapping[str, float]
    looked: float
    beyond: float  # of bottom-up levels after the first two arcs of a row, and of top-down levels
    span: float = 1.0


@dataclass(frozen=True)
class Pilot:
    """What was tried, in the order that was asked for, and on how much of the graph."""

    tried: tuple[Tried, ...]
    sampled_arcs: int
    arcs: int

    def told(self) -> str:
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
    large: int = LARGE,
    small: int = SMALL,
) -> Pilot:
    """Try orders on a graph whose arrays are in memory, sorted lists; "original" is tried always.

    `large` and `small` are the arcs of the two balls that stand for a graph of more than `whole` arcs.
    """
    n, m = len(row_offsets) - 1, int(row_offsets[-1])
    names = list(dict.fromkeys([ORIGINAL, *orders]))
    if m <= whole and symmetric:
        return Pilot(tuple(_all(Rows(row_offsets, columns[:m]), names).values()), m, m)
    if m <= whole:
        large = small = m
    near = ball(row_offsets, columns, symmetric=symmetric, arcs=large)
    here = _all(near, names)
    known = bits_per_arc(some_rows(row_offsets, columns), n)
    if len(near.columns) == 0:
        return Pilot((Tried(ORIGINAL, known, 1.0, 1.0),), 0, m)
    nearer = ball(row_offsets, columns, symmetric=symmetric, arcs=small) if small < large else near
    there = _all(nearer, names) if nearer is not near else here
    # What rows of the same lengths would take if neighbours were strangers, at the three sizes.
    strange = [
        bits_per_arc(shuffled(some_rows(*each), len(each[0]) - 1), len(each[0]) - 1)
        for each in (nearer, near, (row_offsets, columns))
    ]
    drawn = {
        name: {
            layout: _drawn_on(
                there[name].bits[layout], here[name].bits[layout], *(each[layout] for each in strange)
            )
            for layout in known
        }
        for name in names
    }
    tried = []
    for name in names:
        span = 1.0
        if METHODS[name].reads_columns:
            bits = {
                layout: _corrected(value, drawn[ORIGINAL][layout], known[layout], strange[-1][layout])
                for layout, value in drawn[name].items()
            }
        else:
            order = permutation(name, row_offsets, None).astype(columns.dtype, copy=False)
            bits = bits_per_arc(some_rows_renumbered(row_offsets, columns, order), n)
            span = (int(order[numpy.diff(row_offsets) > 0].max(initial=0)) + 1) / n
        tried.append(Tried(name, bits, here[name].looked, here[name].beyond, span))
    return Pilot(tuple(tried), len(near.columns), m)


def _all(rows: Rows, names: Sequence[str]) -> dict[str, Tried]:
    arcs = max(1, len(rows.columns))
    found = {}
    for name in names:
        moved = rows
        if name != ORIGINAL:
            order = permutation(name, rows.row_offsets, rows.columns)
            moved = Rows(*apply(rows.row_offsets, rows.columns, order))
        looked = looked_at(moved.row_offsets, moved.columns)
        bits = bits_per_arc([Part(0, *moved)], len(moved.row_offsets) - 1)
        last = int(numpy.flatnonzero(numpy.diff(moved.row_offsets)).max(initial=-1)) + 1
        span = last / max(1, len(moved.row_offsets) - 1)
        found[name] = Tried(name, bits, looked.arcs / arcs, looked.beyond / arcs, span)
    return found


def _drawn_on(
    small: float, large: float, strange_small: float, strange_large: float, strange: float
) -> float:
    """Draw bits on from two sizes to a third; they grow between not at all and as fast as strangers' do."""
    step = strange_large - strange_small
    slope = (large - small) / step if step > 0 else 1.0
    return large + min(1.0, max(0.0, slope)) * (strange - strange_large)


def _corrected(drawn: float, original_drawn: float, original: float, strange: float) -> float:
    """Shift what was drawn on by the error at the given numbering, as far as an order is alike local.

    An order without any locality takes what strangers take, whatever the balls say of the given numbering.
    """
    room = strange - original_drawn
    alike = min(1.0, max(0.0, (strange - drawn) / room)) if room > 0 else 0.0
    return max(0.0, drawn + alike * (original - original_drawn))
