"""What the searches of Merrill et al. 2012 share on CUDA; see `kernels/bfs/frontier_queues.cuh`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gravel.kernels.bfs.cuda.cooperative import CooperativeSearch
from gravel.kernels.bfs.cuda.labels import NARROW
from gravel.kernels.bfs.cuda.parts import (
    HISTORY,
    WARP,
    culling_bytes,
    gather_bytes,
    gather_number,
    look_up_parts,
)

TILES = ("even", "stealing", "runs")
MOST_THREADS = 512  # of a block, as in frontier_queues.cuh
CONTROL_WORDS = 176  # as in frontier_queues.cuh


def prepare_queues(
    name: str,
    row_offsets: Any,
    column_indices: Any,
    *,
    output: str,
    max_depth: int | None,
    statistics: bool,
    gather: str,
    claim: str,
    warp_culling: bool | None,
    history_culling: bool | None,
    tiles: str,
    least: int | None,
    block: int,
    blocks_per_processor: int | None,
    blocks: int | None = None,
    narrow: int = NARROW,
    queues: Callable[[int, int, Any, int], Sequence[Any]],
    rooms: Callable[[int, int], Sequence[Any]],
    crowd: float | None = None,
    stage: int = 0,
) -> CooperativeSearch:
    """Make a graph ready for the strategy `name`; the keywords are those that its `prepare` describes.

    `queues` makes its queues from vertices, arcs, dtype of columns and TREE, `rooms` their capacities from
    vertices and arcs; `crowd` comes behind `least` if it is given, `stage` is the number of vertices that a
    warp keeps in shared memory. Raises ValueError for an argument that cannot be.
    """
    import cupy
    import numpy

    if block not in range(32, MOST_THREADS + 1, 32):
        raise ValueError(f"block is {block}; it can be a multiple of 32 up to {MOST_THREADS}")
    if tiles not in TILES:
        raise ValueError(f"tiles is {tiles!r}; it can be {', '.join(TILES)}")
    for limit, most in (("blocks_per_processor", blocks_per_processor), ("blocks", blocks)):
        if most is not None and most < 1:
            raise ValueError(f"{limit} is {most}; it must be 1 or more")
    if least is None:
        least = block if claim == "racing" else 1
    if least < 1:
        raise ValueError(f"least is {least}; a tile has at least 1 item")
    parts = look_up_parts(claim, warp_culling=warp_culling, history_culling=history_culling)
    numbers = (gather_number(gather), parts, int(tiles == "stealing"), least)

    def buffers(vertices: int, arcs: int, dtype: Any, tree: int) -> tuple[Any, ...]:
        return (
            *queues(vertices, arcs, dtype, tree),
            cupy.zeros(vertices // 32 + 1, cupy.uint32),
            cupy.zeros(CONTROL_WORDS, cupy.uint64),
            *(numpy.uint64(number) for number in (*rooms(vertices, arcs), *numbers)),
            *(() if crowd is None else (numpy.float64(crowd),)),
        )

    wide = column_indices.dtype.itemsize
    shared = (
        culling_bytes(block)
        + gather_bytes(block, wide, owners=output != "distance")
        + block // 32 * stage * wide
    )
    processors = cupy.cuda.Device().attributes["MultiProcessorCount"]
    limits = [each for each in (blocks_per_processor and blocks_per_processor * processors, blocks) if each]
    search = CooperativeSearch(
        name,
        f"kernels/bfs/{name}.cu",
        row_offsets,
        column_indices,
        output=output,
        max_depth=max_depth,
        block=block,
        blocks=min(limits, default=None),
        shared=shared,
        macros={"RUNS": int(tiles == "runs")},
        buffers=buffers,
        statistics=statistics,
        narrow=narrow,
    )
    search.decided = {
        "warp_culling": bool(parts & WARP),
        "history_culling": bool(parts & HISTORY),
        "least": least,
        "blocks": search.blocks,
    }
    return search


def edge_queues(vertices: int, arcs: int, dtype: Any, tree: int) -> tuple[Any, ...]:
    """Queues of vertices, of arcs' ends, and (if TREE) of the vertices that these were found from."""
    import cupy

    return (
        cupy.empty(max(1, vertices), dtype),
        cupy.empty(max(1, arcs), dtype),
        cupy.empty(max(1, arcs) if tree else 1, dtype),
    )
