"""The searches of Merrill et al. 2012 on CUDA, in one launch each; see `frontier_queues.cuh`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from gravel.kernels.bfs.buffers import Size
from gravel.kernels.bfs.buffers import frontier_queues as queues
from gravel.kernels.bfs.cuda.cooperative import CooperativeSearch
from gravel.kernels.bfs.cuda.kernel_rows import Columns
from gravel.kernels.bfs.cuda.parts import (
    HISTORY,
    WARP,
    culling_bytes,
    gather_bytes,
    gather_number,
    look_up_parts,
)
from gravel.kernels.bfs.query import Query
from gravel.kernels.buffers import make
from gravel.kernels.cuda import multiprocessors, refuse_block

TILES = ("even", "stealing", "runs")
MAX_THREADS = 512  # of a block, as in frontier_queues.cuh

STAGE = 128
"""Vertices that a warp of expand-contract keeps before it reserves room for them, as in its `.cu` file."""

EXPAND_CONTRACT_BLOCK = 512
"""Threads of a block; docs/tuning.md has what supports it."""

CROWD = 1.0
"""Arcs per resident thread up to which the hybrid searches a level in one step (section 5.4)."""


def rooms_of(vertices: int, arcs: int) -> tuple[int, int]:
    """Entries that the queues of vertices and of arcs hold, which suffice unless claims race."""
    return max(1, vertices), max(1, arcs)


def strategy_of_queues(
    source: str,
    *,
    edges: bool = True,
    rooms: Callable[[int, int], tuple[int, int]] = rooms_of,
    stage: int = 0,
    block: int = 256,
    crowd: float | None = None,
) -> Callable[..., CooperativeSearch]:
    """Give the `prepare` of a strategy.

    Parameters
    ----------
    source : its `.cu` file.
    edges : whether it has queues of arcs' ends and (with predecessors) of the vertices that these were found
        from, beside one of vertices. They take as many bytes as the columns, or twice that.
    rooms : entries of its queues, from vertices and arcs.
    stage : vertices that a warp keeps in shared memory.
    block, crowd : the defaults of these constants; a strategy for which `crowd` is None does not have it.

    """

    def prepare(
        row_offsets: Any,
        column_indices: Any,
        query: Query,
        *,
        gather: str = "scan_warp_cta",
        claim: str = "atomic",
        warp_culling: bool | None = None,
        history_culling: bool | None = None,
        tiles: str = "even",
        least: int | None = None,
        crowd: float = crowd or 0.0,
        block: int = block,
        blocks_per_processor: int | None = None,
        blocks: int | None = None,
    ) -> CooperativeSearch:
        """Make a graph ready.

        Parameters
        ----------
        gather : "scan_warp_cta", "scan", "warp" or "serial" (section 4.1).
        claim : "atomic", by which every vertex is found once, or "racing", the paper's read of a label and
            plain write, by which a vertex may be found, and its arcs gathered, several times (section 4.2).
        warp_culling, history_culling : whether duplicates among the arcs of a warp, and among the last that a
            block looked up, are dropped before the claim (section 4.2); None if claims race, since an atomic
            that fails costs less than they do.
        tiles : "even" shares of a level for all blocks; "stealing", by which blocks take tiles from a
            counter; or "runs" of tiles that follow one another, by which most duplicates come to the block
            that culls them.
        least : items of a tile, at least: fewer let a block read fewer of a small level's rows, more let it
            cull more duplicates. None: 1, or `block` if claims race.
        crowd : arcs per resident thread up to which a level is searched in one step (section 5.4).
        block : threads of a block, a multiple of 32 up to 512.
        blocks_per_processor : how many run on one multiprocessor, at most; None for as many as fit.
        blocks : how many run in all, at most; None for as many as `blocks_per_processor` says.

        Raises ValueError for a value that a parameter cannot have.

        """
        import cupy
        import numpy

        refuse_block(block, most=MAX_THREADS)
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
        of_processors = blocks_per_processor and blocks_per_processor * multiprocessors()
        limits = [each for each in (of_processors, blocks) if each]
        wide = column_indices.dtype.itemsize
        shared = (
            culling_bytes(block) + gather_bytes(block, wide, owners=query.tree) + block // 32 * stage * wide
        )

        def buffers(size: Size) -> tuple[Any, ...]:
            return (
                *make(queues(size, edges=edges), cupy).values(),
                *map(numpy.uint64, (*rooms(size.vertices, size.arcs)[: 1 + edges], *numbers)),
                *((numpy.float64(crowd),) if edges else ()),
            )

        search = CooperativeSearch(
            source,
            Columns(row_offsets, column_indices),
            query,
            block=block,
            blocks=min(limits, default=None),
            shared=shared,
            macros={"RUNS": int(tiles == "runs")},
            buffers=buffers,
        )
        search.decided = {
            "warp_culling": bool(parts & WARP),
            "history_culling": bool(parts & HISTORY),
            "least": least,
            "blocks": search.blocks,
        }
        return search

    if crowd is None:
        signature = inspect.signature(prepare)
        own = [each for each in signature.parameters.values() if each.name != "crowd"]
        prepare.__signature__ = signature.replace(parameters=own)  # type: ignore[attr-defined]
    return prepare


expand_contract = strategy_of_queues(
    "kernels/bfs/cuda/expand_contract.cu", edges=False, stage=STAGE, block=EXPAND_CONTRACT_BLOCK
)
hybrid = strategy_of_queues("kernels/bfs/cuda/hybrid.cu", crowd=CROWD)
