"""FlexBFS, whose host starts kernels with as many threads as fit the frontier; see `kernels/bfs/flex.cuh`."""

from __future__ import annotations

import time
from typing import Any

from kernels.bfs.cuda.cooperative import LOGGED_LEVELS
from kernels.bfs.cuda.labels import NARROW, Labels
from kernels.bfs.cuda.sliding_queue import COUNTER_WORDS, ROUNDS, check_block, vertex_queue
from kernels.bfs.result import BFSResult
from kernels.cuda import blocks_for, event_milliseconds, load, resident_blocks, vertex_macro

LEVEL_SOURCE, COMBINED_SOURCE = "kernels/bfs/flex_level.cu", "kernels/bfs/flex.cu"
CONFIGURATIONS = ("fixed", "baseline", "config1", "config2", "config3")
PROGRESS_WORDS = 3
ANY = (1 << 63) - 1


def prepare(
    row_offsets: Any,
    column_indices: Any,
    *,
    output: str,
    symmetric: bool,
    max_depth: int | None = None,
    statistics: bool = False,
    configuration: str = "config3",
    fixed_threads: int | None = None,
    grow: int = 4,
    shrink: int = 16,
    hub_degree: int = 64,
    block: int = 256,
    narrow: int = NARROW,
) -> FlexSearch:
    """Make a graph ready; parameters as in `kernels.bfs.prepare`, and these. `symmetric` does not matter.

    The poster states no constant; those here are gravel's.

    Parameters
    ----------
    configuration : a row of its table 1. "fixed" starts a kernel a level, always with `fixed_threads`;
        "baseline" with as many threads as the frontier has vertices; "config1" starts one for many levels;
        "config2" adds a queue in shared memory; "config3" a queue of vertices with many arcs.
    fixed_threads : by default one per vertex of the graph, which suffices for every frontier.
    grow, shrink : the combined kernel goes on while the frontier has at most `grow` vertices per thread and
        at least one per `shrink` threads, so far as another number of threads would fit better.
    hub_degree : arcs beyond which "config3" sets a vertex aside.
    block : threads of a block, a multiple of 32 up to 1024.
    narrow : vertices from which predecessors take 64 bits.

    Raises ValueError for an unknown configuration, an unfit block or a constant below 1.

    """
    check_block(block)
    if configuration not in CONFIGURATIONS:
        raise ValueError(f"configuration is {configuration!r}; there are {', '.join(CONFIGURATIONS)}")
    constants = {"grow": grow, "shrink": shrink, "hub_degree": hub_degree}
    if fixed_threads is not None:
        constants["fixed_threads"] = fixed_threads
    for name, value in constants.items():
        if value < 1:
            raise ValueError(f"{name} is {value}; it must be 1 or more")
    return FlexSearch(
        row_offsets,
        column_indices,
        output=output,
        max_depth=max_depth,
        statistics=statistics,
        configuration=configuration,
        fixed_threads=fixed_threads,
        grow=grow,
        shrink=shrink,
        hub_degree=hub_degree,
        block=block,
        narrow=narrow,
    )


