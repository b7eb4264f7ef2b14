"""Bits that an arc takes in each layout, measured by writing rows in it."""

from __future__ import annotations

from collections.abc import Sequence

from gravel.kernels.advice.sample import Part
from gravel.kernels.layouts import encode
from gravel.kernels.layouts.registry import layouts

OFFSETS = ("row_offsets", "byte_offsets")
"""Arrays with an entry per row, which every layout has."""


def bits_per_arc(parts: Sequence[Part], vertices: int) -> dict[str, float]:
    """Write parts of a graph in every layout; returns bits per arc by layout, offsets not counted.

    Without arcs there are 0.
    """
    arcs = sum(len(part.columns) for part in parts)
    found = {}
    for layout in layouts():
        encoded = 0
        for first_row, offsets, columns in parts:
            written = encode(layout, offsets, columns, first_row=first_row, bound=vertices)
            encoded += sum(int(array.nbytes) for name, array in written.arrays.items() if name not in OFFSETS)
        found[layout] = 8 * encoded / arcs if arcs else 0.0
    return found
