"""What every BFS strategy returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from gravel.kernels.bfs.query import check_source
from gravel.kernels.strategy import Ran


@dataclass(frozen=True)
class BFSResult:
    """One search. The arrays live where the graph lives, in the graph's numbering.

    `distance` is int32 (vertices,) with -1 for unreached; `predecessor` is int32 below 2^31 vertices, else
    int64, with -1 for none (unreached vertices and the source). Among the possible predecessors it is the
    smallest, so results do not differ between runs. Both are views of the search's workspace, valid until
    the next `run`. `directions` names each level's direction, "push" or "pull". `expanded`, with statistics,
    counts the arcs that each level gathered, those of vertices that were enqueued more than once included.
    `batch` says how many searches ran together; beyond 1, `milliseconds` is this one's share of their time.
    `link_bytes`, where rows lie in host memory and a GPU searches, are the bytes of rows that came over the
    link to it: distinct lines of each level, each whole. `launches`, where the host starts kernels for the
    levels, are the threads of each, in order.
    """

    source: int
    distance: Any | None
    predecessor: Any | None
    milliseconds: float
    directions: tuple[str, ...]
    expanded: tuple[int, ...] | None = None
    batch: int = 1
    link_bytes: int | None = None
    launches: tuple[int, ...] | None = None


@dataclass(frozen=True)
class BatchResult:
    """Searches that ran together. Arrays live where the graph lives, in the graph's numbering.

    `distance` is int32 (searches, vertices) and `predecessor` int32 or int64 of the same shape, each as in
    `BFSResult` and valid until the next batch. `milliseconds` is the time of the whole batch, which is not to
    be compared with that of a single search. `directions` names the levels of the deepest search.
    """

    sources: tuple[int, ...]
    distance: Any | None
    predecessor: Any | None
    milliseconds: float
    directions: tuple[str, ...]

    def searches(self) -> list[BFSResult]:
        """List the searches one by one, with views of their rows and equal shares of the time."""
        count = len(self.sources)
        return [
            BFSResult(
                source,
                None if self.distance is None else self.distance[i],
                None if self.predecessor is None else self.predecessor[i],
                self.milliseconds / count,
                self.directions,
                batch=count,
            )
            for i, source in enumerate(self.sources)
        ]


class Search(Protocol):
    """A graph made ready for many searches: every allocation is done, `run` only traverses.

    `ran` names the function that made it and the constants in force; a search that decides some of them by
    the graph or the device tells these in `decided`.
    """

    strategy: str
    reason: str
    prepare_milliseconds: float
    ran: Ran

    def run(self, source: int) -> BFSResult:
        """Search from one vertex; the time covers per-source initialisation and the traversal."""
        ...


@runtime_checkable
class BatchSearch(Search, Protocol):
    """A search from several vertices at once; `batch` is how many at most, and `run` is a batch of one."""

    batch: int

    def run_many(self, sources: Sequence[int]) -> BatchResult:
        """Search from 1 to `batch` vertices, which may repeat; the time is that of all of them."""
        ...


def check_batch(sources: Sequence[int], batch: int, vertices: int) -> tuple[int, ...]:
    """Return the sources as integers; raises ValueError for what `run_many` does not take."""
    if not 1 <= len(sources) <= batch:
        raise ValueError(f"a batch has 1 to {batch} sources; found {len(sources)}")
    for source in sources:
        check_source(source, vertices)
    return tuple(int(source) for source in sources)
