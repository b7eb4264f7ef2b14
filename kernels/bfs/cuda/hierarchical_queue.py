"""BFS with a hierarchy of queues in one cooperative launch; see `kernels/bfs/hierarchical_queue.cu`."""

from __future__ import annotations

from typing import Any

from gravel.kernels.bfs.cuda.cooperative import CooperativeSearch
from gravel.kernels.bfs.cuda.labels import NARROW
from gravel.kernels.bfs.cuda.sliding_queue import check_block, vertex_queue

SOURCE = "kernels/bfs/hierarchical_queue.cu"
PROGRESS_WORDS = 3


def prepare(
    row_offsets: Any,
    column_indices: Any,
    *,
    output: str,
    symmetric: bool,
    max_depth: int | None = None,
    statistics: bool = False,
    one_block: int | None = None,
    block: int = 512,
    narrow: int = NARROW,
) -> CooperativeSearch:
    """Make a graph ready; parameters as in `gravel.kernels.bfs.prepare`, and these. `symmetric` does not
    matter.

    Parameters
    ----------
    one_block : vertices of the largest frontier that one block expands alone; by default a block's threads,
        as in the paper.
    block : threads of a block, a multiple of 32 up to 1024; 512 in the paper, the most of its time.
    narrow : vertices from which predecessors take 64 bits.

    Raises ValueError for a negative `one_block` or an unfit block.

    """
    check_block(block)
    if one_block is not None and one_block < 0:
        raise ValueError(f"one_block is {one_block}; it must be 0 or more")

    def buffers(vertices: int, arcs: int, dtype: Any, tree: int) -> tuple[Any, ...]:
        import cupy
        import numpy

        progress = cupy.zeros(PROGRESS_WORDS, cupy.uint64)
        return (
            *vertex_queue(vertices, dtype),
            progress,
            numpy.uint64(block if one_block is None else one_block),
        )

    return CooperativeSearch(
        "hierarchical_queue",
        SOURCE,
        row_offsets,
        column_indices,
        output=output,
        max_depth=max_depth,
        block=block,
        buffers=buffers,
        statistics=statistics,
        narrow=narrow,
    )
