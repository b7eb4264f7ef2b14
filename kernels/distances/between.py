"""Distances between two sets of vertices: up to 64 searches at once where that is faster, on a GPU.

There a search of 64 takes half of the time of its searches one by one at Kronecker 22, and less on road
networks. On a CPU thread it takes as long at Kronecker 14 and 16, and twice as long on a grid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.bfs import prepare_rows
from gravel.kernels.layouts.layout import side_of

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows

MOST = 64
"""Searches at once: the bits of a word."""


def batch_that_fits(vertices: int, arcs: int, itemsize: int, searches: int, targets: int, memory: int) -> int:
    """Return how many searches at once fit beside the graph in so many bytes; 0 where not even one does."""
    # Words of two levels, the queue, and its entries of up to 128 arcs; labels, and those of targets.
    fixed = vertices * (16 + itemsize) + (vertices + arcs // 128) * (16 + itemsize) + (1 << 16)
    return max(0, min(MOST, searches, (memory - fixed) // (4 * max(1, vertices + targets))))


def distances_between(
    rows: EncodedRows,
    sources: NDArray[numpy.int64],
    targets: NDArray[numpy.int64],
    *,
    symmetric: bool,
    batch: int,
    into: NDArray[numpy.int32],
) -> None:
    """Fill in the distance from each source to each target, -1 for one that is not reached.

    Parameters
    ----------
    rows : in any layout, whole where they are searched.
    sources, targets : NumPy's; rows and columns of `into`.
    symmetric : whether every arc has its reverse.
    batch : searches at once, 1 to 64.

    """
    from gravel.kernels.arrays import on_host
    from gravel.kernels.placement.device_copies import on_device

    search: Any = prepare_rows(
        rows,
        strategy="multi_source",
        output="distance",
        symmetric=symmetric,
        batch=batch,
    )
    places = on_device(targets) if side_of(rows) == "cuda" else targets
    for first in range(0, len(sources), batch):
        some = sources[first : first + batch].tolist()
        into[first : first + len(some)] = on_host(search.run_many(some).distance[:, places])
