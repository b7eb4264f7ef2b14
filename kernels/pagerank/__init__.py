"""PageRank by power iteration: every vertex pulls what its predecessors pass on (Page, Brin et al., 1999).

    from gravel.kernels.pagerank import pagerank

    found = pagerank(columns_as_rows(row_offsets, column_indices), degrees)   # of an undirected graph
    found.rank, found.iterations, found.residual

Start, dangling vertices and the rule to stop are those of NetworkX's `pagerank`, and so is the number of
iterations. Sums are added in an order that neither the number of threads nor the schedule of a GPU changes,
so that equal calls have equal results to the last bit, on each of the two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.layouts.layout import is_read_in_parts, side_of
from gravel.kernels.pagerank.interface import Ranks, Walk

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows

__all__ = ["NotConverged", "PageRank", "pagerank"]

Progress = Callable[[int, int], None]
"""Gets the iterations that are done, and how many there are at most."""


@dataclass(frozen=True)
class PageRank:
    """Ranks float64 (vertices,), NumPy's or CuPy's as the rows; they add up to 1.

    `residual` is the L1 distance between the ranks of the last two iterations.
    """

    rank: Any
    iterations: int
    residual: float
    milliseconds: float


class NotConverged(ArithmeticError):
    """The ranks still changed by `residual` when the last of `iterations` had ended."""

    def __init__(self, iterations: int, residual: float, bound: float) -> None:
        super().__init__(
            f"PageRank has not converged: after {iterations:,} iterations the residual is {residual:.3g}, "
            f"and it must be below {bound:.3g}, the tolerance times the number of vertices"
        )
        self.iterations, self.residual = iterations, residual


def pagerank(
    rows: EncodedRows,
    outgoing: Any,
    weights: Any = None,
    *,
    damping: float = 0.85,
    tolerance: float = 1e-6,
    max_iterations: int = 100,
    personalization: NDArray[Any] | None = None,
    dangling: NDArray[Any] | None = None,
    start: NDArray[Any] | None = None,
    progress: Progress | None = None,
) -> PageRank:
    """Find the ranks of all vertices.

    Parameters
    ----------
    rows : of a square graph, in any layout: row v has the predecessors of v. The arrays are where the ranks
        are computed. On a GPU all of them must be there.
    outgoing : float64 (vertices,), the sums of the weights of the arcs that leave each vertex, on the same
        side: without weights the numbers of arcs. A vertex with 0 is dangling.
    weights : of the arcs in the order of the decoded rows, any numbers of at least 0. On a GPU the rows must
        be columns then.
    damping : the probability to follow an arc, from 0 to 1.
    tolerance : stop where the L1 distance to the iteration before is below this times the vertices.
    max_iterations : of the power method.
    personalization, dangling, start : float64 (vertices,), NumPy, not all 0: where the surfer jumps to, where
        from dangling vertices, and where it begins. By default these are uniform, as `personalization`, and
        uniform. They are divided by their sums.
    progress : is called now and then.

    Raises `NotConverged`, and ValueError for a value that a parameter cannot have and for damaged rows.
    """
    import time

    check(damping, tolerance, max_iterations)
    n = rows.vertex_count
    if not n:
        return PageRank(outgoing, 0, 0.0, 0.0)
    teleport = _shares("personalization", personalization, n)
    leak = teleport if dangling is None else _shares("dangling", dangling, n)
    walk = Walk(damping, teleport, leak, _shares("start", start, n))
    there: Any
    if is_read_in_parts(rows):
        raise ValueError("PageRank on a GPU reads rows in its memory, and these are in host memory")
    if side_of(rows) == "cuda":
        from gravel.kernels.pagerank import cuda as there
    else:
        from gravel.kernels.pagerank import cpu as there
    ranks: Ranks = there.Ranks(rows, outgoing, weights, walk)
    bound, done, residual = n * tolerance, 0, numpy.inf
    at_once = max(1, UNINTERRUPTED // (n + rows.arc_count))
    started = time.perf_counter()
    while done < max_iterations and not residual < bound:
        done, residual = ranks.run(min(done + at_once, max_iterations), bound)
        if progress is not None:
            progress(done, max_iterations)
    if not residual < bound:
        raise NotConverged(done, float(residual), bound)
    return PageRank(ranks.rank, done, float(residual), (time.perf_counter() - started) * 1e3)


UNINTERRUPTED = 1 << 29
"""Vertices plus arcs that are visited before Ctrl-C is heard: about a second on a few cores."""


def check(damping: float, tolerance: float, max_iterations: int) -> None:
    """Raise ValueError for a value that a parameter cannot have."""
    if not 0 <= damping <= 1:
        raise ValueError(f"damping is {damping}; it must be from 0 to 1")
    if not tolerance > 0:
        raise ValueError(f"tolerance is {tolerance}; it must be more than 0")
    if max_iterations < 1:
        raise ValueError(f"max_iterations is {max_iterations}; it must be 1 or more")


def _shares(name: str, given: NDArray[Any] | None, vertices: int) -> NDArray[Any]:
    """Divide values by their sum, or give one that all vertices have."""
    if given is None:
        return numpy.full(1, 1.0 / vertices)
    if given.shape != (vertices,):
        raise ValueError(f"{name} has the shape {given.shape}; there are {vertices:,} vertices")
    total = float(given.sum(dtype=numpy.float64))
    if not (bool((given >= 0).all()) and 0 < total < numpy.inf):
        raise ValueError(f"{name} must have finite values of at least 0, and not 0 alone")
    found: NDArray[Any] = given / total
    return found
