"""What the order of a graph costs, measured again in memory, so that it can be set against searches."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stages.searching.graph import SearchedGraph


def ordering_milliseconds(graph: SearchedGraph) -> float | None:
    """Time how long the order of a graph takes to find and to apply, on arrays in memory.

    A `reorder` stage reads and writes stored arrays too, and may have run on another machine. The graph of
    the first numbering is made from the one that was searched; one run compiles and is not timed. `rcm` runs
    on the CPU wherever the search does. Returns None for a graph in no order of its own, for `rcm` of a
    directed graph, which takes the reverse of every arc beside, and where rows do not lie whole in the
    memory of the backend.
    """
    import numpy

    from kernels.order import apply, permutation

    if graph.order is None or graph.permutation is None or graph.columns is None:
        return None
    if graph.placed is not None:
        return None
    if graph.order == "original":
        return 0.0
    on_host = graph.order == "rcm"
    if on_host and not graph.symmetric:
        return None
    inverse = numpy.empty_like(graph.permutation)
    inverse[graph.permutation] = numpy.arange(len(inverse), dtype=inverse.dtype)
    given: tuple[Any, Any] = apply(graph.row_offsets, graph.columns, _placed(graph, inverse))
    taken = 0.0
    for _ in range(2):
        started = _now(graph)
        there = graph.backend == "cuda" and (on_host or graph.order == "random")
        arrays = tuple(array.get() for array in given) if there else given
        found = permutation(graph.order, *arrays)
        apply(*given, _placed(graph, found))
        taken = (_now(graph) - started) * 1e3
    return taken


def _placed(graph: SearchedGraph, values: Any) -> Any:
    if graph.backend == "cpu":
        return values
    import cupy

    return cupy.asarray(values)


def _now(graph: SearchedGraph) -> float:
    """Read the clock when the device has nothing left to do."""
    if graph.backend == "cuda":
        import cupy

        cupy.cuda.Device().synchronize()
    return time.perf_counter()
