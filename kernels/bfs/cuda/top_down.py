"""Top-down search of rows in any layout; see `kernels/bfs/level_loop.cuh`."""

from __future__ import annotations

from typing import Literal

from gravel.kernels.bfs.cuda.search import RowsSearch, Tuning
from gravel.kernels.bfs.query import Query
from gravel.kernels.layouts import EncodedRows


def prepare(
    rows: EncodedRows,
    query: Query,
    *,
    team_blocks: int = 64,
    team_capacity: int = 4096,
    team_limit: int = 1 << 16,
    shared_kilobytes: int = 160,
    decoder: Literal["warp", "one_lane"] = "warp",
    block: int | None = None,
) -> RowsSearch:
    """Make rows ready for searches along their arcs.

    `decoder` says how a warp reads an encoded row: all lanes together, or `one_lane` for all, as in Moschou's
    report (section 2.3), for comparison; that one reads varint rows alone. `team_blocks`, `team_capacity`,
    `team_limit`, `shared_kilobytes` and `block` are those of
    `gravel.kernels.bfs.cuda.direction_optimizing.prepare`. No first neighbours are kept.
    """
    tuning = Tuning(
        pull=False,
        team_blocks=team_blocks,
        team_capacity=team_capacity,
        team_limit=team_limit,
        one_lane=decoder == "one_lane",
    )
    return RowsSearch(rows, query, tuning, shared_kilobytes=shared_kilobytes, block=block)
