"""Quadratic BFS in one cooperative launch; see `kernels/bfs/quadratic.cu`."""

from __future__ import annotations

from typing import Any

from gravel.kernels.bfs.cuda.cooperative import CooperativeSearch
from gravel.kernels.bfs.cuda.labels import NARROW
from gravel.kernels.bfs.cuda.sliding_queue import ROUNDS, check_block

SOURCE = "kernels/bfs/quadratic.cu"
MAPPINGS = ("thread", "warp")


def prepare(
    row_offsets: Any,
    column_indices: Any,
    *,
    output: str,
    symmetric: bool,
    max_depth: int | None = None,
    statistics: bool = False,
    mapping: str = "thread",
    block: int = 256,
    narrow: int = NARROW,
) -> CooperativeSearch:
    """Make a graph ready; parameters as in `gravel.kernels.bfs.prepare`, and these. `symmetric` does not
    matter.

    Parameters
    ----------
    mapping : "thread" for a thread per vertex, "warp" for a warp (Hong et al., PPoPP 2011).
    block : threads of a block, a multiple of 32 up to 1024.
    narrow : vertices from which predecessors take 64 bits.

    Raises ValueError for an unknown mapping or an unfit block.

    """
    check_block(block)
    if mapping not in MAPPINGS:
        raise ValueError(f"mapping is {mapping!r}; it can be {' or '.join(map(repr, MAPPINGS))}")

    def buffers(vertices: int, arcs: int, dtype: Any, tree: int) -> tuple[Any, ...]:
        import cupy
        import numpy

        return cupy.zeros(ROUNDS, cupy.uint64), numpy.uint64(mapping == "warp")

    return CooperativeSearch(
        "quadratic",
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
