"""Community orders on the GPU, the same numbers as on the CPU (`kernels.order.community`)."""

from __future__ import annotations

from typing import Any

from kernels.order.community import COMMUNITY_SIZE
from kernels.order.community_bisection import ROUNDS
from kernels.order.community_bisection_cuda import refine
from kernels.order.community_tree_cuda import aggregate, communities, first_places, number, within


def community(row_offsets: Any, column_indices: Any, *, rounds: int = ROUNDS) -> Any:
    """Order a symmetric graph by its communities; see `kernels.order.community.community`."""
    walk = number(aggregate(row_offsets, column_indices), row_offsets)
    return refine(row_offsets, column_indices, walk, rounds=rounds)


def community_rcm(row_offsets: Any, column_indices: Any, *, size: int = COMMUNITY_SIZE) -> Any:
    """Order by communities, each by reverse Cuthill-McKee; see `kernels.order.community.community_rcm`."""
    import cupy

    from kernels.order import permutation

    tree = aggregate(row_offsets, column_indices)
    cluster = communities(tree, row_offsets, size)
    start = first_places(cluster, number(tree, row_offsets))
    inner = permutation("rcm", *within(row_offsets, column_indices, cluster))
    # Sorted by their numbers within, then by where their communities start, vertices are in order.
    by_inner = cupy.argsort(inner)
    order = cupy.empty_like(inner)
    order[by_inner[cupy.argsort(start[by_inner], kind="stable")]] = cupy.arange(len(inner), dtype=inner.dtype)
    return order
