"""Every edge's ends as ranks: in one pass over the spool, or in one per stretch of ids that fits."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy
from numpy.typing import NDArray

from gravel.stages.readers import Chunk
from gravel.stages.vertex_ids.ids import IdSet
from gravel.stages.vertex_ids.spool import Spool

Item = TypeVar("Item")


def ranked(
    spool: Spool, ids: IdSet, folder: Path, memory: int, *, weighted: bool, dtype: Any, threads: int
) -> Iterator[Chunk]:
    """Yield the spooled edges with ranks of type `dtype` for ids, found by several threads.

    The spool is used up; `memory` bounds its successors.
    """
    if ids.consecutive or ids.fits:

        def of(chunk: Chunk) -> Chunk:
            return Chunk(ids.ranks(chunk.source, dtype), ids.ranks(chunk.target, dtype), chunk.weight)

        yield from side_by_side(of, spool, threads)
        spool.close()
        return
    # A rank r that is found is kept as -1 - r among the ids, which are never negative.
    current = _next(spool, None, ids, folder, memory, weighted)
    for first, table in ids.sparse_blocks():
        current = _next(current, (first, table), ids, folder, memory, weighted)
    for chunk in current:
        yield Chunk(-1 - chunk.source, -1 - chunk.target, chunk.weight)
    current.close()


def side_by_side(function: Callable[[Item], Chunk], chunks: Iterable[Item], threads: int) -> Iterator[Chunk]:
    """Apply the function on threads, and yield in order."""
    waiting: deque[Future[Chunk]] = deque()
    with ThreadPoolExecutor(max(1, threads), thread_name_prefix="gravel-rank") as pool:
        for chunk in chunks:
            waiting.append(pool.submit(function, chunk))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _next(
    spool: Spool,
    stretch: tuple[int, NDArray[numpy.int64]] | None,
    ids: IdSet,
    folder: Path,
    memory: int,
    weighted: bool,
) -> Spool:
    following = Spool(folder, memory // 2, weighted=weighted)
    for chunk in spool:
        following.append(
            Chunk(_found(chunk.source, stretch, ids), _found(chunk.target, stretch, ids), chunk.weight)
        )
    spool.close()
    return following


def _found(
    values: NDArray[Any], stretch: tuple[int, NDArray[numpy.int64]] | None, ids: IdSet
) -> NDArray[numpy.int64]:
    values = values.astype(numpy.int64, copy=False)
    ranks = -1 - values
    if stretch is None:
        ids.covered_ranks(values, ranks)
    else:
        ids.sparse_ranks(stretch[1], stretch[0], values, ranks)
    return -1 - ranks
