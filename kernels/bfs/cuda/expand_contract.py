"""Expand-contract BFS, Merrill et al. 2012, in one launch; see `kernels/bfs/expand_contract.cu`."""

from __future__ import annotations

from typing import Any

from gravel.kernels.bfs.cuda.cooperative import CooperativeSearch
from gravel.kernels.bfs.cuda.frontier_queues import prepare_queues
from gravel.kernels.bfs.cuda.labels import NARROW

STAGE = 128
"""Vertices that a warp keeps before it reserves room for them, as in the `.cu` file."""


def prepare(
    row_offsets: Any,
    column_indices: Any,
    *,
    output: str,
    symmetric: bool,
    max_depth: int | None = None,
    statistics: bool = False,
    gather: str = "scan_warp_cta",
    claim: str = "atomic",
    warp_culling: bool | None = None,
    history_culling: bool | None = None,
    tiles: str = "even",
    least: int | None = None,
    block: int = 512,
    blocks_per_processor: int | None = None,
    blocks: int | None = None,
    narrow: int = NARROW,
) -> CooperativeSearch:
    """Make a graph ready; parameters as in `gravel.kernels.bfs.prepare`, and these. `symmetric` does not
    matter.



    Parameters
    ----------
    gather : "scan_warp_cta", "scan", "warp" or "serial" (section 4.1).
    claim : "atomic", by which every vertex is found once, or "racing", the paper's read of a label and plain
        write, by which a vertex may be found, and its arcs gathered, several times (section 4.2).
    warp_culling, history_culling : whether duplicates among the arcs of a warp, and among the last that a
        block looked up, are dropped before the claim (section 4.2); None if claims race, since an atomic that
        fails costs less than they do (Kronecker 22 on an H200: 1.40 ms without them, 1.58 with both).
    tiles : "even" shares of a level for all blocks; "stealing", by which blocks take tiles from a counter; or
        "runs" of tiles that follow one another, by which most duplicates come to the block that culls them.
    least : items of a tile, at least: fewer let a block read fewer of a small level's rows, more let it cull
        more duplicates. None: 1, or `block` if claims race.
    block : threads of a block, a multiple of 32 up to 512 (Kronecker 22 on an H200: 1.15 ms; with 256, 1.24).
    blocks_per_processor : how many run on one multiprocessor, at most; None for as many as fit.
    blocks : how many run in all, at most; None for as many as `blocks_per_processor` says.
    narrow : vertices from which predecessors take 64 bits.

    Raises ValueError for a value that a parameter cannot have.

    """
    return prepare_queues(
        "expand_contract",
        row_offsets,
        column_indices,
        output=output,
        max_depth=max_depth,
        statistics=statistics,
        gather=gather,
        claim=claim,
        warp_culling=warp_culling,
        history_culling=history_culling,
        tiles=tiles,
        least=least,
        block=block,
        blocks_per_processor=blocks_per_processor,
        blocks=blocks,
        narrow=narrow,
        queues=_vertex_queue,
        rooms=lambda vertices, _: (max(1, vertices),),
        stage=STAGE,
    )


def _vertex_queue(vertices: int, arcs: int, dtype: Any, tree: int) -> tuple[Any, ...]:
    import cupy

    return (cupy.empty(max(1, vertices), dtype),)
