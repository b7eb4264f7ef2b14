"""BFS with a hierarchy of queues in one cooperative launch; see `hierarchical_queue.cu`."""

from __future__ import annotations

from typing import Any

from gravel.kernels.bfs.cuda.cooperative import CooperativeSearch
from gravel.kernels.bfs.query import Query
from gravel.kernels.papers.baselines.sliding_queue import prepare_sliding

PROGRESS_WORDS = 3


def prepare(
    row_offsets: Any, column_indices: Any, query: Query, *, one_block: int | None = None, block: int = 512
) -> CooperativeSearch:
    """Make a graph ready.

    Parameters
    ----------
    one_block : vertices of the largest frontier that one block expands alone; by default a block's threads,
        as in the paper.
    block : threads of a block, a multiple of 32 up to 1024; 512 in the paper, the most of its time.

    Raises ValueError for a negative `one_block` or an unfit block.

    """
    if one_block is None:
        one_block = block
    if one_block < 0:
        raise ValueError(f"one_block is {one_block}; it must be 0 or more")
    return prepare_sliding(
        "kernels/papers/baselines/hierarchical_queue.cu",
        row_offsets,
        column_indices,
        query,
        block=block,
        words=PROGRESS_WORDS,
        numbers=(one_block,),
    )
