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
    """Make a graph ready for the strategy `name`; parameters as in `gravel.kernels.bfs.prepare`, and these.

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
    block : threads of a block, a multiple of 32 up to 512.
    blocks_per_processor : how many run on one multiprocessor, at most; None for as many as fit.
    blocks : how many run in all, at most; None for as many as `blocks_per_processor` says.
    narrow : vertices from which predecessors take 64 bits.
    queues : makes the strategy's queues from vertices, arcs, dtype of columns and TREE.
    rooms : their capacities from vertices and arcs.
    crowd : comes behind `least` if it is given; see `gravel.kernels.bfs.cuda.hybrid`.
    stage : vertices that a warp keeps in shared memory.

    Raises ValueError for a value that a parameter cannot have.

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


def strategy_of_queues(
    name: str,
    *,
    queues: Callable[[int, int, Any, int], Sequence[Any]],
    rooms: Callable[[int, int], Sequence[Any]],
    stage: int = 0,
    block: int = 256,
) -> Callable[..., CooperativeSearch]:
    """Give the `prepare` of the strategy `name`; parameters as for `prepare_queues`, `block` the default."""

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
        block: int = block,
        blocks_per_processor: int | None = None,
        blocks: int | None = None,
        narrow: int = NARROW,
    ) -> CooperativeSearch:
        """Make a graph ready; parameters as in `gravel.kernels.bfs.prepare` and in `prepare_queues`.

        `symmetric` does not matter.
        """
        return prepare_queues(
            name,
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
            queues=queues,
            rooms=rooms,
            stage=stage,
        )

    return prepare


def edge_queues(vertices: int, arcs: int, dtype: Any, tree: int) -> tuple[Any, ...]:
    """Queues of vertices, of arcs' ends, and (if TREE) of the vertices that these were found from.

    The last two take as many bytes as the columns, twice that with predecessors.
    """
    import cupy

    return (
        cupy.empty(max(1, vertices), dtype),
        cupy.empty(max(1, arcs), dtype),
        cupy.empty(max(1, arcs) if tree else 1, dtype),
    )


def edge_rooms(vertices: int, arcs: int) -> tuple[int, ...]:
    """Entries that `edge_queues` hold."""
    return max(1, vertices), max(1, arcs)
