"""Betweenness on a GPU: which of the two forms fits a graph, and how many sources a batch has."""

from __future__ import annotations

from typing import Any

from gravel.kernels.betweenness.interface import Rows, Sums
from gravel.kernels.distances.interface import DEEP, is_deep
from gravel.kernels.distances.many import aggregate
from gravel.kernels.distances.many_cuda import MAX_INDEPENDENT, usable_bytes


def prepare(
    forward: Rows,
    backward: Rows,
    sources: int,
    of_arcs: bool,
    endpoints: bool,
    memory: int | None,
    deep: bool | None,
) -> Sums:
    """Make a graph ready; parameters as of `gravel.kernels.betweenness.sums.prepare`."""
    from gravel.kernels.betweenness.independent_cuda import Independent
    from gravel.kernels.betweenness.parts_cuda import InParts
    from gravel.kernels.betweenness.rows_cuda import InRows

    if deep is None:
        deep = len(forward[0]) - 1 < MAX_INDEPENDENT and _deep(forward)
    form: Any = Independent if deep else InRows

    def kind(memory: int) -> Any:
        return form(forward, backward, sources, of_arcs, endpoints, memory)

    arcs = len(forward[1])
    size = arcs if of_arcs else len(forward[0]) - 1
    return InParts(kind, sources, arcs, size, usable_bytes() if memory is None else memory)


def _deep(forward: Rows) -> bool:
    degrees = forward[0][1:] - forward[0][:-1]
    start = [int(degrees.argmax())]
    found = aggregate(*forward, start, symmetric=False, max_depth=DEEP + 1, independent=True)
    return is_deep(int(found.eccentricity[0]), int(found.reached[0]), len(degrees))
