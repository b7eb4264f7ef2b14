"""Betweenness on a GPU: which of the two forms fits a graph, and how many sources a batch has."""

from __future__ import annotations

from typing import Any

from gravel.kernels.betweenness.interface import Rows, Sums, Wanted
from gravel.kernels.distances.interface import DEEP, is_deep
from gravel.kernels.distances.many import aggregate
from gravel.kernels.distances.many_cuda import MAX_INDEPENDENT, usable_bytes


def prepare(wanted: Wanted, memory: int | None, deep: bool | None) -> Sums:
    """Make a graph ready; parameters as of `gravel.kernels.betweenness.sums.prepare`."""
    from gravel.kernels.betweenness.independent_cuda import Independent
    from gravel.kernels.betweenness.parts_cuda import InParts
    from gravel.kernels.betweenness.rows_cuda import InRows

    if deep is None:
        deep = wanted.vertices < MAX_INDEPENDENT and _deep(wanted.forward)
    form: Any = Independent if deep else InRows

    def kind(memory: int) -> Any:
        return form(wanted, memory)

    arcs, room = len(wanted.forward[1]), usable_bytes() if memory is None else memory
    return InParts(kind, wanted.sources, arcs, wanted.size, room)


def _deep(forward: Rows) -> bool:
    degrees = forward[0][1:] - forward[0][:-1]
    start = [int(degrees.argmax())]
    found = aggregate(*forward, start, symmetric=False, max_depth=DEEP + 1, independent=True)
    return is_deep(int(found.eccentricity[0]), int(found.reached[0]), len(degrees))
