"""Community orders on the GPU, the same numbers as on the CPU (`gravel.kernels.order.community`).

With `room`, the columns may be a view of pinned host memory: of what grows with the arcs no more than so many
bytes are then on the device at a time, and the rest is in pinned memory as well.
"""

from __future__ import annotations

from typing import Any

from gravel.kernels.cuda.room import give_free_blocks_back
from gravel.kernels.order.community import COMMUNITY_SIZE
from gravel.kernels.order.community_bisection import ROUNDS
from gravel.kernels.order.community_bisection_cuda import refine
from gravel.kernels.order.community_tree_cuda import aggregate, communities, first_places, number, within


def community(row_offsets: Any, column_indices: Any, *, rounds: int = ROUNDS, room: int | None = None) -> Any:
    """Order a symmetric graph by its communities; see `gravel.kernels.order.community.community`.

    Raises `gravel.kernels.placement.pinned.PinnedRefused` where `room` is given and the system pins no
    memory.
    """
    walk = number(aggregate(row_offsets, column_indices, room=room), row_offsets)
    # No graph of clusters is as large as the copy that is made now.
    give_free_blocks_back()
    return refine(row_offsets, column_indices, walk, rounds=rounds, room=room)


def community_rcm(
    row_offsets: Any, column_indices: Any, *, size: int = COMMUNITY_SIZE, room: int | None = None
) -> Any:
    """Order by communities, each by reverse Cuthill-McKee; see
    `gravel.kernels.order.community.community_rcm`.

    Raises as `community` does.
    """
    import cupy

    from gravel.kernels.order import permutation

    tree = aggregate(row_offsets, column_indices, room=room)
    cluster = communities(tree, row_offsets, size)
    start = first_places(cluster, number(tree, row_offsets))
    del tree
    arcs = within(row_offsets, column_indices, cluster, room=room)
    inner = permutation("rcm", *arcs)
    if room is not None:
        # They may be in pinned memory, which must not go while a kernel reads it.
        cupy.cuda.get_current_stream().synchronize()
    del arcs
    # Sorted by their numbers within, then by where their communities start, vertices are in order.
    by_inner = cupy.argsort(inner)
    order = cupy.empty_like(inner)
    order[by_inner[cupy.argsort(start[by_inner], kind="stable")]] = cupy.arange(len(inner), dtype=inner.dtype)
    return order
