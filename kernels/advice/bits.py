"""Bits that an arc takes in each layout, measured by writing rows in it."""

from __future__ import annotations

from kernels.advice.sample import Rows
from kernels.layouts import LAYOUTS, encode

OFFSETS = ("row_offsets", "byte_offsets")
"""Arrays with an entry per row, which every layout has."""


def bits_per_arc(rows: Rows) -> dict[str, float]:
    """Write rows in every layout; returns bits per arc, offsets not counted, by layout (0 without arcs)."""
    arcs = len(rows.columns)
    found = {}
    for layout in LAYOUTS:
        written = encode(layout, rows.row_offsets, rows.columns)
        taken = sum(int(array.nbytes) for name, array in written.arrays.items() if name not in OFFSETS)
        found[layout] = 8 * taken / arcs if arcs else 0.0
    return found
