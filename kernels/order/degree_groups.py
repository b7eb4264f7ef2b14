"""Degree-based grouping: eight groups of falling degree, each in the order that it had.

Faldu, Diamond, Grot (A Closer Look at Lightweight Graph Reordering, IISWC 2019): hot vertices
come together, and what the numbering knew of the graph's structure survives within a group.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.order.groups import by_group, groups_of_mean

HIGHEST = 32
"""The first group has at least so many times the mean degree, as evaluated there."""

GROUPS = 7
"""Groups with a least degree, down to half of the mean; the eighth has the rest."""


def degree_groups(row_offsets: NDArray[numpy.int64]) -> NDArray[Any]:
    """Number the vertices group by group; returns (vertices,)."""
    return by_group(row_offsets, groups_of_mean(len(row_offsets) - 1, int(row_offsets[-1]), HIGHEST, GROUPS))
