"""What searches of rows in host memory share, whether these are columns or encoded."""

from __future__ import annotations

from typing import Any

from gravel.kernels.bfs.cuda.cooperative import longer
from gravel.kernels.bfs.cuda.labels import Labels
from gravel.kernels.bfs.result import BFSResult
from gravel.kernels.cuda import event_milliseconds, resident_blocks

CONTROL_WORDS = 4 * 32  # four copies of host_rows.cuh's
LOG_FIRST = 3  # as in host_rows.cu
LOGGED_LEVELS = 1 << 16
"""Levels that a log has room for at first; a search with more is repeated with a longer one."""


def in_host_memory(array: Any) -> bool:
    """Whether a CuPy array is a view of pinned host memory."""
    import cupy

    if not array.size:
        return False
    runtime = cupy.cuda.runtime
    return bool(runtime.pointerGetAttributes(array.data.ptr).type == runtime.memoryTypeHost)


def resident_grid(kernel: Any, block: int, blocks_per_processor: int | None) -> int:
    """Blocks that run at the same time, at most so many on a multiprocessor."""
    import cupy

    grid = resident_blocks(kernel, block)
    if blocks_per_processor is None:
        return grid
    processors = int(cupy.cuda.Device().attributes["MultiProcessorCount"])
    return min(grid, processors * max(1, blocks_per_processor))


class HostSearch:
    """A prepared graph; who derives from it allocates everything, and sets what is declared here."""

    strategy = "host_rows"
    reason = ""
    prepare_milliseconds = 0.0
    vertices: int
    output: str
    kept_bytes: int
    _labels: Labels
    _kernel: Any
    _launch: tuple[tuple[int], tuple[int]]
    _tables: tuple[Any, ...]  # of the kernel's arguments, those before the log,
    _numbers: tuple[Any, ...]  # and those behind it
    _line_bytes: int
    _over_link: bool

    def _allocate_log(self, levels: int) -> None:
        import cupy

        self._logged = levels
        self._log = cupy.zeros(LOG_FIRST + levels, cupy.uint64)

    def run(self, source: int) -> BFSResult:
        """Search from one vertex; `link_bytes` counts the lines that came out of host memory.

        A line that two parts of encoded rows share is counted once, and comes twice. Raises ValueError for
        a vertex that does not exist.
        """
        import numpy

        if not 0 <= source < self.vertices:
            raise ValueError(f"source {source} is not a vertex; there are {self.vertices}")
        last = numpy.uint64(self._logged), numpy.uint64(source)
        arguments = (*self._tables, self._log, *self._numbers, *last)
        taken = event_milliseconds(lambda: self._kernel(*self._launch, arguments))
        levels, host, _, *pulled = self._log[: LOG_FIRST + 256].get().tolist()
        if levels > self._logged:
            self._allocate_log(longer(levels))
            return self.run(source)
        if levels > len(pulled):
            pulled = self._log[LOG_FIRST : LOG_FIRST + levels].get().tolist()
        distance, predecessor = self._labels.results(self.output)
        return BFSResult(
            source,
            distance,
            predecessor,
            taken,
            tuple("pull" if way else "push" for way in pulled[:levels]),
            link_bytes=host * self._line_bytes if self._over_link else None,
        )
