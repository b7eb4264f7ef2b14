"""What PageRank takes on a GPU; it imports nothing, so that planning stays cheap."""

from __future__ import annotations

VERTICES = 1024
"""Vertices whose changes are added up together, as in commit.cu."""


def device_bytes(vertices: int, arcs: int) -> int:
    """State what the ranks of plain or encoded rows take beside these and their weights."""
    of_vertices = 8 * 9  # ranks, shares, sums, inverse, arcs, jumps, and copies while they are made
    # Tiles; or the units of long rows, of at least 128 arcs, and the units of each row.
    return of_vertices * vertices + arcs // 8 + 16 * (vertices // VERTICES + 1) + 4096
