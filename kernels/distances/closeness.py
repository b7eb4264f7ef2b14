"""Closeness: the reciprocal of the mean distance to the vertices that a vertex reaches."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.distances.aggregates import Aggregates, VertexAggregates


def closeness(found: Aggregates, vertices: int, *, wf_improved: bool = True) -> NDArray[numpy.float64]:
    """Return the closeness of each source of a graph of so many vertices; 0 for one that reaches no other.

    With `wf_improved` it is multiplied by the share of the other vertices that the source reaches (Wasserman,
    Faust, Social Network Analysis, 1994, formula 5.22), so that small components count less.
    """
    others: Any = found.reached - 1.0
    value: NDArray[numpy.float64] = numpy.divide(
        others, found.total, out=numpy.zeros(len(others)), where=found.total > 0
    )
    if wf_improved:
        value *= others / max(1, vertices - 1)
    return value


def estimate(
    found: VertexAggregates,
    sources: NDArray[numpy.int64],
    candidates: NDArray[numpy.bool_],
    *,
    wf_improved: bool = True,
    least: float = 1.0,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]:
    """Estimate the closeness of every vertex from its distances to a sample; returns bounds of errors, too.

    Eppstein and Wang, Fast Approximation of Centrality, Journal of Graph Algorithms and Applications 8(1),
    2004: the mean distance to all others is that to a sample of them. Here the mean is over the sources other
    than the vertex itself, and over those alone that it reaches. With `wf_improved`, the share of the other
    vertices that it reaches is estimated by the share of such sources, so that a graph need not be connected.
    From all candidates the values are those of `closeness`.

    Parameters
    ----------
    found : of each vertex, over the sources that it reaches, itself included if it is one.
    sources : distinct, drawn among the candidates.
    candidates : bool (vertices,), whether others may reach a vertex.
    least : the smallest distance between two vertices: 0 by weights.

    An error is the largest standard error that the sample allows. Distances with the mean m, from `least` to
    the largest one L of the vertex, have the variance (L - m) (m - `least`) or less (Bhatia and Davis, A
    Better Bound on the Variance, American Mathematical Monthly 107(4), 2000). The share that is reached has
    the variance of a share. Both are corrected for a sample without replacement. It is 0 for all candidates
    and where no source is reached, which says nothing of the others, and inf where only one of several is.
    """
    n, drawn, population = len(candidates), len(sources), int(numpy.count_nonzero(candidates))
    own = numpy.zeros(n)
    own[sources] = 1.0
    others = numpy.asarray(found.reached, numpy.float64) - own
    asked, there = drawn - own, population - candidates
    mean = numpy.divide(found.total, others, out=numpy.zeros(n), where=others > 0)
    value: NDArray[numpy.float64] = numpy.divide(
        others, found.total, out=numpy.zeros(n), where=numpy.asarray(found.total) > 0
    )
    if wf_improved:
        value *= others * numpy.divide(there, asked, out=numpy.zeros(n), where=asked > 0) / max(1, n - 1)
    error = numpy.zeros(n)
    known = value > 0
    if drawn < population:
        some = known & (others > 1)
        error[known] = numpy.inf
        m, count, of = mean[some], others[some], asked[some]
        spread = numpy.maximum(0.0, found.largest[some] - m) * (m - least) / ((count - 1) * m**2)
        if wf_improved:
            spread += (1 - count / of) / (count / of * (of - 1))
        error[some] = value[some] * numpy.sqrt(numpy.maximum(0.0, spread) * (1 - drawn / population))
    return value, error
