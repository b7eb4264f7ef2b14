"""Search of deep graphs with several hops between barriers; see `persistent.cu`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from gravel.kernels.bfs.buffers import LONG_ROW, Size, record_width
from gravel.kernels.bfs.buffers import persistent as table
from gravel.kernels.bfs.cuda.cooperative import CooperativeSearch
from gravel.kernels.bfs.cuda.kernel_rows import Columns, kernel_rows
from gravel.kernels.bfs.query import Query
from gravel.kernels.buffers import make
from gravel.kernels.cuda import load, multiprocessors, refuse_block, run_over, shared_bytes

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows

SOURCE = "kernels/bfs/cuda/persistent.cu"
MAX_HOPS = 64  # as in block_group.cuh
MAX_THREADS = 512  # as in persistent.cu
AHEAD = 4
STATIC_SHARED = 1024  # bytes left for the kernel's own shared variables


def prepare(
    rows: EncodedRows,
    query: Query,
    *,
    block: int = 512,
    blocks: int | None = None,
    hops: int = 8,
    calm_hops: int = 24,
    uneven: float = 1.7,
    target: int = 24,
    share: int = 2,
    capacity: int = 256,
    ahead: int | None = None,
    width: int | None = None,
    row_limit: int = 512,
    wide_from: float = 0.25,
    narrow_below: float = 0.25,
    patience: int = 3,
) -> CooperativeSearch:
    """Make rows ready with these constants.

    The defaults are best on USA-road-NE and a grid of 5000 x 5000 on an H200. `symmetric` does not matter.
    The records take `width` columns a vertex. While they are made, encoded rows take 8 bytes a vertex more.

    Parameters
    ----------
    block, blocks : threads of a block, and blocks; one per multiprocessor by default.
    hops : levels between barriers while several blocks are at work, at most 64.
    calm_hops : the same while no block has more than `uneven` times the average.
    uneven : times its target that a block may have before all is dealt anew.
    target : vertices of the frontier that a block is given.
    share : vertices of the frontier that a warp of it is given, while there are enough warps.
    capacity : vertices of the frontier that a warp can hold.
    ahead : hops ahead at which a path that goes straight on is fetched, 0 for none; by default AHEAD if the
        graph is larger than the device's L2.
    width : neighbours that a vertex's record holds, 4 or 8; by default 8 if many vertices have more than 4.
    row_limit : degree above which a frontier vertex makes the whole grid take the level.
    wide_from : share of all capacity above which the whole grid takes the levels one by one.
    narrow_below : share of all targets below which it leaves them to blocks again.
    patience : times that it may do so after a frontier grew too wide.

    """
    import cupy
    import numpy

    started = time.perf_counter()
    refuse_block(block, most=MAX_THREADS)
    for name, number in (("hops", hops), ("calm_hops", calm_hops)):
        if not 1 <= number <= MAX_HOPS:
            raise ValueError(f"{name} is {number}; it can be 1 to {MAX_HOPS}")
    if width not in (None, 4, 8):
        raise ValueError(f"width is {width}; it can be 4 or 8")
    source = kernel_rows(rows)
    vertices, arcs, item = source.vertices, source.arcs, source.dtype.itemsize
    if width is None:
        width = record_width(vertices, arcs)
    entry = (width + 2) * item
    warps = block // 32
    capacity = max(32, min(capacity, (shared_bytes() - STATIC_SHARED) // (2 * entry * warps)))
    target = max(1, min(target, capacity * warps))
    share = max(1, min(share, capacity))
    grid = blocks or multiprocessors()
    if ahead is None:
        touched = vertices * (width + 1) * item
        ahead = AHEAD if touched > cupy.cuda.Device().attributes["L2CacheSize"] else 0

    def buffers(size: Size) -> tuple[Any, ...]:
        first, *rest = table(size, width=width, queued=grid * warps * capacity, blocks=grid)
        records = first.make(cupy)
        # Of columns the offsets are among the arguments.
        counted = () if isinstance(source, Columns) else (source.count(),)
        kernel = load(SOURCE, **source.macros, TREE=size.tree, WIDTH=width).get_function("make_records")
        given = (*source.arguments, *counted, records, numpy.uint64(vertices))
        run_over(kernel, vertices, *given, most=512)
        numbers = (
            arcs // LONG_ROW + 1,
            capacity,
            hops,
            calm_hops,
            target,
            share,
            ahead,
            min(row_limit, capacity * width),
            grid * warps * capacity,
            int(grid * warps * capacity * min(wide_from, 1.0)),
        )
        later = int(max(1, grid * target * narrow_below)), patience
        return (
            records,
            *make(rest, cupy).values(),
            *(numpy.uint64(number) for number in numbers),
            numpy.float64(uneven),
            *(numpy.uint64(number) for number in later),
        )

    search = CooperativeSearch(
        SOURCE,
        source,
        query,
        block=block,
        blocks=grid,
        shared=2 * warps * capacity * entry,
        buffers=buffers,
        macros={"LAYOUT": rows.layout, "WIDTH": width},
    )
    search.prepare_milliseconds = (time.perf_counter() - started) * 1e3
    return search
