"""Pieces of text that threads parse side by side, and whose results come in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from gravel.stages.errors import StageError
from gravel.stages.streams.pieces import Piece

Result = TypeVar("Result")


def side_by_side(
    pieces: Iterable[Piece], parse: Callable[[Piece], Result], threads: int
) -> Iterator[tuple[Piece, Result]]:
    """Yield each piece with what `parse` makes of it; `threads + 1` pieces are in work at most.

    What stops the pieces is raised after the last of them.
    """
    following = iter(pieces)
    pending: deque[tuple[Piece, Future[Result]]] = deque()
    broken: StageError | None = None
    ended = False
    with ThreadPoolExecutor(max(1, threads), thread_name_prefix="gravel-parse") as pool:
        try:
            while True:
                while not ended and len(pending) <= threads:
                    try:
                        piece = next(following, None)
                    except StageError as error:
                        broken, piece = error, None
                    ended = piece is None
                    if piece is not None:
                        pending.append((piece, pool.submit(parse, piece)))
                if not pending:
                    break
                piece, future = pending.popleft()
                yield piece, future.result()
        finally:
            for _, future in pending:
                future.cancel()
    if broken is not None:
        raise broken
