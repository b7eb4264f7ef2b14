"""Limits of `kernels/bfs/level_loop.cuh`, and how a search that is made ready runs and is traced."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from gravel.kernels.bfs.buffers import TRACE, TRACED_WORDS
from gravel.kernels.bfs.cuda.labels import Labels
from gravel.kernels.bfs.query import Query, check_source
from gravel.kernels.bfs.result import BFSResult
from gravel.kernels.cuda import event_milliseconds, shared_bytes

STEPS = ("begin", "push", "team", "redistribute", "push_unqueued", "pull", "enqueue", "finish")
MAX_TEAM_WEIGHT = (1 << 24) - 2  # of a level, which a field of 24 bits counts in team.cuh
ALPHA, ENCODED_ANY_ORDER = 25.0, 12.0
"""How much sooner searches go bottom-up; encoded rows in no order by degree take longer to read."""
WAITING = 96 + 160  # vertices that a warp lists in pull.cuh
STAGED = 96  # entries that a warp stages in claim.cuh
STATIC_SHARED = 2048  # bytes left for the kernel's own shared variables


def shared_room(kilobytes: int) -> tuple[int, int]:
    """Bytes of shared memory that a block may take at most, and that it takes if so many are wanted."""
    most = (shared_bytes() - STATIC_SHARED) & ~15
    return most, min(most, kilobytes * 1024 & ~15)


def check_shared(block: int, needed: int, shared: int) -> None:
    """Raise ValueError where a block needs more shared memory than there is."""
    if shared < needed:
        raise ValueError(f"{block} threads need {needed} bytes of shared memory; there are {shared}")


def level_directions(levels: int, changes: Sequence[int]) -> tuple[str, ...]:
    """Name each level's direction; a change is twice the level from which on it holds, plus 1 for "pull"."""
    starts = [change >> 1 for change in changes] + [levels]
    names: list[str] = []
    for change, (start, end) in zip(changes, itertools.pairwise(starts), strict=True):
        names += ["pull" if change & 1 else "push"] * (end - start)
    return tuple(names)


class LevelLoopSearch:
    """A prepared graph; who derives from it allocates everything, and sets what is declared here."""

    strategy = ""
    reason = ""
    vertices: int
    _query: Query
    prepare_milliseconds: float
    _labels: Labels
    _kernel: Any
    _launch: tuple[tuple[int], tuple[int], int]
    _arguments: tuple[Any, ...]
    _log: Any
    _previous = 0

    def _mark_padding(self, bitmap: Any) -> None:
        """Set the bits of a bitmap that stand for no vertex, and clear all others."""
        import cupy

        bits = cupy.arange(len(bitmap), dtype=cupy.int64) * 32
        inside = cupy.clip(self.vertices - bits, 0, 32).astype(cupy.uint64)
        bitmap[:] = (~((cupy.uint64(1) << inside) - cupy.uint64(1))).astype(cupy.uint32)

    def run(self, source: int) -> BFSResult:
        """Search from one vertex.

        Raises ValueError for a vertex that does not exist.
        """
        import numpy

        check_source(source, self.vertices)
        grid, block, shared = self._launch
        arguments = (*self._arguments, numpy.uint64(source), numpy.uint64(self._previous))
        milliseconds = event_milliseconds(lambda: self._kernel(grid, block, arguments, shared_mem=shared))
        self._previous = source
        labels = self._query.wanted(self._labels.distance, self._labels.predecessor)
        return BFSResult(source, *labels, milliseconds, self._directions())

    def _directions(self) -> tuple[str, ...]:
        levels, changes, _, *log = self._log[:TRACE].get().tolist()
        return level_directions(levels, log[:changes])

    def steps(self) -> list[tuple[str, int, int, int, float]]:
        """List the first steps of the latest search.

        Each is a name, the level, the frontier's vertices and weight (0 after a bottom-up level; arcs where
        rows are columns) and microseconds at the top clock rate. "team" goes through several levels;
        "redistribute" and "enqueue" are passes between levels; "begin" and "finish" are what the launch does
        before and after them. "push_unqueued" samples its weight, so that the next is an estimate.
        """
        import cupy

        log = [int(word) for word in self._log.get()]
        kilohertz = cupy.cuda.Device().attributes["ClockRate"]
        traced = [
            log[i : i + TRACED_WORDS] for i in range(TRACE, TRACE + TRACED_WORDS * log[2], TRACED_WORDS)
        ]
        return [
            (STEPS[what & 0xFF], what >> 8, vertices, weight, (after - clock) / kilohertz * 1e3)
            for (what, vertices, weight, clock), (*_, after) in itertools.pairwise(traced)
        ]
