"""BFS with one queue of vertices in one cooperative launch; see `linear_queue.cu`."""

from __future__ import annotations

from typing import Any

from gravel.kernels.bfs.cuda.cooperative import CooperativeSearch
from gravel.kernels.bfs.query import Query
from gravel.kernels.papers.baselines.sliding_queue import prepare_sliding


def prepare(row_offsets: Any, column_indices: Any, query: Query, *, block: int = 256) -> CooperativeSearch:
    """Make a graph ready.

    `block` is a multiple of 32 up to 1024 threads. Raises ValueError for an unfit block.
    """
    source = "kernels/papers/baselines/linear_queue.cu"
    return prepare_sliding(source, row_offsets, column_indices, query, block=block)
