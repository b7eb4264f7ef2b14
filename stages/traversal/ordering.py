"""What the order of a graph costs, measured again in memory, so that it can be set against searches."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from gravel.stages.traversal.graph import SearchedGraph


class OrderTimes(NamedTuple):
    """Milliseconds of finding an order and of applying it, or None twice where it was not timed."""

    find: float | None = None
    apply: float | None = None

    @property
    def total(self) -> float | None:
        """Both together."""
        return None if self.find is None or self.apply is None else self.find + self.apply


def order_times(graph: SearchedGraph) -> OrderTimes:
    """Time how long the order of a graph takes to find and to apply, on arrays in memory.

    A `reorder` stage reads and writes stored arrays too, and may have run on another machine. The graph of
    the first numbering is made from the one that was searched; one run compiles and is not timed. An order
    without a CUDA implementation is found on the host, the way there included. Not timed are a graph in no
    order of its own, an order of a directed graph that takes the reverse of every arc beside, and rows that
    do not lie whole in the memory of the backend.
    """
    import numpy

    from gravel.kernels.cuda.room import give_free_blocks_back
    from gravel.kernels.order import METHODS, apply, permutation

    if graph.order not in METHODS or graph.permutation is None or graph.columns is None:
        return OrderTimes()
    if graph.placed is not None:
        return OrderTimes()
    if graph.order == "original":
        return OrderTimes(0.0, 0.0)
    if METHODS[graph.order].symmetric and not graph.symmetric:
        return OrderTimes()
    inverse = numpy.empty_like(graph.permutation)
    inverse[graph.permutation] = numpy.arange(len(inverse), dtype=inverse.dtype)
    given: tuple[Any, Any] = apply(graph.row_offsets, graph.columns, _placed(graph, inverse))
    if graph.backend == "cuda":
        give_free_blocks_back()
    times = OrderTimes()
    for _ in range(2):
        started = _now(graph)
        found = permutation(graph.order, *given)
        between = _now(graph)
        apply(*given, found)
        times = OrderTimes((between - started) * 1e3, (_now(graph) - between) * 1e3)
    return times


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
