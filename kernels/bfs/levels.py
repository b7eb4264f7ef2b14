"""How many vertices a search found at each distance."""

from __future__ import annotations

from typing import Any

from gravel.kernels.strategy import backend_of


def level_sizes(distance: Any) -> list[int]:
    """Count the vertices at distance 0, 1, 2, ... where `distance` lies, int32 (vertices,), NumPy or CuPy."""
    if backend_of(distance) == "cuda":
        from gravel.kernels.bfs.cuda.levels import level_sizes as on_device

        return on_device(distance)
    import numpy

    found: list[int] = numpy.bincount(distance[distance >= 0]).tolist()
    return found
