"""A union-find of the verifiers: parents of all vertices, none larger than its vertex, a root's itself."""

from __future__ import annotations

import numpy

from gravel.kernels.jit import serial


@serial
def plant(parents):  # type: ignore[no-untyped-def]
    """Make every vertex a root."""
    for v in range(len(parents)):
        parents[v] = v


@serial
def root_of(parents, v):  # type: ignore[no-untyped-def]
    """Find the root above a vertex, with every second vertex on the way pointed further up."""
    above = numpy.int64(parents[v])
    while above != v:
        parents[v] = parents[above]
        v = numpy.int64(parents[v])
        above = numpy.int64(parents[v])
    return v


@serial
def unite(parents, v, w):  # type: ignore[no-untyped-def]
    """Put the larger of two roots under the smaller."""
    if parents[v] == parents[w]:
        return
    a = root_of(parents, v)
    b = root_of(parents, w)
    if a < b:
        parents[b] = a
    else:
        parents[a] = b


@serial
def point_at_roots(parents):  # type: ignore[no-untyped-def]
    """Point every vertex at its root; parents are no larger, so that they have been pointed there before."""
    for v in range(len(parents)):
        parents[v] = parents[numpy.int64(parents[v])]
