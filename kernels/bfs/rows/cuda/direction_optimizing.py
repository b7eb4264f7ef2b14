"""Direction-optimizing search of encoded rows on the GPU."""

from __future__ import annotations

from gravel.kernels.bfs.cuda.labels import NARROW
from gravel.kernels.bfs.cuda.level_loop import ALPHA, ENCODED_ANY_ORDER
from gravel.kernels.bfs.rows.cuda.search import RowsSearch, Tuning
from gravel.kernels.layouts import EncodedRows


def prepare(
    rows: EncodedRows,
    *,
    output: str,
    symmetric: bool,
    max_depth: int | None = None,
    alpha: float | None = None,
    beta: float = 24.0,
    floor: float = 1.0,
    flood: float = 1.0,
    patience: int = 3,
    team_blocks: int = 64,
    team_capacity: int = 4096,
    team_limit: int = 1 << 16,
    shared_kilobytes: int = 160,
    words_per_open: float = 0.0625,
    planes: int | None = None,
    block: int | None = None,
    narrow: int = NARROW,
) -> RowsSearch:
    """Make rows ready; constants as for `gravel.kernels.bfs.cuda.direction_optimizing.prepare`.

    Those that count arcs hold for rows of any layout, whose weights are brought to that scale.
    """
    if not symmetric:
        raise ValueError("strategy 'direction_optimizing' needs a symmetric graph")
    return RowsSearch(
        rows,
        output=output,
        symmetric=True,
        max_depth=max_depth,
        tuning=Tuning(
            pull=True,
            alpha=alpha,
            alphas=(ALPHA, ENCODED_ANY_ORDER),
            beta=beta,
            floor=floor,
            flood=flood,
            patience=patience,
            team_blocks=team_blocks,
            team_capacity=team_capacity,
            team_limit=team_limit,
            words_per_open=words_per_open,
            planes=planes,
        ),
        shared_kilobytes=shared_kilobytes,
        block=block,
        narrow=narrow,
    )
