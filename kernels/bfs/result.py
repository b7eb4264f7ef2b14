"""What every BFS strategy returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class BFSResult:
    """One search. The arrays live where the graph lives, in the graph's numbering.

    `distance` is int32 (vertices,) with -1 for unreached; `predecessor` is int32 below 2^31 vertices, else
    int64, with -1 for none (unreached vertices and the source). Among the possible predecessors it is the
    smallest, so results do not differ between runs. Both are views of the search's workspace, valid until
    the next `run`. `directions` names each level's direction, "push" or "pull". `expanded`, with statistics,
    counts the arcs that each level gathered, those of vertices that were enqueued more than once included.
    """

    source: int
    distance: Any | None
    predecessor: Any | None
    milliseconds: float
    directions: tuple[str, ...]
    expanded: tuple[int, ...] | None = None


class Search(Protocol):
    """A graph made ready for many searches: every allocation is done, `run` only traverses."""

    strategy: str
    reason: str
    prepare_milliseconds: float

    def run(self, source: int) -> BFSResult:
        """Search from one vertex; the time covers per-source initialisation and the traversal."""
        ...
