"""BFS with one queue of vertices in one cooperative launch; see `kernels/bfs/linear_queue.cu`."""

from __future__ import annotations

from typing import Any

from gravel.kernels.bfs.cuda.cooperative import CooperativeSearch
from gravel.kernels.bfs.cuda.sliding_queue import prepare_sliding
from gravel.kernels.bfs.query import Query


def prepare(row_offsets: Any, column_indices: Any, query: Query, *, block: int = 256) -> CooperativeSearch:
    """Make a graph ready.

    `block` is a multiple of 32 up to 1024 threads. Raises ValueError for an unfit block.
    """
    return prepare_sliding("linear_queue", row_offsets, column_indices, query, block=block)
