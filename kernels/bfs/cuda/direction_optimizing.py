"""Direction-optimizing BFS of rows in any layout; see `direction_optimizing.cuh`."""

from __future__ import annotations

from gravel.kernels.bfs.cuda.search import RowsSearch, Tuning
from gravel.kernels.bfs.query import Query
from gravel.kernels.layouts import EncodedRows


def prepare(
    rows: EncodedRows,
    query: Query,
    *,
    alpha: float | None = None,
    beta: float = 24.0,
    floor: float = 1.0,
    unqueued: float = 1.0,
    patience: int = 3,
    team_blocks: int = 64,
    team_capacity: int = 4096,
    team_limit: int = 1 << 16,
    shared_kilobytes: int = 160,
    words_per_unvisited: float = 0.0625,
    block: int | None = None,
    planes: int | None = None,
    deferred_rows: bool | None = None,
    by_degree: bool | None = None,
) -> RowsSearch:
    """Make rows ready with these constants.

    Those that count arcs hold for rows of any layout, whose weights are brought to that scale.

    Parameters
    ----------
    alpha, beta : go bottom-up when the frontier's arcs times alpha exceed the unvisited arcs, and back when
        its vertices times beta are fewer than all that have arcs (Beamer et al., SC 2012; beta as in GAP).
        By default alpha is ALPHA, and ENCODED_ANY_ORDER for encoded rows that do not begin with hubs.
    floor : stay top-down while the frontier has fewer arcs than this times the words of the bitmap, which
        a bottom-up level reads in any case.
    unqueued : fill no queue in a top-down level whose frontier has more arcs than this times those words.
    patience : small bottom-up levels before going back, unless many vertices are unvisited.
    team_blocks, team_capacity, team_limit : blocks that go through small levels alone, vertices that each
        keeps, and arcs of a level beyond which the whole grid takes over.
    shared_kilobytes, words_per_unvisited : shared memory of a block, and bitmap words that a bottom-up level
        keeps there per unvisited vertex.
    block : threads of a block, a multiple of 32; by default 1024 for columns, and for encoded rows as many as
        decoding leaves registers for.
    planes : how many times eight neighbours after the first two are kept apart for bottom-up levels, which
        then stream them instead of reading rows here and there. By default none where rows begin with hubs,
        else up to MAX_PLANES, or PLANES_BY_DEGREE, that together hold no more than half of the arcs.
    deferred_rows : whether bottom-up levels put long rows off that they read far, and read them by whole
        blocks; by default as `gravel.kernels.bfs.cuda.deferred_rows` finds it worthwhile. Either way finds
        the same. For columns alone: long rows of other layouts are always put off.
    by_degree : whether searches of distances first look at neighbours of high degree, if the graph has hubs,
        not at the first of a row; by default where rows do not begin with hubs and `planes` is not given. For
        columns alone.

    Raises ValueError for a graph that is not symmetric, and for a value that a parameter cannot have.

    """
    if not query.symmetric:
        raise ValueError("strategy 'direction_optimizing' needs a symmetric graph")
    return RowsSearch(
        rows,
        query,
        Tuning(
            pull=True,
            alpha=alpha,
            beta=beta,
            floor=floor,
            unqueued=unqueued,
            patience=patience,
            team_blocks=team_blocks,
            team_capacity=team_capacity,
            team_limit=team_limit,
            words_per_unvisited=words_per_unvisited,
            planes=planes,
            deferred_rows=deferred_rows,
            by_degree=by_degree,
        ),
        shared_kilobytes=shared_kilobytes,
        block=block,
    )