class FlexSearch:
    """A prepared graph; `launches` counts the kernels that the latest search started for its levels."""

    strategy = "flex"
    reason = ""
    launches = 0

    def __init__(
        self,
        row_offsets: Any,
        column_indices: Any,
        *,
        output: str,
        max_depth: int | None,
        statistics: bool,
        configuration: str,
        fixed_threads: int | None,
        grow: int,
        shrink: int,
        hub_degree: int,
        block: int,
        narrow: int,
    ) -> None:
        import cupy
        import numpy

        started = time.perf_counter()
        self.vertices = len(row_offsets) - 1
        self.output = output
        self._max_depth = (1 << 31) - 1 if max_depth is None else max_depth
        self._block, self._grow, self._shrink = block, grow, shrink
        self._combined = configuration.startswith("config")
        self._two_level = configuration in ("config2", "config3")
        self._hub_degree = hub_degree if configuration == "config3" else ANY
        offsets, columns = cupy.ascontiguousarray(row_offsets), cupy.ascontiguousarray(column_indices)
        self._labels = Labels.allocate(self.vertices, output, narrow=narrow)
        module = load(
            COMBINED_SOURCE if self._combined else LEVEL_SOURCE,
            VERTEX=vertex_macro(columns.dtype),
            TREE=self._labels.tree,
        )
        self._begin, self._finish = module.get_function("begin"), module.get_function("finish")
        self._expand = module.get_function("expand_levels" if self._combined else "expand_level")
        self._most_blocks = resident_blocks(self._expand, block)
        self._all = min(resident_blocks(self._begin, block), resident_blocks(self._finish, block))
        self._fixed_blocks = 0
        if configuration == "fixed":
            self._fixed_blocks = blocks_for(fixed_threads or self.vertices, block)
        self._queue, self._counters = vertex_queue(self.vertices, columns.dtype)
        self._logged = numpy.uint64(LOGGED_LEVELS if statistics else 0)
        self._log = cupy.zeros(1 + int(self._logged), cupy.uint64)
        self._progress = cupy.zeros(PROGRESS_WORDS, cupy.uint64)
        labels = self._labels.distance_argument(), self._labels.keys
        self._arguments: tuple[Any, ...] = (offsets, columns, *labels, self._queue)
        if self._combined:
            hubs = len(cupy.flatnonzero(cupy.diff(offsets) > hub_degree)) if configuration == "config3" else 0
            self._arguments += (
                cupy.empty(max(1, hubs), columns.dtype),
                self._counters,
                cupy.zeros(self._most_blocks + 1, cupy.uint64),
                self._progress,
                self._log,
                numpy.uint64(self._max_depth),
                self._logged,
                numpy.uint64(self._two_level),
                numpy.uint64(self._hub_degree),
            )
        else:
            self._arguments += (self._counters, self._log, self._logged)
        # What comes back to the host goes to pinned memory, so that the copy waits for nothing else.
        self._pinned = cupy.cuda.alloc_pinned_memory(8 * PROGRESS_WORDS)
        self._host = numpy.frombuffer(self._pinned, numpy.uint64, PROGRESS_WORDS)
        cupy.cuda.Device().synchronize()
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def run(self, source: int) -> BFSResult:
        """Search from one vertex; the time holds the waits of the host.

        Raises ValueError for a vertex that does not exist.
        """
        if not 0 <= source < self.vertices:
            raise ValueError(f"source {source} is not a vertex; there are {self.vertices}")
        levels = 0

        def search() -> None:
            nonlocal levels
            levels = self._search(source)

        taken = event_milliseconds(search)
        expanded = None
        if self._logged:
            expanded = tuple(int(arcs) for arcs in self._log[1 : 1 + min(levels, int(self._logged))].get())
        distance, predecessor = self._labels.results(self.output)
        return BFSResult(source, distance, predecessor, taken, ("push",) * levels, expanded)

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
        level, first, last, self.launches = 0, 0, 1, 0
        while last > first and level < self._max_depth:
            step = self._levels if self._combined else self._level
            level, first, last = step(level, first, last)
            self.launches += 1
        if labels.tree == 33:
            self._finish(
                (self._all,),
                block,
                (labels.keys, labels.distance_argument(), labels.predecessor_argument(), sizes[0]),
            )
        return level

    def _level(self, level: int, first: int, last: int) -> tuple[int, int, int]:
        """One level: fixed or baseline."""
        import numpy

        blocks = self._fixed_blocks or blocks_for(last - first, self._block)
        numbers = (numpy.uint64(number) for number in (level, first, last))
        self._expand((blocks,), (self._block,), (*self._arguments, *numbers))
        self._fetch(self._counters.data.ptr + level % ROUNDS * COUNTER_WORDS * 8, 1)
        return level + 1, last, last + int(self._host[0])

    def _levels(self, level: int, first: int, last: int) -> tuple[int, int, int]:
        """As many levels as this number of blocks fits."""
        import numpy

        blocks = min(blocks_for(last - first, self._block), self._most_blocks)
        threads = blocks * self._block
        least = 0 if blocks == 1 else threads // self._shrink
        most = ANY if blocks == self._most_blocks else threads * self._grow
        numbers = (numpy.uint64(number) for number in (level, first, last, least, most))
        self._expand((blocks,), (self._block,), (*self._arguments, *numbers))
        self._fetch(self._progress.data.ptr, PROGRESS_WORDS)
        return int(self._host[0]), int(self._host[1]), int(self._host[2])

    def _fetch(self, address: int, words: int) -> None:
        """Copy words from the device and wait for them."""
        import cupy

        stream = cupy.cuda.get_current_stream()
        cupy.cuda.runtime.memcpyAsync(
            self._pinned.ptr, address, 8 * words, cupy.cuda.runtime.memcpyDeviceToHost, stream.ptr
        )
        stream.synchronize()
