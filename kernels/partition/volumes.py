"""Bytes that searches send by the formulas of Pan, Pearce, Owens 2018 (sections II-B and V).

The text that we have of the paper lacks the formulas themselves; these follow from its sentences:

masks (V-A)
    Masks of d / 8 bytes are reduced "in a tree-like manner" among the first ranks of g groups, in each of the
    S' levels that find delegates: g - 1 masks go up and g - 1 down, 2 (g - 1) d / 8 S' bytes. Within a group
    of k ranks k - 1 masks go to its first rank and k - 1 back, which the paper leaves to a rank's GPUs.
vertices (V-B)
    4 bytes for each of the nn arcs, "assuming each nn edge is a cutting edge": 4 |nn|.
1-D (II-B)
    Newly visited vertices are broadcast "to every peer": each of the n' vertices that a search visits goes to
    p - 1 ranks. An id takes 4 bytes here, as the paper takes them in its 2-D partition.
2-D (II-B)
    On a grid of r x c ranks the status of a vertex takes "one reduction across the row direction, and one
    broadcast across the column direction", tree-like, and is visited in one level. A vertex visited forward
    goes up a row's tree, c - 1 ids at most, and down a column's, r - 1: 4 (r + c - 2) bytes for each of n_f.
    A backward level sends bit masks: each of r rows reduces n / r bits among c ranks, and each of c columns
    broadcasts n / c bits to r: (r + c - 2) n / 8 bytes for each of S_b levels. The paper's grid is square;
    here it is the squarest that p allows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

ID_BYTES = 4


@dataclass(frozen=True)
class Volume:
    """Bytes that all ranks together send in one search."""

    masks: float
    vertices: float

    @property
    def total(self) -> float:
        """All of them."""
        return self.masks + self.vertices


def delegate_volume(
    *, delegates: int, nn_arcs: int, ranks: int, mask_levels: float, groups: int = 0
) -> Volume:
    """Count what a search over a partition by degree separation sends, at most.

    Parameters
    ----------
    mask_levels : levels that find delegates, S'.
    groups : that the ranks are in; 0 for none, when every rank is a group of its own.

    """
    count = groups or ranks
    within = ranks - count
    mask = delegates / 8
    cut = nn_arcs if ranks > 1 else 0
    return Volume(2 * (count - 1 + within) * mask * mask_levels, ID_BYTES * cut)


def volume_1d(*, visited: float, ranks: int) -> float:
    """Count what a search over a 1-D partition broadcasts."""
    return ID_BYTES * visited * (ranks - 1)


def volume_2d(*, vertices: int, forward: float, backward_levels: float, ranks: int) -> float:
    """Count what a search over a 2-D partition sends.

    Parameters
    ----------
    vertices : of the graph, n.
    forward : vertices that are visited in forward levels, n_f.
    backward_levels : S_b.

    """
    rows, columns = grid_of(ranks)
    hops = rows + columns - 2
    return hops * (ID_BYTES * forward + backward_levels * vertices / 8)


def grid_of(ranks: int) -> tuple[int, int]:
    """Give the squarest grid of so many ranks: rows, and as many columns or more."""
    rows = next(rows for rows in range(math.isqrt(ranks), 0, -1) if not ranks % rows)
    return rows, ranks // rows
