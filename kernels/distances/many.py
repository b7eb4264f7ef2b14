"""Searches from any number of sources whose results are sums: batches that share what they read.

    from gravel.kernels.distances.many import aggregate

    found = aggregate(row_offsets, column_indices, sources, symmetric=True)
    closeness = (found.reached - 1) / found.total

`prepare_rows` and `aggregate_rows` take rows in any layout, which a GPU decodes where it reads them.

On shallow graphs a batch has a bit for each source in a row of words per vertex; on deep ones, such as road
networks, a search of its own for each source. A search from the vertex of most arcs finds out which it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.distances.aggregates import Aggregates
from gravel.kernels.distances.in_step import in_step_of_rows
from gravel.kernels.distances.interface import Batches, Searches
from gravel.kernels.layouts.layout import columns_as_rows, side_of
from gravel.kernels.placement.plan import BUFFER_BYTES, BUFFERS

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows

NO_DEPTH, NO_LIMIT = (1 << 31) - 1, 1 << 62

Progress = Callable[[int, int], None]
"""Gets the sources that are done and how many there are."""


def prepare(
    row_offsets: Any, column_indices: Any, *, symmetric: bool, sources: int, **options: Any
) -> Searches:
    """Make a CSR graph ready; see `prepare_rows` for the options.

    `row_offsets` are int64 (vertices + 1,) and `column_indices` uint32 or uint64 (arcs,), NumPy's or CuPy's.
    The neighbours of a vertex may be in any order.
    """
    rows = columns_as_rows(row_offsets, column_indices)
    return prepare_rows(rows, symmetric=symmetric, sources=sources, **options)


def prepare_rows(
    rows: EncodedRows,
    *,
    symmetric: bool,
    sources: int,
    max_depth: int | None = None,
    levels: int = 0,
    vertices: bool = False,
    batch: int | None = None,
    memory: int | None = None,
    independent: bool | None = None,
    split: bool = False,
    buffer_bytes: int = BUFFER_BYTES,
    buffers: int = BUFFERS,
) -> Searches:
    """Make rows ready as they are stored; all memory is allocated here.

    Parameters
    ----------
    rows : a square graph in one of `gravel.kernels.layouts.LAYOUTS`, searched where its arrays are. On a CPU
        the layout must be `csr`. On a GPU, columns or a stream that are no CuPy array are read in parts.
    symmetric : whether every arc has its reverse. Other graphs are searched along their arcs, without pulls.
    sources : how many will be searched from, which the width of a batch depends on.
    max_depth : do not search beyond this distance.
    levels : distances below which vertices are counted, for each source.
    vertices : whether sums are wanted for each vertex over the sources as well.
    batch : the most sources in one run; chosen by default.
    memory : bytes that a run may take beside the graph; by default what is free on a GPU, any on a CPU.
    independent : whether each source gets a search of its own; by default where the graph is deep and its
        rows are not read in parts.
    split : copy to a GPU what fits there, beside a batch, of columns or a stream in pinned host memory.
    buffer_bytes, buffers : through which a GPU reads rows in parts; they get a quarter of `memory` at most.

    Raises `TooNarrow`, with the numbers, where the narrowest batch does not fit, and ValueError for encoded
    rows on a CPU or for rows in parts that are to be searched from each source alone.

    """
    if sources < 1:
        raise ValueError("there are no sources")
    if max_depth is not None and max_depth < 0:
        raise ValueError(f"max_depth is {max_depth}; it must be 0 or more")
    if batch is not None and batch < 1:
        raise ValueError(f"batch is {batch}; it must be 1 or more")
    max_depth = NO_DEPTH if max_depth is None else min(max_depth, NO_DEPTH)
    most = sources if batch is None else min(sources, batch)
    on_gpu = side_of(rows) == "cuda"
    if on_gpu:
        from gravel.kernels.distances.many_cuda import prepare as prepare_on_gpu
        from gravel.kernels.distances.many_cuda import usable_bytes

        memory = usable_bytes() if memory is None else memory
    batches = Batches(symmetric, most, max_depth, levels, vertices, NO_LIMIT if memory is None else memory)
    if on_gpu:
        return prepare_on_gpu(
            rows,
            batches,
            chosen=batch is None,
            independent=independent,
            split=split,
            buffer_bytes=buffer_bytes,
            buffers=buffers,
        )
    from gravel.kernels.distances.many_cpu import prepare as prepare_on_cpu

    if rows.layout != "csr":
        raise ValueError(
            f"searches from many sources on a CPU read columns, and these rows are {rows.layout}; "
            "decode them (gravel.kernels.layouts.decode)"
        )
    return prepare_on_cpu(rows.arrays["row_offsets"], rows.arrays["column_indices"], batches, independent)


def aggregate(
    row_offsets: Any, column_indices: Any, sources: Any, *, symmetric: bool, **options: Any
) -> Aggregates:
    """Search a CSR graph from all sources; see `aggregate_rows`, and `prepare_rows` for the options."""
    rows = columns_as_rows(row_offsets, column_indices)
    return aggregate_rows(rows, sources, symmetric=symmetric, **options)


def aggregate_rows(
    rows: EncodedRows,
    sources: Any,
    *,
    symmetric: bool,
    progress: Progress | None = None,
    levels: int = 0,
    vertices: bool = False,
    **options: Any,
) -> Aggregates:
    """Search from all sources, batch by batch; see `prepare_rows` for the options.

    Without sources nothing is searched. Raises ValueError for a source that is no vertex.
    """
    starts = checked(sources, rows.vertex_count)
    found = Aggregates.empty(len(starts), levels)
    if not len(starts):
        return found
    order = in_step_of_rows(rows, starts) if symmetric else None
    searches = prepare_rows(
        rows,
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
