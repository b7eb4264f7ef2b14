"""Whether the bottom-up levels of a graph read long rows far in vain; see `deferred_rows.cu`.

A bottom-up level reads a row until it meets a visited neighbour. A warp that comes far in a long row keeps
the grid waiting, so such rows may be put off and read by whole blocks. That searches cnr-2000, a crawl,
five times as fast on an H200, and costs 4 to 6 % where no row is put off, as on Kronecker graphs and
uniform ones.

What a graph needs shows in one level, in which the vertex of most arcs and its neighbours have been visited
and every long row is read as far as a thread reads it alone. Where long rows are hubs of one crowd, as on
Kronecker graphs, each meets a neighbour of the largest there, in any order of the vertices: within 6 arcs
of 258 and more at scales 16 to 18. Where they have places of their own, as the sites of a crawl, or are in
another component, they do not: 77 of the 89 long rows of cnr-2000. A simulation of 16 searches each agrees,
in crawl, degree and random order: they put off 143 to 179 rows of cnr-2000 in the median, on Kronecker
graphs none at all.

The count decides about time alone. It may miss rows that share neighbours which searches reach late.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gravel.kernels.cuda import load, run_over, vertex_macro

SOURCE = "kernels/bfs/cuda/deferred_rows.cu"
MAX_BLOCKS = 1 << 11
ALONE, WHOLE_BLOCK = 256, 2048  # arcs of a row, as in pull_columns.cuh


@dataclass(frozen=True)
class DeferredRows:
    """How many rows have `least` arcs, so that they may be put off, and how many of them would be."""

    least: int
    long: int
    far: int

    def reason(self) -> str:
        """Say what the counts mean for a search."""
        if not self.long:
            return f"no row has {self.least:,} arcs"
        return (
            f"{self.far:,} of {self.long:,} rows of {self.least:,} arcs and more meet no neighbour of the"
            f" largest among their first {self.least - WHOLE_BLOCK:,}"
        )


def find_deferred_rows(row_offsets: Any, column_indices: Any, rows: Any, *, kept: int) -> DeferredRows:
    """Count the rows that would be put off.

    Parameters
    ----------
    row_offsets : int64 (vertices + 1,) on the device.
    column_indices : uint32 or uint64 (arcs,) on the device, ascending in each row.
    rows : int64, vertices among which all long rows are.
    kept : first neighbours of a vertex that are looked at before its row.

    """
    import cupy
    import numpy

    least = kept + ALONE + WHOLE_BLOCK
    if not len(rows):
        return DeferredRows(least, 0, 0)
    module = load(SOURCE, VERTEX=vertex_macro(column_indices.dtype))
    counts = cupy.zeros(3, cupy.uint64)
    listed = rows, numpy.uint64(len(rows))
    find_largest = module.get_function("find_largest")
    run_over(find_largest, len(rows), row_offsets, *listed, counts[2:], most=MAX_BLOCKS)
    sizes = numpy.uint64(least), numpy.uint64(kept + ALONE)
    arguments = row_offsets, column_indices, *listed, *sizes, counts[2:], counts[:2]
    run_over(module.get_function("count_far"), len(rows) * 32, *arguments, most=MAX_BLOCKS)
    long, far, _ = (int(count) for count in counts.get())
    return DeferredRows(least, long, far)
