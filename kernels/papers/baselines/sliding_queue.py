"""What the searches with one queue of vertices share; see `kernels/papers/baselines/sliding_queue.cuh`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gravel.kernels.bfs.buffers import Size
from gravel.kernels.bfs.cuda.cooperative import CooperativeSearch
from gravel.kernels.bfs.cuda.kernel_rows import Columns
from gravel.kernels.bfs.query import Query
from gravel.kernels.buffers import make
from gravel.kernels.cuda import refuse_block
from gravel.kernels.papers.buffers import vertex_queue


def prepare_sliding(
    source: str,
    row_offsets: Any,
    column_indices: Any,
    query: Query,
    *,
    block: int,
    words: int = 0,
    numbers: Sequence[int] = (),
) -> CooperativeSearch:
    """Make a graph ready for the strategy of a `.cu` file, whose kernel takes the queue and its counters.

    `words` are those of an array that comes behind them, if it is not 0, and `numbers` come behind that.
    Raises ValueError for an unfit block.
    """
    refuse_block(block)

    def buffers(size: Size) -> tuple[Any, ...]:
        import cupy
        import numpy

        return *make(vertex_queue(size, words=words), cupy).values(), *map(numpy.uint64, numbers)

    return CooperativeSearch(
        source,
        Columns(row_offsets, column_indices),
        query,
        block=block,
        buffers=buffers,
    )
