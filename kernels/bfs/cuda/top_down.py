"""Top-down search of rows in any layout; see `direction_optimizing.cuh`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from gravel.kernels.bfs.cuda.search import RowsSearch, Tuning
from gravel.kernels.bfs.query import Query
from gravel.kernels.layouts import EncodedRows
from gravel.kernels.strategy import load_named, of_papers

DECODERS = of_papers("bfs", "DECODERS")
if TYPE_CHECKING:
    Decoder = str
else:
    Decoder = Literal["warp", *DECODERS]


def prepare(
    rows: EncodedRows,
    query: Query,
    *,
    team_blocks: int = 64,
    team_capacity: int = 4096,
    team_limit: int = 1 << 16,
    shared_kilobytes: int = 160,
    decoder: Decoder = "warp",
    block: int | None = None,
) -> RowsSearch:
    """Make rows ready for searches along their arcs.

    `decoder` says how a warp reads an encoded row: all lanes together, or as papers have it (`DECODERS`), for
    comparison. Other constants are those of `gravel.kernels.bfs.cuda.direction_optimizing.prepare`. No first
    neighbours are kept. Raises ValueError for a decoder that there is not.
    """
    if decoder not in ("warp", *DECODERS):
        raise ValueError(f"decoder is {decoder!r}; it can be {', '.join(('warp', *DECODERS))}")
    reader = load_named(DECODERS[decoder]) if decoder in DECODERS else None
    tuning = Tuning(pull=False, team_blocks=team_blocks, team_capacity=team_capacity, team_limit=team_limit)
    return RowsSearch(rows, query, tuning, reader=reader, shared_kilobytes=shared_kilobytes, block=block)
