"""Direction-optimizing BFS: one cooperative launch per search; see `kernels/bfs/direction_optimizing.cu`."""

from __future__ import annotations

import itertools
import time
from typing import Any

from gravel.kernels.bfs.cuda.far_rows import find_far_rows
from gravel.kernels.bfs.cuda.labels import NARROW, Labels
from gravel.kernels.bfs.result import BFSResult
from gravel.kernels.cuda import (
    blocks_for,
    event_milliseconds,
    load,
    resident_blocks,
    shared_bytes,
    vertex_macro,
)

SOURCE = "kernels/bfs/direction_optimizing.cu"
CHUNK = 128  # arcs of a queue entry, as in sources/columns.cuh
TRACE, TRACED_WORDS, MOST_TRACED = 256, 4, 64  # the layout of the log, as in search.cuh
STEPS = ("begin", "push", "team", "deal", "flood", "pull", "enqueue", "finish")
CONTROL_WORDS = 4 * 48  # four copies of search.cuh's
MOST_IN_TEAM = 128  # as in team.cuh
HUBS_FIRST, ANY_ORDER = 25.0, 12.0  # alpha, by the order of the vertices
IN_PLANE, MOST_PLANES = 8, 2  # neighbours of a plane, as in pull.cuh; planes that are made unasked
STATIC_SHARED = 2048  # bytes left for the kernel's own shared variables


def prepare(
    row_offsets: Any,
    column_indices: Any,
    *,
    output: str,
    symmetric: bool,
    max_depth: int | None = None,
    alpha: float | None = None,
    beta: float = 24.0,
    floor: float = 1.0,
    flood: float = 1.0,
    patience: int = 3,
    team_blocks: int = 64,
    team_capacity: int = 4096,
    team_limit: int = 1 << 16,
    shared_kilobytes: int = 160,
    words_per_open: float = 0.0625,
    block: int = 1024,
    planes: int | None = None,
    far_rows: bool | None = None,
    narrow: int = NARROW,
) -> DirectionOptimizing:
    """Make a graph ready; parameters as in `gravel.kernels.bfs.prepare`, and these constants.

    Parameters
    ----------
    alpha, beta : go bottom-up when the frontier's arcs times alpha exceed the unvisited arcs, and back when
        its vertices times beta are fewer than all that have arcs (Beamer et al., SC 2012; beta as in GAP).
        By default alpha is HUBS_FIRST or ANY_ORDER, best on Kronecker graphs of scale 22 and 24 on an H200:
        bottom-up levels end sooner where rows begin with hubs.
    floor : stay top-down while the frontier has fewer arcs than this times the words of the bitmap, which
        a bottom-up level reads in any case.
    flood : fill no queue in a top-down level whose frontier has more arcs than this times those words.
    patience : small bottom-up levels before going back, unless many vertices are unvisited.
    team_blocks, team_capacity, team_limit : blocks that go through small levels alone, vertices that each
        keeps, and arcs of a level beyond which the whole grid takes over.
    shared_kilobytes, words_per_open : shared memory of a block, and bitmap words that a bottom-up level keeps
        there per unvisited vertex.
    block : threads of a block, a multiple of 32 up to 1024.
    planes : how many times eight neighbours after the first two are kept apart for bottom-up levels, which
        then stream them instead of reading rows here and there. By default none where rows begin with hubs,
        else up to MOST_PLANES that together hold no more than half of the arcs.
    far_rows : whether bottom-up levels put long rows off that they read far, and read them by whole blocks;
        by default as `gravel.kernels.bfs.cuda.far_rows` finds it worthwhile. Either way finds the same.
    narrow : vertices from which predecessors take 64 bits.

    """
    return DirectionOptimizing(
        row_offsets,
        column_indices,
        output=output,
        symmetric=symmetric,
        max_depth=max_depth,
        tuning=(alpha, beta, floor, flood, patience, team_blocks, team_capacity, team_limit),
        shared_kilobytes=shared_kilobytes,
        words_per_open=words_per_open,
        block=block,
        planes=planes,
        far_rows=far_rows,
        narrow=narrow,
    )


