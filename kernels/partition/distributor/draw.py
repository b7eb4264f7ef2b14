"""Sources drawn by the ranks: the vertices that would be drawn from the whole graph's degrees."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.exchange import Endpoint, Program, gather
from gravel.kernels.partition.layout import RankGraph, local_count

BLOCK = 1 << 12
"""Local rows whose vertices with arcs are counted together; p blocks are a range of the graph's vertices."""


def draw_program(
    end: Endpoint, filled: NDArray[numpy.bool_], vertex_count: int, count: int, seed: int
) -> Program[NDArray[numpy.int64]]:
    """Draw vertices that have arcs, without replacement; all of them, ascending, where there are fewer.

    Parameters
    ----------
    filled : which of the own vertices have arcs, bool (local,).
    seed : of NumPy's PCG64, whose choice among the vertices with arcs, ascending, this is.

    Returns the same int64 vertices on every rank.

    """
    blocks = -(-local_count(vertex_count, end.size, 0) // BLOCK)
    padded = numpy.zeros(blocks * BLOCK, numpy.bool_)
    padded[: len(filled)] = filled
    by_block = padded.reshape(blocks, BLOCK)
    counts = numpy.sum((yield from gather(end, by_block.sum(axis=1, dtype=numpy.int64))), axis=0)
    upto = numpy.cumsum(counts)
    total = int(upto[-1]) if blocks else 0
    if total <= count:
        chosen = numpy.arange(total)
    else:
        generator = numpy.random.Generator(numpy.random.PCG64(seed))
        chosen = generator.choice(total, count, replace=False)
    where = numpy.searchsorted(upto, chosen, side="right")
    needed = numpy.unique(where)
    own = [(numpy.flatnonzero(by_block[each]) + each * BLOCK) * end.size + end.rank for each in needed]
    told = yield from gather(end, own)
    vertices = {
        int(each): numpy.sort(numpy.concatenate([of_rank[place] for of_rank in told]))
        for place, each in enumerate(needed)
    }
    before = upto - counts
    places = zip(chosen, where, strict=True)
    return numpy.array([vertices[int(at)][one - before[at]] for one, at in places], numpy.int64)


def with_arcs(part: RankGraph, delegates: Any, vertex_count: int, ranks: int) -> NDArray[numpy.bool_]:
    """Tell which of a rank's vertices have arcs, on the host; delegates have."""
    filled = numpy.zeros(local_count(vertex_count, ranks, part.rank), numpy.bool_)
    for offsets in (part.nn.row_offsets, part.nd.row_offsets):
        filled |= _host(offsets[1:] != offsets[:-1])
    own = _host(delegates)
    filled[own[own % ranks == part.rank] // ranks] = True
    return filled


def _host(array: Any) -> NDArray[Any]:
    on_host: NDArray[Any] = array if isinstance(array, numpy.ndarray) else array.get()
    return on_host
