"""How vertices and arcs of R-MAT graphs divide at a threshold, for sizes that nobody has made.

The degrees of a graph of 2^16 vertices are not those of one of 2^36 on a smaller scale: the larger an R-MAT
graph is, the fewer of its vertices have most of its arcs. So what a small graph's census says of thresholds
cannot be scaled up, and divisions of larger ones are computed from the generator's own distribution.

An edge draws the bits of its ends one by one, both 0 with probability a, only the row's 1 with c, only the
column's with b, both with d. So a vertex whose number has j ones of s is an end of an edge as often as
(1 - q)^(s - j) q^j says, with q = (b + c) / 2 + d for both ends together, and its degree is about Poisson of
that times twice the edges. The ends of one edge depend on each other through their bits alone; one of them
has a degree of 1 and as many as the other edges give it. Duplicate edges count, as the paper counts them
(Pan, Pearce, Owens 2018, section VI-A3), though a graph that was symmetrized has them once.
"""

from __future__ import annotations

import math
from functools import cache

import numpy
from numpy.typing import NDArray

from gravel.kernels.partition.census import Division

GRAPH500 = (0.57, 0.19, 0.19, 0.05)
"""Probabilities a, b, c and d of the benchmark's graphs."""

EDGE_FACTOR = 16
"""Edges of a vertex in them."""

THRESHOLDS = tuple(sorted({round(2 ** (half / 2)) for half in range(25)}))
"""Powers of the square root of 2, as in a census, up to 4,096."""


@cache
def kronecker_divisions(scale: int) -> tuple[Division, ...]:
    """Divide the benchmark's graph of 2^scale vertices at `THRESHOLDS`, both directions of each edge counted.

    Counts are expected ones, rounded.
    """
    a, b, c, d = GRAPH500
    one = (b + c) / 2 + d
    ends = 2.0 * EDGE_FACTOR * 2.0**scale
    ones = numpy.arange(scale + 1)
    vertices = numpy.array([float(math.comb(scale, count)) for count in ones])
    mean = ends * (1 - one) ** (scale - ones) * one**ones
    pairs = _pairs(scale, a, b, c, d)
    found = []
    for threshold in THRESHOLDS:
        delegates = float(vertices @ (1 - _at_most(threshold, mean)))
        # Of an end of an edge this edge is known.
        normal = _at_most(threshold - 1, mean)
        nn = float(normal @ pairs @ normal)
        dd = float((1 - normal) @ pairs @ (1 - normal))
        arcs = tuple(round(share * ends) for share in (nn, max(0.0, 1 - nn - dd), dd))
        found.append(Division(threshold, round(delegates), *arcs))
    return tuple(found)


def _pairs(scale: int, a: float, b: float, c: float, d: float) -> NDArray[numpy.float64]:
    """Probability that an edge's ends have so many ones each, float64 (scale + 1, scale + 1), symmetric."""
    table = numpy.ones((1, 1))
    for _ in range(scale):
        wider = numpy.zeros((len(table) + 1, len(table) + 1))
        wider[:-1, :-1] += a * table
        wider[:-1, 1:] += b * table
        wider[1:, :-1] += c * table
        wider[1:, 1:] += d * table
        table = wider
    return (table + table.T) / 2


def _at_most(count: int, means: NDArray[numpy.float64]) -> NDArray[numpy.float64]:
    """Probability that a Poisson variable of each mean is at most `count`."""
    if count < 0:
        return numpy.zeros_like(means)
    k = numpy.arange(count + 1)
    factorials = numpy.concatenate(([0.0], numpy.cumsum(numpy.log(numpy.arange(1, count + 1)))))
    logs = k[None, :] * numpy.log(means)[:, None] - means[:, None] - factorials[None, :]
    result: NDArray[numpy.float64] = numpy.minimum(1.0, numpy.exp(logs).sum(axis=1))
    return result
