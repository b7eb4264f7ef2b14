"""Memory that searches from many sources take on the host, which plan and run must reckon alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gravel.stages.traversal.parameters import RandomSources

if TYPE_CHECKING:
    from gravel.stages.measuring.parameters import CentralityParameters

COMPILED = 126 << 20
"""Measured (tests/drills/stopped.py, scale 14): what Numba takes to compile the searches, and what importing
it does."""


def host_bytes(vertices: int, sources: int) -> int:
    """State what searches from so many sources take on the host beside rows that are pinned or made there."""
    # A checkpoint copies the sums of the sources twice.
    return COMPILED + 8 * vertices + (64 + 2 * 32) * sources


def sources_asked(parameters: CentralityParameters, vertices: int) -> int:
    """Count the sources of a graph with so many vertices."""
    asked = parameters.sources if parameters.of_paths else parameters.vertices
    if asked == "all":
        return vertices
    return asked.random if isinstance(asked, RandomSources) else len(getattr(asked, "vertices", ()))
