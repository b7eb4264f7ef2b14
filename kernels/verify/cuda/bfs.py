"""The checks of many breadth-first searches on a GPU, in one pass over the rows for each batch of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gravel.kernels.cuda import vertex_macro
from gravel.kernels.verify.cuda.batch import SearchBatch, TooDeep
from gravel.kernels.verify.cuda.blocks import RowBlocks
from gravel.kernels.verify.cuda.launch import BLOCK, Kernels, kind_of, release_pool
from gravel.kernels.verify.cuda.memory import Batch, plan_searches
from gravel.kernels.verify.cuda.offenders import checks_of
from gravel.kernels.verify.cuda.sizes import graph_size, label_size
from gravel.kernels.verify.cuda.upload import Uploads
from gravel.kernels.verify.result import Check

LABELS = ("u8", "u16", "u32")
"""Types of a level in the table, each of twice the bytes of the one before."""


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
    options: dict[str, Any] = {
        "symmetric": symmetric,
        "is_sorted": is_sorted,
        "limit": limit,
        "deepest": n if max_depth is None else max_depth,
        "words": planned.words,
        "block": block,
    }
    with Uploads(threads) as uploads:
        blocks = RowBlocks(row_offsets, column_indices, uploads, arcs=planned.arcs)
        vertex = vertex_macro(column_indices.dtype)
        width, done = 0, 0
        current: SearchBatch | None = None
        while done < len(sources):
            if current is None:
                release_pool()  # what labels that were too narrow have left is of other sizes
                kernels = Kernels("kernels/verify/cuda/rows.cu", block, VERTEX=vertex, LABEL=LABELS[width])
                at_once = min(planned.words * 4 >> width, len(sources))
                current = SearchBatch(kernels, blocks, uploads, at_once, distance, predecessor, **options)
            last = min(done + current.at_once, len(sources))
            try:
                current.load(done, sources[done:last])
            except TooDeep as deep:
                current = None
                while deep.level > _deepest(width):
                    width += 1
                continue
            current.check_rows()
            for place in range(last - done):
                yield checks_of(current, place)
            done = last


def _deepest(width: int) -> int:
    """Return the largest level that a label of a width holds, 0 being that of what was not reached."""
    return int((1 << (8 << width)) - 2)


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
