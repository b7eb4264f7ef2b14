"""How many vertices each level of a search has, wherever its distances lie."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.arrays import backend_of


def level_sizes(distance: Any) -> list[int]:
    """Count the vertices at distance 0, 1, 2, ... where `distance` lies, int32 (vertices,), NumPy or CuPy."""
    if backend_of(distance) == "cuda":
        from gravel.kernels.level_statistics_cuda import level_sums as sums_on_device

        sizes: list[int] = sums_on_device(distance, None)[0].tolist()
    else:
        sizes = numpy.bincount(distance[distance >= 0]).tolist()
    return sizes
