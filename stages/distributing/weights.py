"""The weights of edges over ranks: the type in which all are stored, as one machine chooses it."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy

from gravel.kernels.exchange import Endpoint, Program, Ticket, gather
from gravel.kernels.generate.slices import parts_of
from gravel.stages.distributing.pieces import NumberedEdges
from gravel.stages.errors import StageError
from gravel.stages.weights import MAX_VERTICES, StoredAs, TooLargeWeight, facts_of, too_large

TOO_LARGE_HINT = "divide all weights by a number, or leave `weights` of distribute out"

Steps = Generator[Ticket, dict[int, Any], Any]


def weights_program(end: Endpoint, edges: NumberedEdges, part: int) -> Program[StoredAs]:
    """Agree as one rank on how weights are stored; each reads those of its share, `part` at a time.

    Raises `StageError` on all ranks for 2^32 vertices or more, and for a finite weight beyond float32, of the
    first such edge.
    """
    if edges.vertices >= MAX_VERTICES:
        raise StageError(f"weights are for less than 2^32 vertices; there are {edges.vertices:,}")
    lows, highs, integral = [numpy.inf], [-numpy.inf], True
    lost: tuple[int, float, tuple[int, int]] | None = None
    for first, count in parts_of(edges.edges, end.size, end.rank, part):
        read = edges.read_weights(first, count)
        if not count:
            continue
        low, high, whole = facts_of(read)
        lows.append(low)
        highs.append(high)
        integral &= whole
        place = too_large(read)
        if lost is None and place is not None:
            source, target = edges.make(first + place, 1)
            lost = first + place, read[place], (int(source[0]), int(target[0]))
    gathered = yield from gather(end, (numpy.min(lows), numpy.max(highs), integral, lost))
    low, high = numpy.min([each[0] for each in gathered]), numpy.max([each[1] for each in gathered])
    stored = StoredAs.of(low, high, all(each[2] for each in gathered))
    found = [each[3] for each in gathered if each[3] is not None]
    if stored.dtype == numpy.float32 and found:
        edge, weight, ends = min(found)
        raise StageError(str(TooLargeWeight(edge, weight)), hint=TOO_LARGE_HINT, vertices=ends)
    return stored
