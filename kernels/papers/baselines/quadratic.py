"""Quadratic BFS in one cooperative launch; see `kernels/papers/baselines/quadratic.cu`."""

from __future__ import annotations

from typing import Any

from gravel.kernels.bfs.buffers import Size
from gravel.kernels.bfs.cuda.cooperative import CooperativeSearch
from gravel.kernels.bfs.cuda.kernel_rows import Columns
from gravel.kernels.bfs.query import Query
from gravel.kernels.buffers import make
from gravel.kernels.cuda import refuse_block
from gravel.kernels.papers.buffers import rounds

MAPPINGS = ("thread", "warp")


def prepare(
    row_offsets: Any, column_indices: Any, query: Query, *, mapping: str = "thread", block: int = 256
) -> CooperativeSearch:
    """Make a graph ready.

    Parameters
    ----------
    mapping : "thread" for a thread per vertex, "warp" for a warp (Hong et al., PPoPP 2011).
    block : threads of a block, a multiple of 32 up to 1024.

    Raises ValueError for an unknown mapping or an unfit block.

    """
    refuse_block(block)
    if mapping not in MAPPINGS:
        raise ValueError(f"mapping is {mapping!r}; it can be {' or '.join(map(repr, MAPPINGS))}")

    def buffers(size: Size) -> tuple[Any, ...]:
        import cupy
        import numpy

        return *make(rounds(size), cupy).values(), numpy.uint64(mapping == "warp")

    return CooperativeSearch(
        "kernels/papers/baselines/quadratic.cu",
        Columns(row_offsets, column_indices),
        query,
        block=block,
        buffers=buffers,
    )