class DirectionOptimizing:
    """A prepared graph: its first neighbours, bitmaps, queue and labels on the device."""

    strategy = "direction_optimizing"
    reason = ""

    def __init__(
        self,
        row_offsets: Any,
        column_indices: Any,
        *,
        output: str,
        symmetric: bool,
        max_depth: int | None,
        tuning: tuple[float | None, float, float, float, int, int, int, int],
        shared_kilobytes: int,
        words_per_open: float,
        block: int,
        planes: int | None,
        far_rows: bool | None,
        narrow: int,
    ) -> None:
        import cupy
        import numpy

        started = time.perf_counter()
        self.notes: list[str] = []
        if block % 32 or not 32 <= block <= 1024:
            raise ValueError(f"block is {block}; it must be a multiple of 32 up to 1024")
        self.vertices = len(row_offsets) - 1
        self.output = output
        self._previous = 0
        self._row_offsets = cupy.ascontiguousarray(row_offsets)
        self._columns = cupy.ascontiguousarray(column_indices)
        arcs = len(column_indices)
        degrees = cupy.diff(self._row_offsets)
        entries = int((-(-degrees // CHUNK)).sum())
        # The first `count_nonzero` of a process compiles for 12 s; `flatnonzero` takes a fraction of one.
        hubs = cupy.flatnonzero(degrees > CHUNK)
        # Without in-arcs a vertex that has no arcs may still be reached, unless every arc has its reverse.
        candidates = last = self.vertices
        if symmetric:
            linked = cupy.flatnonzero(degrees)
            candidates = len(linked)
            last = int(linked[-1]) + 1 if candidates else self.vertices
            del linked
        del degrees
        words = -(-max(last, 1) // 256) * 8
        hubs_first = self._hubs_first(arcs)
        if planes is None:
            even = symmetric and not hubs_first
            planes = min(MOST_PLANES, arcs // (2 * IN_PLANE * words * 32)) if even else 0
        if far_rows is None:
            far_rows = symmetric and self._has_far_rows(hubs, planes)

        self._labels = Labels.allocate(self.vertices, output, narrow=narrow)
        macros = {"TREE": self._labels.tree, "FAR_ROWS": int(far_rows)}
        module = load(SOURCE, VERTEX=vertex_macro(column_indices.dtype), **macros)
        self._kernel = module.get_function("search")
        most_shared = (shared_bytes() - STATIC_SHARED) & ~15
        shared = min(most_shared, shared_kilobytes * 1024 & ~15)
        # The limit belongs to the kernel, which searches with other settings share.
        self._kernel.max_dynamic_shared_size_bytes = most_shared
        grid = resident_blocks(self._kernel, block, shared)
        alpha, beta, floor, flood, patience, team_blocks, capacity, limit = tuning
        if alpha is None:
            alpha = HUBS_FIRST if hubs_first else ANY_ORDER
        item = self._columns.dtype.itemsize
        team_blocks = max(1, min(team_blocks, MOST_IN_TEAM, grid))
        capacity = min(capacity, shared // (2 * (8 + (item if self._labels.tree else 0)))) & ~31
        limit = min(limit, capacity * team_blocks, (1 << 24) - 2)
        self._check_shared(block, shared, item)

        heads = cupy.empty(words * 32 * 2, self._columns.dtype)
        behind = cupy.empty(max(1, planes * words * 32 * IN_PLANE), self._columns.dtype)
        closed = cupy.empty(words, cupy.uint32)
        heads_kernel = module.get_function("find_heads")
        sizes = numpy.uint64(self.vertices), numpy.uint64(words * 32), numpy.uint64(planes)
        heads_kernel(
            (blocks_for(words * 32, 256, most=512),),
            (256,),
            (self._row_offsets, self._columns, *sizes, heads, behind, closed),
        )
        if not symmetric:
            closed[:] = self._padding(words)
        self._log = cupy.zeros(TRACE + TRACED_WORDS * MOST_TRACED, cupy.uint64)
        numbers = (self.vertices, words, candidates, arcs, int(symmetric), _depth(max_depth))
        self._launch = (grid,), (block,), shared
        self._arguments = (
            self._row_offsets,
            self._columns,
            heads,
            behind,
            closed,
            cupy.zeros(2 * words, cupy.uint32),
            self._labels.distance_argument(),
            self._labels.keys,
            self._labels.predecessor_argument(),
            cupy.empty(max(entries, 1), cupy.uint64),
            cupy.empty(max(entries, 1) if self._labels.tree else 1, self._columns.dtype),
            cupy.empty(max(len(hubs), 1), self._columns.dtype),
            cupy.zeros(CONTROL_WORDS, cupy.uint64),
            cupy.zeros(2 * MOST_IN_TEAM, cupy.uint64),
            self._log,
            cupy.zeros(1, cupy.uint64),
            *(numpy.uint64(number) for number in numbers),
            numpy.float64(alpha),
            numpy.float64(beta),
            numpy.float64(floor),
            numpy.float64(flood),
            *(numpy.uint64(number) for number in (patience, team_blocks, capacity, limit, shared)),
            numpy.float64(words_per_open),
            numpy.uint64(planes),
        )
        cupy.cuda.Device().synchronize()
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def _hubs_first(self, arcs: int) -> bool:
        """Whether the first 64th of the vertices has at least four times its share of the arcs."""
        return int(self._row_offsets[self.vertices // 64]) * 16 > arcs

    def _has_far_rows(self, hubs: Any, planes: int) -> bool:
        """Whether bottom-up levels read long rows far, all of which are `hubs`; says so in `notes`."""
        found = find_far_rows(self._row_offsets, self._columns, hubs, kept=2 + planes * IN_PLANE)
        way = "by whole blocks" if found.far else "as all others"
        self.notes = [f"bottom-up levels read the longest rows {way}: {found.reason()}"]
        return found.far > 0

    @staticmethod
    def _check_shared(block: int, shared: int, item: int) -> None:
        warps = block // 32
        needed = max(warps * (96 + 160) * item, warps * 96 * (8 + item))
        if shared < needed:
            raise ValueError(f"{block} threads need {needed} bytes of shared memory; there are {shared}")

    def _padding(self, words: int) -> Any:
        """Bits of a bitmap that stand for no vertex."""
        import cupy

        bits = cupy.arange(words, dtype=cupy.int64) * 32
        inside = cupy.clip(self.vertices - bits, 0, 32).astype(cupy.uint64)
        return (~((cupy.uint64(1) << inside) - cupy.uint64(1))).astype(cupy.uint32)

    def run(self, source: int) -> BFSResult:
        """Search from one vertex.

        Raises ValueError for a vertex that does not exist.
        """
        import numpy

        if not 0 <= source < self.vertices:
            raise ValueError(f"source {source} is not a vertex; there are {self.vertices}")
        grid, block, shared = self._launch
        arguments = (*self._arguments, numpy.uint64(source), numpy.uint64(self._previous))
        taken = event_milliseconds(lambda: self._kernel(grid, block, arguments, shared_mem=shared))
        self._previous = source
        distance, predecessor = self._labels.results(self.output)
        return BFSResult(source, distance, predecessor, taken, self._directions())

    def _directions(self) -> tuple[str, ...]:
        levels, changes, _, *log = self._log[:TRACE].get().tolist()
        starts = [word >> 1 for word in log[:changes]] + [levels]
        names: list[str] = []
        for i in range(changes):
            names += ["pull" if log[i] & 1 else "push"] * (starts[i + 1] - starts[i])
        return tuple(names)

    def steps(self) -> list[tuple[str, int, int, int, float]]:
        """List the first steps of the latest search.

        Each is a name, the level, the frontier's vertices and arcs (arcs are 0 after a bottom-up level) and
        microseconds at the top clock rate. "team" goes through several levels; "deal" and "enqueue" are
        passes between levels; "begin" and "finish" are what the launch does before and after them. A flood
        counts no arcs, so those after it are an estimate.
        """
        import cupy

        log = [int(word) for word in self._log.get()]
        kilohertz = cupy.cuda.Device().attributes["ClockRate"]
        traced = [
            log[i : i + TRACED_WORDS] for i in range(TRACE, TRACE + TRACED_WORDS * log[2], TRACED_WORDS)
        ]
        return [
            (STEPS[what & 0xFF], what >> 8, vertices, arcs, (after - clock) / kilohertz * 1e3)
            for (what, vertices, arcs, clock), (*_, after) in itertools.pairwise(traced)
        ]


def _depth(max_depth: int | None) -> int:
    return (1 << 31) - 1 if max_depth is None else max_depth
