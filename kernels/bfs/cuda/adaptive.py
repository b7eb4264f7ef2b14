"""Adaptive BFS of Moschou in one cooperative launch; see `kernels/bfs/adaptive.cu`."""

from __future__ import annotations

from typing import Any

from gravel.kernels.bfs.cuda.cooperative import CooperativeSearch
from gravel.kernels.bfs.cuda.labels import NARROW
from gravel.kernels.bfs.cuda.sliding_queue import check_block, vertex_queue

SOURCE = "kernels/bfs/adaptive.cu"


def prepare(
    row_offsets: Any,
    column_indices: Any,
    *,
    output: str,
    symmetric: bool,
    max_depth: int | None = None,
    statistics: bool = False,
    threshold: int = 32,
    block: int = 256,
    narrow: int = NARROW,
) -> CooperativeSearch:
    """Make a graph ready; parameters as in `gravel.kernels.bfs.prepare`, and these. `symmetric` does not
    matter.

    Parameters
    ----------
    threshold : arcs from which a warp reads a row together. The report states none; 32 fills a warp.
    block : threads of a block, a multiple of 32 up to 1024.
    narrow : vertices from which predecessors take 64 bits.

    Raises ValueError for a threshold below 1 or an unfit block.

    """
    check_block(block)
    if threshold < 1:
        raise ValueError(f"threshold is {threshold}; it must be 1 or more")

    def buffers(vertices: int, arcs: int, dtype: Any, tree: int) -> tuple[Any, ...]:
        import numpy

        return *vertex_queue(vertices, dtype), numpy.uint64(threshold)

    return CooperativeSearch(
        "adaptive",
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
