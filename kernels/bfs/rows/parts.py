"""How encoded rows are cut into parts that a buffer holds."""

from __future__ import annotations

from typing import Any

from gravel.kernels.layouts.parts import LINE, LONG_BYTES

GROUP = 32  # vertices that no cut divides: a word of their bitmaps
ROOM = 64 << 20
"""Bytes of each of the two buffers: 1.3 ms over the link against a few microseconds for a step."""


def cut_rows(byte_offsets: Any, room: int) -> tuple[Any, int]:
    """Cut rows into parts whose lines fit `room` bytes, or what the largest group of 32 rows takes.

    Parameters
    ----------
    byte_offsets : NumPy int64 (rows + 1,), ascending from 0.
    room : bytes of a buffer.

    Returns the first rows of the parts and the number of rows, uint64 (parts + 1,), and the room that the
    largest part takes, a multiple of `LINE`.

    """
    import numpy

    rows = len(byte_offsets) - 1
    edges = numpy.append(numpy.arange(0, rows, GROUP), rows)
    at = byte_offsets[edges]
    first_lines, last_lines = at // LINE, -(-at // LINE)
    cuts, taken = [0], 0
    while cuts[-1] < len(edges) - 1:
        place = cuts[-1]
        # The first edge whose lines, up to it, no longer fit; at least one group is taken.
        fitting = int(numpy.searchsorted(last_lines, first_lines[place] + room // LINE, side="right")) - 1
        cuts.append(max(place + 1, fitting))
        taken = max(taken, int(last_lines[cuts[-1]] - first_lines[place]))
    return edges[cuts].astype(numpy.uint64), max(1, taken) * LINE


def long_rows(byte_offsets: Any, parts: Any, dtype: Any) -> tuple[Any, Any]:
    """List the rows of more than LONG_BYTES, of `dtype`, and how many lie before each part, uint64."""
    import numpy

    found = numpy.flatnonzero(numpy.diff(byte_offsets) > LONG_BYTES)
    return found.astype(dtype), numpy.searchsorted(found, parts.astype(numpy.int64)).astype(numpy.uint64)
