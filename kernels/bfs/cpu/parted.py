"""The levels of a search on the CPU whose rows are read part by part while it runs."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.bfs.result import BFSResult
from gravel.kernels.jit import serial

_ONE = numpy.uint64(1)


class PartedSearch(ABC):
    """Bitmaps and labels in memory; a subclass reads the parts that a level needs, of `parts` in all.

    Raises ValueError for a depth below 0.
    """

    strategy = "streamed"
    reason = ""
    prepare_milliseconds = 0.0

    def __init__(self, vertices: int, parts: int, *, output: str, max_depth: int | None) -> None:
        if max_depth is not None and max_depth < 0:
            raise ValueError(f"max_depth is {max_depth}; it must be 0 or more")
        n = self.vertices = vertices
        self.progress: Callable[[int, int], None] | None = None
        self._max_depth = max_depth
        self._output = output
        self._visited, self._frontier, self._next = (
            numpy.zeros((n + 63) // 64, numpy.uint64) for _ in range(3)
        )
        self._distance = numpy.empty(n if output != "predecessor" else 0, numpy.int32)
        tree = numpy.int32 if n < 1 << 31 else numpy.int64
        self._predecessor = numpy.empty(n if output != "distance" else 0, tree)
        self._needed = numpy.zeros(parts, numpy.bool_)

    @abstractmethod
    def _mark(self, needed: NDArray[Any]) -> None:
        """Say which parts hold rows of the frontier."""

    @abstractmethod
    def _expand(self, parts: list[int], depth: int) -> Iterator[None]:
        """Search the parts, and yield after each."""

    def run(self, source: int) -> BFSResult:
        """Search from one vertex; the time covers all reading. `progress` is told parts read of each level's.

        Raises ValueError for a vertex that does not exist and for a row that is damaged, and whatever reading
        raises.
        """
        if not 0 <= source < self.vertices:
            raise ValueError(f"source {source} is not a vertex; there are {self.vertices}")
        started = time.perf_counter()
        for array in (self._visited, self._frontier, self._next):
            array[:] = 0
        self._distance[:] = -1
        self._predecessor[:] = -1
        self._distance[source : source + 1] = 0
        bit = _ONE << numpy.uint64(source & 63)
        self._visited[source >> 6] = self._frontier[source >> 6] = bit
        level, found = 0, 1
        while found and (self._max_depth is None or level < self._max_depth):
            level += 1
            self._needed[:] = False
            self._mark(self._needed)
            parts = numpy.flatnonzero(self._needed).tolist()
            for done, _ in enumerate(self._expand(parts, level), 1):
                if self.progress is not None:
                    self.progress(done, len(parts))
            found = turn(self._visited, self._frontier, self._next)
        return BFSResult(
            source,
            self._distance if self._output != "predecessor" else None,
            self._predecessor if self._output != "distance" else None,
            (time.perf_counter() - started) * 1e3,
            ("push",) * level,
        )


@serial
def turn(visited: NDArray[Any], frontier: NDArray[Any], following: NDArray[Any]) -> bool:
    """End a level; returns whether it found anything."""
    some = False
    for word in range(len(visited)):
        bits = following[word]
        some |= bits != 0
        visited[word] |= bits
        frontier[word] = bits
        following[word] = 0
    return some
