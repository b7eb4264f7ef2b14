"""FlexBFS, whose host starts kernels with as many threads as fit the frontier; see `flex.cuh`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from gravel.kernels.bfs.buffers import LOGGED_LEVELS, Size
from gravel.kernels.bfs.cuda.cooperative import longer
from gravel.kernels.bfs.cuda.labels import Labels
from gravel.kernels.bfs.query import Query, check_source
from gravel.kernels.bfs.result import BFSResult
from gravel.kernels.buffers import make
from gravel.kernels.cuda import (
    blocks_for,
    event_milliseconds,
    load,
    refuse_block,
    resident_blocks,
    vertex_macro,
)
from gravel.kernels.papers import buffers
from gravel.kernels.papers.buffers import COUNTER_WORDS, FLEX_PROGRESS, HUB_DEGREE, ROUNDS

LEVEL_SOURCE, COMBINED_SOURCE = "kernels/papers/flexbfs/flex_level.cu", "kernels/papers/flexbfs/flex.cu"
CONFIGURATIONS = ("fixed", "baseline", "config1", "config2", "config3")
ANY = (1 << 63) - 1


class PackedKernel:
    """A kernel with its arguments in place; all are device arrays or unsigned 64-bit integers.

    CuPy packs arguments anew for every launch, which takes longer than a small level of a search.

    Parameters
    ----------
    kernel : of a `cupy.RawModule`, on the current device.
    arguments : those that never change; the last `changing` ones are given at each launch.
    cooperative : whether all blocks must run at the same time.

    """

    def __init__(self, kernel: Any, arguments: Sequence[Any], changing: int, *, cooperative: bool) -> None:
        import numpy

        fixed = [argument if isinstance(argument, int) else argument.data.ptr for argument in arguments]
        self._kept = kernel, arguments
        self._function = kernel.kernel.ptr
        self._cooperative = cooperative
        self._values = numpy.array([*fixed, *([0] * changing)], numpy.uint64)
        self._changing = self._values[len(fixed) :]
        first = self._values.ctypes.data
        self._addresses = numpy.arange(first, first + self._values.nbytes, 8, dtype=numpy.uint64)
        self._packed = self._addresses.ctypes.data

    def launch(self, blocks: int, block: int, numbers: Sequence[int]) -> None:
        """Start `blocks` blocks of `block` threads on the current stream."""
        import cupy
        from cupy_backends.cuda.api import driver

        self._changing[:] = numbers
        sizes = blocks, 1, 1, block, 1, 1, 0
        stream = cupy.cuda.get_current_stream().ptr
        if self._cooperative:
            driver.launchCooperativeKernel(self._function, *sizes, stream, self._packed)
        else:
            driver.launchKernel(self._function, *sizes, stream, self._packed, 0)


class FlexSearch:
    """A graph made ready.

    `launches` are the threads of each kernel that the latest search started. The poster states no constant;
    those here are gravel's, chosen on an H200.

    Parameters
    ----------
    configuration : a row of its table 1. "fixed" starts a kernel a level, always with `fixed_threads`;
        "baseline" with as many threads as the frontier has vertices; "config1" starts one for many levels;
        "config2" adds a queue in shared memory; "config3" a queue of vertices with many arcs.
    fixed_threads : by default one per vertex of the graph, which suffices for every frontier.
    headroom, shrink : a combined kernel starts with `headroom` threads per vertex of the frontier, and goes
        on until there are more vertices than threads, or fewer than one for `shrink` threads.
    hub_degree : arcs beyond which "config3" sets a vertex aside.
    hub_share : arcs of such vertices per thread beyond which they wait for a launch that fills the device.
    block : threads of a block, a multiple of 32 up to 1024.

    Raises ValueError for an unknown configuration, an unfit block or a constant below 1.

    """

    strategy = "flex"
    reason = ""
    launches: tuple[int, ...] = ()

    def __init__(
        self,
        row_offsets: Any,
        column_indices: Any,
        query: Query,
        *,
        configuration: str = "config3",
        fixed_threads: int | None = None,
        headroom: int = 8,
        shrink: int = 64,
        hub_degree: int = HUB_DEGREE,
        hub_share: int = 16,
        block: int = 256,
    ) -> None:
        refuse_block(block)
        if configuration not in CONFIGURATIONS:
            raise ValueError(f"configuration is {configuration!r}; there are {', '.join(CONFIGURATIONS)}")
        constants = {"headroom": headroom, "shrink": shrink, "hub_degree": hub_degree, "hub_share": hub_share}
        for name, value in (constants | {"fixed_threads": fixed_threads}).items():
            if value is not None and value < 1:
                raise ValueError(f"{name} is {value}; it must be 1 or more")
        import cupy
        import numpy

        started = time.perf_counter()
        self.vertices = len(row_offsets) - 1
        self._query, self._block = query, block
        self._headroom, self._shrink, self._hub_share = headroom, shrink, hub_share
        self._combined = configuration.startswith("config")
        offsets, columns = cupy.ascontiguousarray(row_offsets), cupy.ascontiguousarray(column_indices)
        self._labels = Labels.allocate(self.vertices, query)
        module = load(
            COMBINED_SOURCE if self._combined else LEVEL_SOURCE,
            VERTEX=vertex_macro(columns.dtype),
            TREE=self._labels.tree,
        )
        self._begin, self._finish = module.get_function("begin"), module.get_function("finish")
        expand = module.get_function("expand_levels" if self._combined else "expand_level")
        self._most_blocks = resident_blocks(expand, block)
        self._all = min(resident_blocks(self._begin, block), resident_blocks(self._finish, block))
        self._fixed_blocks = self._blocks = 0
        if configuration == "fixed":
            self._fixed_blocks = blocks_for(fixed_threads or self.vertices, block)
        size = Size(self.vertices, len(columns), self._labels.tree, item=columns.dtype.itemsize)
        made = make(buffers.vertex_queue(size, words=FLEX_PROGRESS), cupy)
        self._queue, self._counters, self._progress = made.values()
        self.decided = {"fixed_threads": self._fixed_blocks * block or None}
        labels = self._labels.distance_argument(), self._labels.keys
        self._tables = [offsets, columns, *labels, self._queue, self._counters]
        arguments: list[Any] = []
        if self._combined:
            aside = configuration == "config3"
            hubs = len(cupy.flatnonzero(cupy.diff(offsets) > hub_degree)) if aside else 0
            arguments += [
                *make(buffers.flex(size, hubs=hubs, blocks=self._most_blocks), cupy).values(),
                self._progress,
                query.depth,
                int(configuration != "config1"),
                hub_degree if aside else ANY,
            ]
        self._expand_kernel, self._more = expand, arguments
        self._allocate_log(LOGGED_LEVELS if query.statistics else 0)
        # What comes back to the host goes to pinned memory, so that the copy waits for nothing else.
        self._pinned = cupy.cuda.alloc_pinned_memory(8 * FLEX_PROGRESS)
        self._host = numpy.frombuffer(self._pinned, numpy.uint64, FLEX_PROGRESS)
        cupy.cuda.Device().synchronize()
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def _allocate_log(self, levels: int) -> None:
        import cupy
        import numpy

        self._logged, self._log = numpy.uint64(levels), cupy.zeros(1 + levels, cupy.uint64)
        arguments = [*self._tables, self._log, levels, *self._more]
        changing = 7 if self._combined else 3
        self._expand = PackedKernel(self._expand_kernel, arguments, changing, cooperative=self._combined)

    def run(self, source: int) -> BFSResult:
        """Search from one vertex; the time holds the waits of the host.

        Raises ValueError for a vertex that does not exist.
        """
        check_source(source, self.vertices)
        levels = 0

        def search() -> None:
            nonlocal levels
            levels = self._search(source)

        milliseconds = event_milliseconds(search)
        expanded = None
        if 0 < self._logged < levels:
            self._allocate_log(longer(levels))
            return self.run(source)
        if self._logged:
            expanded = tuple(int(arcs) for arcs in self._log[1 : 1 + levels].get())
        labels = self._query.wanted(self._labels.distance, self._labels.predecessor)
        ways = ("push",) * levels
        return BFSResult(source, *labels, milliseconds, ways, expanded, launches=self.launches)

    def _search(self, source: int) -> int:
        """Start kernels until the frontier is empty; returns the number of levels."""
        import numpy

        labels = self._labels
        sizes = numpy.uint64(self.vertices), self._logged, numpy.uint64(source)
        block = (self._block,)
        self._begin(
            (self._all,),
            block,
            (labels.distance_argument(), labels.keys, self._queue, self._counters, self._log, *sizes),
        )
        level, first, last, waiting = 0, 0, 1, 0
        started: list[int] = []
        while last > first and level < self._query.depth:
            if self._combined:
                level, first, last, waiting = self._levels(level, first, last, waiting)
            else:
                level, first, last = self._level(level, first, last)
            started.append(self._blocks * self._block)
        self.launches = tuple(started)
        if labels.tree == 33:
            self._finish(
                (self._all,),
                block,
                (labels.keys, labels.distance_argument(), labels.predecessor_argument(), sizes[0]),
            )
        return level

    def _level(self, level: int, first: int, last: int) -> tuple[int, int, int]:
        """One level: fixed or baseline."""
        blocks = self._fixed_blocks or blocks_for(last - first, self._block)
        self._blocks = blocks
        self._expand.launch(blocks, self._block, (level, first, last))
        self._fetch(self._counters.data.ptr + level % ROUNDS * COUNTER_WORDS * 8, 1)
        return level + 1, last, last + int(self._host[0])

    def _levels(self, level: int, first: int, last: int, waiting: int) -> tuple[int, int, int, int]:
        """As many levels as one number of blocks fits; `waiting` if hubs of the first are still set aside."""
        wanted = blocks_for((last - first) * self._headroom, self._block)
        blocks = self._most_blocks if waiting else min(wanted, self._most_blocks)
        threads = blocks * self._block
        least = 0 if blocks == 1 else threads // self._shrink
        most, hub_arcs = (ANY, ANY) if blocks == self._most_blocks else (threads, threads * self._hub_share)
        self._blocks = blocks
        self._expand.launch(blocks, self._block, (level, first, last, least, most, hub_arcs, waiting))
        self._fetch(self._progress.data.ptr, FLEX_PROGRESS)
        level, first, last, waiting = self._host.tolist()
        return level, first, last, waiting

    def _fetch(self, address: int, words: int) -> None:
        """Copy words from the device and wait for them."""
        import cupy

        stream = cupy.cuda.get_current_stream()
        cupy.cuda.runtime.memcpyAsync(
            self._pinned.ptr, address, 8 * words, cupy.cuda.runtime.memcpyDeviceToHost, stream.ptr
        )
        stream.synchronize()
