"""Adaptive BFS of Moschou in one cooperative launch; see `kernels/papers/moschou/adaptive.cu`."""

from __future__ import annotations

from typing import Any

from gravel.kernels.bfs.cuda.cooperative import CooperativeSearch
from gravel.kernels.bfs.query import Query
from gravel.kernels.papers.baselines.sliding_queue import prepare_sliding


def prepare(
    row_offsets: Any, column_indices: Any, query: Query, *, threshold: int = 32, block: int = 256
) -> CooperativeSearch:
    """Make a graph ready.

    Parameters
    ----------
    threshold : arcs from which a warp reads a row together. The report states none; 32 fills a warp.
    block : threads of a block, a multiple of 32 up to 1024.

    Raises ValueError for a threshold below 1 or an unfit block.

    """
    if threshold < 1:
        raise ValueError(f"threshold is {threshold}; it must be 1 or more")
    source = "kernels/papers/moschou/adaptive.cu"
    return prepare_sliding(source, row_offsets, column_indices, query, block=block, numbers=(threshold,))
