"""A generator's edges divided among ranks: each makes its own, part by part, and none makes all."""

from __future__ import annotations

from itertools import pairwise


def slice_of(edges: int, ranks: int, rank: int) -> tuple[int, int]:
    """Give the first edge of a rank's share and the one after its last; shares differ by one at most."""
    return edges * rank // ranks, edges * (rank + 1) // ranks


def parts_of(edges: int, ranks: int, rank: int, part: int) -> list[tuple[int, int]]:
    """Cut a rank's share into parts of at most `part` edges: the first edge and the count of each.

    There are as many on every rank, so that all of them meet as often; the last may be empty. Raises
    ValueError for a part that holds no edge.
    """
    if part < 1:
        raise ValueError(f"a part of {part} edges holds none; give at least 1")
    longest = -(-edges // ranks)
    first, last = slice_of(edges, ranks, rank)
    cuts = [min(last, first + part * place) for place in range(-(-longest // part) + 1)]
    return [(low, high - low) for low, high in pairwise(cuts)]
