"""Up to 64 searches in one cooperative launch; see `multi_source.cu`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gravel.kernels.bfs import buffers
from gravel.kernels.bfs.buffers import CHUNK, MAX_SEARCHES
from gravel.kernels.bfs.cuda.kernel_rows import Columns, DecodedRows, kernel_rows
from gravel.kernels.bfs.cuda.labels import tree_bits
from gravel.kernels.bfs.cuda.search import level_directions
from gravel.kernels.bfs.query import Query
from gravel.kernels.bfs.result import BatchResult, BFSResult, check_batch
from gravel.kernels.buffers import make
from gravel.kernels.cuda import event_milliseconds, load, resident_blocks

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows

SOURCE = "kernels/bfs/cuda/multi_source.cu"
BLOCKS = (64, 128, 256, 512)


def _entries(rows: Columns | DecodedRows) -> tuple[int, int]:
    """Count the entries of all rows, and what these weigh."""
    if isinstance(rows, Columns):
        return max(1, rows.vertices + rows.arcs // CHUNK), rows.arcs
    measured = rows.measure()
    return max(1, measured.entries), measured.weight


class MultiSource:
    """Rows made ready: the words of their vertices, the queue and the labels of a batch on the device.

    Parameters
    ----------
    batch : searches that may run at once, 1 to 64; each takes 4 bytes per vertex for distances and 4 or 8 for
        predecessors.
    alpha, beta : on a symmetric graph, go bottom-up when the arcs of all frontiers together, times alpha,
        exceed the graph's, and back when their vertices times beta are fewer than the graph's (beta as in
        Beamer et al., SC 2012; alpha best of 1, 4 and 16 on Kronecker and uniform graphs on an H200). Bytes
        of encoded rows stand for arcs.
    block : threads of a block: 64, 128, 256 or 512.

    Raises ValueError for a batch or a block that cannot be.

    """

    strategy = "multi_source"
    reason = ""

    def __init__(
        self,
        rows: EncodedRows,
        query: Query,
        *,
        batch: int = MAX_SEARCHES,
        alpha: float = 16.0,
        beta: float = 24.0,
        block: int = 256,
    ) -> None:
        import cupy
        import numpy

        started = time.perf_counter()
        if not 1 <= batch <= MAX_SEARCHES:
            raise ValueError(f"batch is {batch}; it can be 1 to {MAX_SEARCHES} searches")
        if block not in BLOCKS:
            raise ValueError(f"block is {block}; it can be {', '.join(map(str, BLOCKS))}")
        self.batch = batch
        self.vertices = n = rows.vertex_count
        tree = tree_bits(n, query)
        hops = query.distance
        self._outputs = hops, bool(tree)
        self._rows = source = kernel_rows(rows)
        entries, weight = _entries(source)
        self._kernel = load(SOURCE, **source.macros, TREE=tree).get_function("search")
        shared = source.lists(block)
        if shared:
            # The limit belongs to the kernel, which searches with other settings share.
            most = max(shared, self._kernel.max_dynamic_shared_size_bytes)
            self._kernel.max_dynamic_shared_size_bytes = most
        self._launch = (resident_blocks(self._kernel, block, shared),), (block,)
        self._shared = shared
        stream = None if isinstance(source, Columns) else 0
        item = source.dtype.itemsize
        size = buffers.Size(n, source.arcs, tree, distance=hops, stream=stream, batch=batch, item=item)
        made = make(buffers.multi_source(size, entries=entries), cupy)
        self._distance, self._predecessor, self._log = (
            made[name] for name in ("distance", "predecessor", "log")
        )
        self._sources = made.pop("sources")
        self._arguments = (
            *source.arguments,
            *made.values(),
            *(numpy.uint64(number) for number in (n, weight, hops, query.symmetric, query.depth)),
            *(numpy.float64(ratio) for ratio in (alpha, beta)),
            self._sources,
        )
        cupy.cuda.Device().synchronize()
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def run(self, source: int) -> BFSResult:
        """Search from one vertex, as a batch of one.

        Raises ValueError for a vertex that does not exist.
        """
        return self.run_many([source]).searches()[0]

    def run_many(self, sources: Sequence[int]) -> BatchResult:
        """Search from several vertices at once; `gravel.kernels.bfs.result.BatchResult` says what comes back.

        Raises ValueError for a vertex that does not exist, for none, and for more than `batch`.
        """
        import numpy

        checked = check_batch(sources, self.batch, self.vertices)
        start = numpy.zeros(MAX_SEARCHES, numpy.int64)
        start[: len(checked)] = checked
        arguments = (*self._arguments, numpy.uint64(len(checked)))

        def work() -> None:
            self._sources.set(start)
            self._kernel(*self._launch, arguments, shared_mem=self._shared)

        milliseconds = event_milliseconds(work)
        distance, predecessor = (
            labels[: len(checked)] if wanted else None
            for labels, wanted in zip((self._distance, self._predecessor), self._outputs, strict=True)
        )
        return BatchResult(checked, distance, predecessor, milliseconds, self._directions())

    def _directions(self) -> tuple[str, ...]:
        levels, changes, *log = self._log.get().tolist()
        return level_directions(levels, log[:changes])
