"""Exact eccentricities with far fewer searches than the graph has vertices.

Searches bound the eccentricities of all vertices (`bounds`). The first ones lead to the middle of a long
path, a good centre for the diameter: the 4-SWEEP of Crescenzi et al., On Computing the Diameter of Real-World
Undirected Graphs, TCS 514, 2013, section 3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy

from gravel.kernels.arrays import backend_of
from gravel.kernels.distances import many
from gravel.kernels.distances.aggregates import Aggregates
from gravel.kernels.distances.bounds import GOALS, NEVER, Bounds
from gravel.kernels.distances.interface import DEEP, is_deep
from gravel.kernels.distances.single import single_search
from gravel.kernels.layouts.layout import columns_as_rows, is_read_in_parts
from gravel.kernels.layouts.units import offsets_of

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows

SLOW = 8
"""Vertices that a search has to decide; below, searches that share what they read, which bound no others,
decide more."""

PATIENCE = 4
"""Searches that decide too few before the others share what they read: the first one seldom decides any, and
the next ones, from far vertices, are what bounds the diameter. With 2, 4, 8 and 16 the diameter of Kronecker
16 took 12, 13, 17 and 21 ms, that of cnr-2000 212, 223, 265 and 361, and with 1 seconds."""

SWEEPS = 1
"""Long paths of which the middle is searched, each from there to a farthest vertex and to the farthest from
that. Two are the 4-SWEEP. With 0, 1, 2 and 3 the diameter of cnr-2000 took 277, 93, 98 and 82 ms, that of
t60k 22, 17, 19 and 21, and that of Gnutella31 141, 168, 177 and 160."""


def eccentricities(row_offsets: Any, column_indices: Any, goal: str = "all", **options: Any) -> Any | None:
    """Return the eccentricities of a CSR graph; see `eccentricities_of_rows`."""
    return eccentricities_of_rows(columns_as_rows(row_offsets, column_indices), goal, **options)


def eccentricities_of_rows(
    rows: EncodedRows,
    goal: str = "all",
    *,
    in_parts: bool = False,
    memory: int | None = None,
    progress: many.Progress | None = None,
    known: tuple[Any, Any] | None = None,
    keep: Callable[[Any, Any], None] | None = None,
    split: bool = False,
    searches: dict[str, Any] | None = None,
) -> Any | None:
    """Return the eccentricities of a symmetric graph with ascending rows: int64 (vertices,), where these lie.

    With another goal than "all" only what it needs is exact: the largest one for "diameter", every one that
    equals the largest for "periphery", the smallest for "radius" and every one that equals it for "center".
    The others are bounds: of the largest from below, of the smallest from above.

    A graph that is not connected has none, which is None; with `in_parts` each vertex has that of its own
    component. `memory` limits searches that share a batch, in bytes; `progress` gets the decided vertices.
    `keep` gets the bounds from below and from above after every search or batch, and `known` are
    such to begin with. Rows on a GPU may be encoded, read in parts, or `split`, as `many.prepare_rows`
    says. `searches` by strategy, of `single_search` over these rows, are used, and those that are made are
    added. Raises ValueError for an unknown goal.
    """
    if goal not in GOALS:
        raise ValueError(f"goal is {goal!r}; it can be {', '.join(GOALS)}")
    if not rows.vertex_count:
        return offsets_of(rows)[:0]
    options: dict[str, Any] = {"memory": memory, "progress": progress, "known": known, "keep": keep}
    found = _bounded(rows, goal, in_parts=in_parts, split=split, searches=searches, **options)
    if found is None:
        return None
    bounds, _ = found
    return bounds.lower if goal in ("all", "diameter", "periphery") else bounds.upper


def diameter_of_rows(
    rows: EncodedRows,
    *,
    memory: int | None = None,
    progress: many.Progress | None = None,
    split: bool = False,
    searches: dict[str, Any] | None = None,
) -> int:
    """Return the largest eccentricity of a symmetric graph within its components, 0 without vertices.

    No bound from below exceeds the largest eccentricity that was searched, so that none is read back from a
    GPU. Parameters as of `eccentricities_of_rows`.
    """
    if not rows.vertex_count:
        return 0
    options: dict[str, Any] = {"memory": memory, "split": split, "searches": searches, "progress": progress}
    found = _bounded(rows, "diameter", in_parts=True, **options)
    assert found is not None
    return found[1]


def _bounded(
    rows: EncodedRows,
    goal: str,
    *,
    in_parts: bool,
    memory: int | None,
    split: bool,
    searches: dict[str, Any] | None,
    progress: many.Progress | None = None,
    known: tuple[Any, Any] | None = None,
    keep: Callable[[Any, Any], None] | None = None,
) -> tuple[Bounds, int] | None:
    """Bound eccentricities until the goal is met; returns the largest that was searched, too."""
    ready = {} if searches is None else searches
    xp: Any = numpy
    row_offsets = offsets_of(rows)  # bytes of encoded rows stand for arcs
    if backend_of(row_offsets) == "cuda":
        import cupy

        xp = cupy
    n = len(row_offsets) - 1
    if n > 1 and not in_parts and not bool((row_offsets[1:] > row_offsets[:-1]).all()):
        return None
    bounds = _bounds_of(xp, row_offsets, goal, known)
    one = _ready(ready, rows, "direction_optimizing")
    largest, slow, farthest = False, 0, 0
    sweep = _Sweep(bounds, rounds=0 if known is not None or goal == "all" else SWEEPS)
    deep: bool | None = None
    vertex = bounds.next(largest=True) if known is not None and bounds.left else bounds.hub()
    while bounds.left:
        before = bounds.left
        # On threads, searches of a deep graph share nothing: one that bounds others is never slower.
        is_bounded = xp is numpy and int(bounds.upper[vertex]) < NEVER
        distance = one.run(vertex).distance
        assert distance is not None
        if before == n and not in_parts and int(distance.min()) < 0:
            return None
        found = bounds.tighten(distance)
        farthest = max(farthest, found)
        if keep is not None:
            keep(bounds.lower, bounds.upper)
        if progress is not None:
            progress(n - bounds.left, n)
        if deep is None:
            deep = found > DEEP and is_deep(found, int(((distance >= 0) & (distance <= DEEP)).sum()), n)
            if deep and xp is not numpy and not is_read_in_parts(rows):
                one = _ready(ready, rows, "persistent")
        ahead = sweep.next(distance, found)
        if ahead is not None:
            vertex = ahead
            continue
        if not (deep and is_bounded):
            slow += before - bounds.left < SLOW
        if slow == PATIENCE:
            break
        if bounds.left:
            vertex = bounds.next(largest=largest)
            largest = not largest
    del one
    if searches is None:
        ready.clear()  # for the memory of the batches
    if bounds.left:
        sources = bounds.left
        shared = many.prepare_rows(rows, symmetric=True, sources=sources, memory=memory, split=split)
        while bounds.left:
            some = bounds.most_promising(shared.batch)
            sums = Aggregates.empty(len(some))
            shared.run(some.get() if xp is not numpy else some, sums)
            farthest = max(farthest, int(sums.eccentricity.max()))
            bounds.decide(some, xp.asarray(sums.eccentricity))
            if keep is not None:
                keep(bounds.lower, bounds.upper)
            if progress is not None:
                progress(n - bounds.left, n)
    return bounds, farthest


def _ready(searches: dict[str, Any], rows: EncodedRows, strategy: str) -> Any:
    """Find a search by its strategy, or make and keep it."""
    if strategy not in searches:
        searches[strategy] = single_search(rows, strategy)
    return searches[strategy]


def _bounds_of(xp: Any, row_offsets: Any, goal: str, known: tuple[Any, Any] | None) -> Bounds:
    if xp is numpy:
        return Bounds(xp, row_offsets, goal, known)
    from gravel.kernels.distances.bounds_cuda import BoundsOnDevice

    return BoundsOnDevice(xp, row_offsets, goal, known)


class _Sweep:
    """Searches that lead from one vertex to the middle of a long path, so many times."""

    def __init__(self, bounds: Bounds, rounds: int) -> None:
        self._bounds, self._left = bounds, 3 * rounds
        self._end: tuple[Any, int] = (None, 0)

    def next(self, distance: Any, found: int) -> int | None:
        """Give the vertex to search after one with these distances; None after the last middle."""
        if not self._left:
            return None
        self._left -= 1
        if self._left % 3:
            self._end = distance.copy(), found
            return self._bounds.farthest(distance, found)
        # Of the two searches from the ends, the earlier one is kept.
        end, longest = self._end
        return self._bounds.between(end, longest // 2, distance, longest - longest // 2)
