"""PageRank checked by one step of the surfer along the arcs of the graph, which no iteration pushes along."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.buffers import make
from gravel.kernels.jit import serial
from gravel.kernels.verify import buffers
from gravel.kernels.verify.result import Check
from gravel.kernels.verify.rules import PAGERANK


def check_pagerank(
    row_offsets: NDArray[Any],
    columns: NDArray[Any],
    weights: NDArray[Any] | None,
    rank: NDArray[Any],
    *,
    damping: float,
    tolerance: float,
    personalization: NDArray[Any] | None = None,
) -> list[Check]:
    """Check ranks float64 (vertices,) against rows of successors, on one thread.

    `personalization` are the vertices that the surfer jumps to, or None for all. Offenders of the residual
    are the vertices whose ranks the step changes most.
    """
    n = len(row_offsets) - 1
    if len(rank) != n:
        raise ValueError(f"there are {len(rank)} ranks and {n} vertices")
    bad = numpy.flatnonzero(~(numpy.isfinite(rank) & (rank >= 0)))
    checks = [Check.of(PAGERANK, "ranges", bad)]
    if not n or len(bad):
        return checks
    off = abs(float(rank.sum()) - 1.0) > 1e-9
    checks.append(Check("sum", PAGERANK["sum"], int(off), (int(rank.argmax()),) if off else ()))
    jumps, stepped, changes = make(buffers.pagerank(n), numpy).values()
    start = slice(None) if personalization is None else personalization
    jumps[start] = 1.0 / len(jumps[start])
    lost = _push(row_offsets, columns, numpy.empty(0) if weights is None else weights, rank, stepped)
    stepped += numpy.multiply(jumps, lost, out=changes)
    stepped *= damping
    stepped += numpy.multiply(jumps, 1.0 - damping, out=changes)
    numpy.abs(numpy.subtract(stepped, rank, out=changes), out=changes)
    most = [int(changes.argmax())] if changes.sum() >= tolerance * n else []
    return [*checks, Check.of(PAGERANK, "residual", most)]


@serial
def _push(
    row_offsets: NDArray[Any],
    columns: NDArray[Any],
    weights: NDArray[Any],
    rank: NDArray[Any],
    stepped: NDArray[Any],
) -> float:
    """Divide each rank among the successors; returns the rank of vertices without any."""
    lost = 0.0
    for v in range(len(rank)):
        leaving = 0.0
        for arc in range(row_offsets[v], row_offsets[v + 1]):
            leaving += weights[arc] if len(weights) > 0 else 1.0
        if leaving == 0.0:
            lost += rank[v]
            continue
        for arc in range(row_offsets[v], row_offsets[v + 1]):
            weight = weights[arc] if len(weights) > 0 else 1.0
            stepped[columns[arc]] += rank[v] * weight / leaving
    return lost
