"""Hubs first: vertices above the mean degree share cache lines, and nothing else moves apart.

Balaji, Lucia (When is Graph Reordering an Optimization?, IISWC 2018).
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.order.groups import above_mean, by_group


def hub_cluster(row_offsets: NDArray[numpy.int64]) -> NDArray[Any]:
    """Number hubs, then the others, each as they were among themselves; returns (vertices,)."""
    return by_group(row_offsets, [above_mean(len(row_offsets) - 1, int(row_offsets[-1]))])
