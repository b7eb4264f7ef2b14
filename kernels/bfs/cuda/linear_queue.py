"""BFS with one queue of vertices in one cooperative launch; see `kernels/bfs/linear_queue.cu`."""

from __future__ import annotations

from typing import Any

from gravel.kernels.bfs.cuda.cooperative import CooperativeSearch
from gravel.kernels.bfs.cuda.labels import NARROW
from gravel.kernels.bfs.cuda.sliding_queue import check_block, vertex_queue

SOURCE = "kernels/bfs/linear_queue.cu"


def prepare(
    row_offsets: Any,
    column_indices: Any,
    *,
    output: str,
    symmetric: bool,
    max_depth: int | None = None,
    statistics: bool = False,
    block: int = 256,
    narrow: int = NARROW,
) -> CooperativeSearch:
    """Make a graph ready; parameters as in `gravel.kernels.bfs.prepare`. `symmetric` does not matter.

    `block` is a multiple of 32 up to 1024 threads; `narrow` the number of vertices from which predecessors
    take 64 bits. Raises ValueError for an unfit block.
    """
    check_block(block)
    return CooperativeSearch(
        "linear_queue",
        SOURCE,
        row_offsets,
        column_indices,
        output=output,
        max_depth=max_depth,
        block=block,
        buffers=lambda vertices, arcs, dtype, tree: vertex_queue(vertices, dtype),
        statistics=statistics,
        narrow=narrow,
    )
