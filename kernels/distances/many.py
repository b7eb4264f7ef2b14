"""Searches from any number of sources whose results are sums: batches that share what they read.

    from gravel.kernels.distances.many import aggregate

    found = aggregate(row_offsets, column_indices, sources, symmetric=True)
    closeness = (found.reached - 1) / found.total

On shallow graphs a batch has a bit for each source in a row of words per vertex; on deep ones, such as road
networks, a search of its own for each source. A search from the vertex of most arcs finds out which it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.arrays import backend_of
from gravel.kernels.distances.aggregates import Aggregates
from gravel.kernels.distances.in_step import in_step
from gravel.kernels.distances.interface import Searches

NO_LIMIT = (1 << 31) - 1

Progress = Callable[[int, int], None]
"""Gets the sources that are done and how many there are."""


def prepare(
    row_offsets: Any,
    column_indices: Any,
    *,
    symmetric: bool,
    sources: int,
    max_depth: int | None = None,
    levels: int = 0,
    vertices: bool = False,
    batch: int | None = None,
    memory: int | None = None,
    independent: bool | None = None,
) -> Searches:
    """Make a CSR graph ready; all memory is allocated here.

    Parameters
    ----------
    row_offsets, column_indices : int64 (vertices + 1,) and uint32 or uint64 (arcs,), NumPy's or CuPy's. The
        neighbours of a vertex may be in any order.
    symmetric : whether every arc has its reverse. Other graphs are searched along their arcs, without pulls.
    sources : how many will be searched from, which the width of a batch depends on.
    max_depth : do not search beyond this distance.
    levels : distances below which vertices are counted, for each source.
    vertices : whether sums are wanted for each vertex over the sources as well.
    batch : the most sources in one run; chosen by default.
    memory : bytes that a run may take beside the graph; by default what is free on a GPU, any on a CPU.
    independent : whether each source gets a search of its own; by default where the graph is deep.

    Raises `TooNarrow`, with the numbers, where the narrowest batch does not fit.

    """
    if sources < 1:
        raise ValueError("there are no sources")
    if max_depth is not None and max_depth < 0:
        raise ValueError(f"max_depth is {max_depth}; it must be 0 or more")
    if batch is not None and batch < 1:
        raise ValueError(f"batch is {batch}; it must be 1 or more")
    if backend_of(row_offsets) == "cuda":
        from gravel.kernels.distances.many_cuda import prepare as prepare_there
    else:
        from gravel.kernels.distances.many_cpu import prepare as prepare_there
    return prepare_there(
        row_offsets,
        column_indices,
        symmetric=symmetric,
        sources=sources,
        max_depth=NO_LIMIT if max_depth is None else min(max_depth, NO_LIMIT),
        levels=levels,
        vertices=vertices,
        batch=batch,
        memory=memory,
        independent=independent,
    )


def aggregate(
    row_offsets: Any,
    column_indices: Any,
    sources: Any,
    *,
    symmetric: bool,
    progress: Progress | None = None,
    levels: int = 0,
    vertices: bool = False,
    **options: Any,
) -> Aggregates:
    """Search from all sources, batch by batch; see `prepare` for the options.

    Without sources nothing is searched. Raises ValueError for a source that is no vertex.
    """
    starts = checked(sources, len(row_offsets) - 1)
    found = Aggregates.empty(len(starts), levels)
    if not len(starts):
        return found
    order = in_step(row_offsets, column_indices, starts) if symmetric else None
    searches = prepare(
        row_offsets,
        column_indices,
        symmetric=symmetric,
        sources=len(starts),
        levels=levels,
        vertices=vertices,
        **options,
    )
    run_all(searches, starts if order is None else starts[order], found, progress)
    if order is not None:
        found = found.back(order)
    return found if not vertices else Aggregates(**vars(found) | {"vertices": searches.vertices()})


def run_all(
    searches: Searches, sources: NDArray[numpy.int64], into: Aggregates, progress: Progress | None = None
) -> None:
    """Search from all sources in as few batches as fit, and fill in their results."""
    for first in range(0, len(sources), searches.batch):
        last = min(first + searches.batch, len(sources))
        searches.run(sources[first:last], into.part(first, last))
        if progress is not None:
            progress(last, len(sources))


def checked(sources: Any, vertices: int) -> NDArray[numpy.int64]:
    """Return the sources as an array; raises ValueError for one that is no vertex."""
    found = numpy.atleast_1d(numpy.asarray(sources, numpy.int64))
    outside = found[(found < 0) | (found >= vertices)]
    if len(outside):
        raise ValueError(f"there is no vertex {int(outside[0])}; the graph has {vertices:,}")
    return found
