"""Betweenness of vertices or arcs, summed over sources in batches.

    from gravel.kernels.betweenness.sums import betweenness

    total = betweenness(rows, rows)                    # float64 (vertices,), each ordered pair of ends once
    total = betweenness(rows, rows, of_arcs=True)      # float64 (arcs,)

The sums are added in an order that neither the number of threads nor the schedule of a GPU changes, so that
equal calls have equal results to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.arrays import backend_of
from gravel.kernels.betweenness.interface import Rows, Sums, Wanted

Progress = Callable[[int, int], None]
"""Gets the sources that are done and how many there are."""


def prepare(wanted: Wanted, *, memory: int | None = None, deep: bool | None = None) -> Sums:
    """Make a graph ready; all memory is allocated here.

    Parameters
    ----------
    memory : bytes that a run may take beside the graph; by default what is free.
    deep : search from each source by itself on a GPU; by default the graph decides.

    Raises `gravel.kernels.distances.many.TooNarrow` where not even the narrowest batch fits.
    """
    there: Any
    if backend_of(wanted.forward[0]) == "cuda":
        from gravel.kernels.betweenness import on_gpu as there
    else:
        from gravel.kernels.betweenness import on_threads as there
    found: Sums = there.prepare(wanted, memory, deep)
    return found


def betweenness(
    forward: Rows,
    backward: Rows,
    sources: Any = None,
    *,
    progress: Progress | None = None,
    of_arcs: bool = False,
    endpoints: bool = False,
    weights: NDArray[Any] | None = None,
    **options: Any,
) -> NDArray[numpy.float64]:
    """Sum over the shortest paths from all sources, by default from every vertex.

    Parameters as of `Wanted`, and options as of `prepare`.

    Raises ValueError for a source that is no vertex, and `TooManyPaths`.
    """
    from gravel.kernels.distances.many import checked

    n = len(forward[0]) - 1
    starts = numpy.arange(n) if sources is None else checked(sources, n)
    if not len(starts):
        return numpy.zeros(len(forward[1]) if of_arcs else n, numpy.float64)
    starts = arranged(forward, backward, starts)
    sums = prepare(Wanted(forward, backward, len(starts), of_arcs, endpoints, weights), **options)
    for first in range(0, len(starts), sums.batch):
        last = min(first + sums.batch, len(starts))
        sums.run(starts[first:last])
        if progress is not None:
            progress(last, len(starts))
    return sums.get()


def arranged(forward: Rows, backward: Rows, sources: NDArray[numpy.int64]) -> NDArray[numpy.int64]:
    """Return the sources in the order to search from them: on a GPU, those that run in step share batches."""
    from gravel.kernels.distances.in_step import in_step

    if backend_of(forward[0]) != "cuda" or forward[1] is not backward[1]:
        return sources
    order = in_step(*forward, sources)
    return sources if order is None else sources[order]


def sampling_error(
    values: NDArray[numpy.float64], factor: float, most: int, sources: int, candidates: int
) -> NDArray[numpy.float64]:
    """Bound the standard errors of values that a sample of sources estimates, where sums times `factor` are.

    The share of a source is between 0 and `most`, the paths that may go through a vertex or an edge. Then the
    variance of shares whose mean is a part p of `most` is p (1 - p) `most`^2 or less (Bhatia and Davis, A
    Better Bound on the Variance, American Mathematical Monthly 107(4), 2000). Returns the largest standard
    error that the sample allows, with the correction for one without replacement from all `candidates`: 0
    where all were searched from, inf for one of several. What no source found has the error 0.
    """
    if sources >= candidates or most < 1:
        return numpy.zeros(len(values))
    whole = factor * sources * most
    found = numpy.clip(values / whole, 0.0, 1.0)
    if sources < 2:
        found[found > 0] = numpy.inf
        return found
    found *= 1 - found
    found *= (1 - sources / candidates) / (sources - 1)
    numpy.sqrt(found, out=found)
    found *= whole
    return found


def scale(
    vertices: int,
    *,
    normalized: bool,
    directed: bool,
    endpoints: bool = False,
    of_arcs: bool = False,
    sampled: float = 1.0,
) -> float:
    """Return what to multiply sums by: pairs of ends count once, or as a share of all pairs.

    `sampled` is the share of the sources that were searched from.
    """
    ends = vertices if endpoints or of_arcs else vertices - 1
    if normalized and ends >= 2:
        return 1 / (ends * (ends - 1)) / sampled
    return (1.0 if directed else 0.5) / sampled
