"""Hybrid BFS, Merrill et al. 2012, in one launch; see `kernels/bfs/hybrid.cu`."""

from __future__ import annotations

from typing import Any

from gravel.kernels.bfs.cuda.cooperative import CooperativeSearch
from gravel.kernels.bfs.cuda.frontier_queues import edge_queues, edge_rooms, prepare_queues
from gravel.kernels.bfs.cuda.labels import NARROW

CROWD = 1.0
"""Arcs per resident thread up to which a level is searched in one step (section 5.4)."""


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
    crowd: float = CROWD,
    block: int = 256,
    blocks_per_processor: int | None = None,
    blocks: int | None = None,
    narrow: int = NARROW,
) -> CooperativeSearch:
    """Make a graph ready; parameters as for `gravel.kernels.bfs.cuda.frontier_queues.prepare_queues`.

    `crowd`: levels of at most this many arcs per resident thread are searched in one step.
    """
    return prepare_queues(
        "hybrid",
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
        queues=edge_queues,
        rooms=edge_rooms,
        crowd=crowd,
    )
