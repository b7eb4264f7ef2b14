"""The checks of many breadth-first searches on a GPU, in one pass over the rows for each batch of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gravel.kernels.cuda import vertex_macro
from gravel.kernels.verify.cuda.batch import SearchBatch, TooDeep
from gravel.kernels.verify.cuda.blocks import RowBlocks
from gravel.kernels.verify.cuda.launch import BLOCK, kind_of, release_pool
from gravel.kernels.verify.cuda.memory import Batch, plan_searches
from gravel.kernels.verify.cuda.offenders import checks_of
from gravel.kernels.verify.cuda.sizes import graph_size, label_size
from gravel.kernels.verify.cuda.table import Asked, LabelTable
from gravel.kernels.verify.cuda.upload import Uploads
from gravel.kernels.verify.result import Check


def check_searches(
    row_offsets: Any,
    column_indices: Any,
    sources: Sequence[int],
    distance: Any = None,
    predecessor: Any = None,
    *,
    symmetric: bool,
    max_depth: int | None = None,
    is_sorted: bool = True,
    room: int,
    threads: int = 4,
    block: int = BLOCK,
    batch: Batch | None = None,
) -> Iterator[list[Check]]:
    """Check searches; yields, in order, what `gravel.kernels.verify.check_bfs` returns for each.

    Arrays may be NumPy's, CuPy's or stored ones. Raises ValueError as `check_bfs` does, and MemoryError with
    the numbers where not even four searches fit `room`.

    Parameters
    ----------
    distance, predecessor : integers (searches, vertices), or None for one of them.
    room : bytes of device memory that all this may take, beside arrays that are there already.
    threads : of the host, which read and send what is not on the device.
    batch : what `gravel.kernels.verify.cuda.memory.plan_searches` chose; chosen here by default.

    """
    n = len(row_offsets) - 1
    sources = [int(source) for source in sources]
    _refuse_others(n, sources, distance, predecessor)
    graph = graph_size(row_offsets, column_indices)
    labels = label_size(len(sources), distance, predecessor)
    planned = plan_searches(graph, labels, symmetric, room) if batch is None else batch
    if planned is None:
        least = plan_searches(graph, labels, symmetric, 1 << 62)
        needed = f"{least.device_bytes:,} bytes at best" if least else "fewer vertices"
        raise MemoryError(f"verification on the GPU needs {needed}, and {room:,} are free")
    limit = n - 1 if max_depth is None else max_depth
    asked = Asked(symmetric, is_sorted, limit, deepest=n if max_depth is None else max_depth)
    tree = predecessor is not None
    with Uploads(threads) as uploads:
        blocks = RowBlocks(row_offsets, column_indices, uploads, arcs=planned.arcs)
        vertex, width, done = vertex_macro(column_indices.dtype), 0, 0
        current: SearchBatch | None = None
        table: LabelTable | None = None
        while done < len(sources):
            if current is None:
                table = LabelTable(vertex, width, planned.words, block, n, asked, tree=tree)
                at_once = min(table.searches, len(sources))
                current = SearchBatch(table, blocks, uploads, at_once, distance, predecessor, asked, block)
            last = min(done + current.at_once, len(sources))
            try:
                current.load(done, sources[done:last])
            except TooDeep as deep:
                width = next(each for each in range(3) if deep.level <= (1 << (8 << each)) - 2)
                current = table = None
            if current is None:
                release_pool()  # what labels that were too narrow have left is of other sizes
                continue
            current.check_rows()
            for place in range(last - done):
                yield checks_of(current, place)
            done = last


def _refuse_others(n: int, sources: Sequence[int], distance: Any, predecessor: Any) -> None:
    if distance is None and predecessor is None:
        raise ValueError("there is neither a distance nor a predecessor to check")
    for name, array in (("distance", distance), ("predecessor", predecessor)):
        if array is None:
            continue
        kind_of(array.dtype)
        if tuple(array.shape) != (len(sources), n):
            shape = tuple(array.shape)[1:]
            raise ValueError(f"{name} has shape {shape}; the graph has {n} vertices")
    for source in sources:
        if not 0 <= source < n:
            raise ValueError(f"source {source} is not in the graph, which has {n} vertices")
