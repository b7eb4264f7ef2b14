"""The levels of searches, which probes go through."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gravel.stages.errors import StageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.kernels.papers.merrill2012.probes.levels import Levels
    from gravel.stages.traversal.graph import SearchedGraph


def _on_host(array: Any) -> NDArray[Any]:
    from gravel.kernels.arrays import backend_of

    found: NDArray[Any] = array.get() if backend_of(array) == "cuda" else array
    return found


def prepare_levels(graph: SearchedGraph, strategy: str) -> Callable[[int], tuple[Levels, NDArray[Any]]]:
    """Make searches ready, from a vertex in the searched numbering to its levels and distances."""
    from gravel.kernels.bfs import prepare
    from gravel.kernels.papers.merrill2012.probes.levels import levels_of

    offsets = _on_host(graph.row_offsets)
    try:
        search = prepare(
            graph.row_offsets, graph.columns, strategy=strategy, output="distance", symmetric=graph.symmetric
        )
    except ValueError as error:
        raise StageError(str(error)) from None

    def levels(start: int) -> tuple[Levels, NDArray[Any]]:
        distance = _on_host(search.run(start).distance)
        return levels_of(distance, offsets), distance

    return levels
