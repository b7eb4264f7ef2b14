"""A search that is one cooperative launch, with the level loop on the device: what its strategies share."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from gravel.kernels.bfs import buffers as tables
from gravel.kernels.bfs.buffers import LOGGED_LEVELS, Size
from gravel.kernels.bfs.cuda.kernel_rows import Columns, DecodedRows
from gravel.kernels.bfs.cuda.labels import Labels
from gravel.kernels.bfs.query import Query, check_source
from gravel.kernels.bfs.result import BFSResult
from gravel.kernels.buffers import make
from gravel.kernels.cuda import event_milliseconds, load, resident_blocks


def longer(levels: int) -> int:
    """Give the room of a log for a search of so many levels, and for somewhat deeper ones."""
    return 1 << (levels - 1).bit_length()


class CooperativeSearch:
    """A prepared graph for a kernel `search` of a `.cu` file; every allocation is done here.

    The kernel takes, in this order: what its rows are (of columns row_offsets i64 and columns VERTEX),
    distance i32, keys u64, predecessor i64 (see `labels.cuh`), the strategy's own buffers and
    numbers, then log u64, arrivals u64 (see `kernels/cuda/grid_barrier.cuh`), vertices u64, max_depth u64,
    logged u64 and source u64. It writes the number of levels to log[0] and, if `logged` is not 0, the arcs
    that level i gathered to log[1 + min(i, logged - 1)]; it zeroes what it adds to.

    Parameters
    ----------
    path : of the `.cu` file, whose name is the strategy's; its macros are VERTEX, TREE and those in `macros`.
    rows : what the kernel reads.
    asked : of which `symmetric` does not matter, since rows are read in the direction of arcs alone.
    buffers : makes the strategy's own arguments by the tables of `gravel.kernels.bfs.buffers`.
    block : threads of a block; `shared` : bytes of dynamic shared memory of a block.
    blocks : the grid, at most what runs at the same time; None fills the device.

    """

    reason = ""
    decided: Mapping[str, Any] = {}
    """Constants that were left to the strategy, as it decided them."""

    def __init__(
        self,
        path: str,
        rows: Columns | DecodedRows,
        query: Query,
        *,
        block: int,
        buffers: Callable[[Size], Sequence[Any]],
        macros: Mapping[str, object] | None = None,
        blocks: int | None = None,
        shared: int = 0,
    ) -> None:
        import cupy
        import numpy

        started = time.perf_counter()
        self.strategy = PurePath(path).stem
        self._rows = rows  # which keeps the arrays alive
        self.vertices = rows.vertices
        self._query = query
        self._labels = Labels.allocate(self.vertices, query)
        given = {**(macros or {}), "VERTEX": rows.macros["VERTEX"], "TREE": self._labels.tree}
        self._kernel = load(path, **given).get_function("search")
        if shared:
            # The limit belongs to the kernel, which searches with other settings share.
            most = max(shared, self._kernel.max_dynamic_shared_size_bytes)
            self._kernel.max_dynamic_shared_size_bytes = most
        grid = resident_blocks(self._kernel, block, shared)
        self.blocks = min(grid, blocks or grid)
        self._launch = (self.blocks,), (block,), shared
        self._allocate_log(LOGGED_LEVELS if query.statistics else 0)
        self._tables = (
            *rows.arguments,
            self._labels.distance_argument(),
            self._labels.keys,
            self._labels.predecessor_argument(),
            *buffers(Size(self.vertices, rows.arcs, self._labels.tree, item=rows.dtype.itemsize)),
        )
        self._numbers = numpy.uint64(self.vertices), numpy.uint64(query.depth)
        cupy.cuda.Device().synchronize()
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def _allocate_log(self, levels: int) -> None:
        import cupy

        self._logged = levels
        self._log, self._arrivals = make(tables.cooperative(levels), cupy).values()

    def run(self, source: int) -> BFSResult:
        """Search from one vertex.

        Raises ValueError for a vertex that does not exist.
        """
        import numpy

        check_source(source, self.vertices)
        last = numpy.uint64(self._logged), numpy.uint64(source)
        arguments = (*self._tables, self._log, self._arrivals, *self._numbers, *last)
        grid, block, shared = self._launch
        milliseconds = event_milliseconds(lambda: self._kernel(grid, block, arguments, shared_mem=shared))
        log = self._log.get()
        levels = int(log[0])
        if 0 < self._logged < levels:
            self._allocate_log(longer(levels))
            return self.run(source)
        expanded = tuple(int(arcs) for arcs in log[1 : 1 + levels]) if self._logged else None
        labels = self._query.wanted(self._labels.distance, self._labels.predecessor)
        return BFSResult(source, *labels, milliseconds, ("push",) * levels, expanded)
