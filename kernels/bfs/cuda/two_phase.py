"""Two-phase BFS of Merrill et al. 2012 in one cooperative launch; see `kernels/bfs/two_phase.cu`."""

from __future__ import annotations

from typing import Any

from kernels.bfs.cuda.cooperative import CooperativeSearch
from kernels.bfs.cuda.labels import NARROW

SOURCE = "kernels/bfs/two_phase.cu"
BLOCKS = (128, 256)
CONTROL_WORDS = 32


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
    """Make a graph ready; parameters as in `kernels.bfs.prepare`.

    `block` is 128 or 256 threads; `narrow` the number of vertices from which predecessors take 64 bits.
    `symmetric` does not matter here. The edge queue takes as many bytes as the columns, twice that with
    predecessors.
    """
    if block not in BLOCKS:
        raise ValueError(f"block is {block}; it can be {' or '.join(map(str, BLOCKS))}")
    return CooperativeSearch(
        "two_phase",
        SOURCE,
        row_offsets,
        column_indices,
        output=output,
        max_depth=max_depth,
        block=block,
        buffers=_buffers,
        macros={"BLOCK": block},
        statistics=statistics,
        narrow=narrow,
    )


def _buffers(vertices: int, arcs: int, dtype: Any, tree: int) -> tuple[Any, ...]:
    import cupy

    return (
        cupy.empty(max(1, vertices), dtype),
        cupy.empty(max(1, arcs), dtype),
        cupy.empty(max(1, arcs) if tree else 1, dtype),
        cupy.zeros(vertices // 32 + 1, cupy.uint32),
        cupy.zeros(CONTROL_WORDS, cupy.uint64),
    )
