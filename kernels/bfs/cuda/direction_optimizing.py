"""Direction-optimizing BFS: one cooperative launch per search; see `kernels/bfs/direction_optimizing.cu`."""

from __future__ import annotations

import time
from typing import Any

from gravel.kernels.bfs.cuda.by_degree import PLANES_BY_DEGREE, choose_by_degree, degree_classes
from gravel.kernels.bfs.cuda.far_rows import find_far_rows
from gravel.kernels.bfs.cuda.labels import NARROW, Labels
from gravel.kernels.bfs.cuda.level_loop import (
    ALPHA,
    IN_PLANE,
    MOST_IN_TEAM,
    MOST_PLANES,
    MOST_TEAM_WEIGHT,
    STAGED,
    WAITING,
    LevelLoopSearch,
    bitmap_words,
    check_shared,
    depth_limit,
    shared_room,
)
from gravel.kernels.cuda import (
    blocks_for,
    load,
    resident_blocks,
    vertex_macro,
)

SOURCE = "kernels/bfs/direction_optimizing.cu"
CHUNK = 128  # arcs of a queue entry, as in sources/columns.cuh


def prepare(
    row_offsets: Any,
    column_indices: Any,
    *,
    output: str,
    symmetric: bool,
    max_depth: int | None = None,
    alpha: float = ALPHA,
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
    by_degree: bool | None = None,
    narrow: int = NARROW,
) -> DirectionOptimizing:
    """Make a graph ready; parameters as in `gravel.kernels.bfs.prepare`, and these constants.

    Parameters
    ----------
    alpha, beta : go bottom-up when the frontier's arcs times alpha exceed the unvisited arcs, and back when
        its vertices times beta are fewer than all that have arcs (Beamer et al., SC 2012; beta as in GAP).
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
        else up to MOST_PLANES, or PLANES_BY_DEGREE, that together hold no more than half of the arcs.
    far_rows : whether bottom-up levels put long rows off that they read far, and read them by whole blocks;
        by default as `gravel.kernels.bfs.cuda.far_rows` finds it worthwhile. Either way finds the same.
    by_degree : whether searches of distances first look at neighbours of high degree, if the graph has hubs,
        not at the first of a row; by default where rows do not begin with hubs and `planes` is not given.
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
        by_degree=by_degree,
        narrow=narrow,
    )


class DirectionOptimizing(LevelLoopSearch):
    """A prepared graph: its first neighbours, bitmaps, queue and labels on the device."""

    strategy = "direction_optimizing"

    def __init__(
        self,
        row_offsets: Any,
        column_indices: Any,
        *,
        output: str,
        symmetric: bool,
        max_depth: int | None,
        tuning: tuple[float, float, float, float, int, int, int, int],
        shared_kilobytes: int,
        words_per_open: float,
        block: int,
        planes: int | None,
        far_rows: bool | None,
        by_degree: bool | None,
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
        words = bitmap_words(last)
        hubs_first = self._hubs_first(arcs)
        classes = None
        if by_degree is None:
            by_degree = planes is None and not hubs_first
        if by_degree and symmetric and output == "distance":
            classes = degree_classes(self._row_offsets)
        if planes is None:
            wanted = PLANES_BY_DEGREE if classes is not None else 0 if hubs_first else MOST_PLANES
            planes = min(wanted, arcs // (2 * IN_PLANE * words * 32)) if symmetric else 0
        if far_rows is None:
            far_rows = symmetric and self._has_far_rows(hubs, planes)
        if classes is not None:
            self.notes.append("bottom-up levels look first at neighbours of high degree")

        self._labels = Labels.allocate(self.vertices, output, narrow=narrow)
        macros = {"TREE": self._labels.tree, "DEFER_ROWS": int(far_rows)}
        module = load(SOURCE, VERTEX=vertex_macro(column_indices.dtype), **macros)
        self._kernel = module.get_function("search")
        most_shared, shared = shared_room(shared_kilobytes)
        # The limit belongs to the kernel, which searches with other settings share.
        self._kernel.max_dynamic_shared_size_bytes = most_shared
        grid = resident_blocks(self._kernel, block, shared)
        alpha, beta, floor, flood, patience, team_blocks, capacity, limit = tuning
        item = self._columns.dtype.itemsize
        team_blocks = max(1, min(team_blocks, MOST_IN_TEAM, grid))
        capacity = min(capacity, shared // (2 * (8 + (item if self._labels.tree else 0)))) & ~31
        limit = min(limit, capacity * team_blocks, MOST_TEAM_WEIGHT)
        needed = block // 32 * max(WAITING * item, STAGED * (8 + item))
        check_shared(block, needed, shared)

        first_neighbours = cupy.empty(words * 32 * 2, self._columns.dtype)
        behind = cupy.empty(max(1, planes * words * 32 * IN_PLANE), self._columns.dtype)
        closed = cupy.empty(words, cupy.uint32)
        kept = first_neighbours, behind, closed
        if classes is not None:
            choose_by_degree(self._row_offsets, self._columns, classes, *kept, planes=planes)
        else:
            first_kernel = module.get_function("find_first_neighbours")
            sizes = numpy.uint64(self.vertices), numpy.uint64(words * 32), numpy.uint64(planes)
            grid_of_rows = (blocks_for(words * 32, 256, most=512),)
            first_kernel(grid_of_rows, (256,), (self._row_offsets, self._columns, *sizes, *kept))
        if not symmetric:
            closed[:] = self._padding(words)
        numbers = (self.vertices, words, candidates, arcs, int(symmetric), depth_limit(max_depth))
        self._launch = (grid,), (block,), shared
        self._arguments = (
            self._row_offsets,
            self._columns,
            first_neighbours,
            behind,
            closed,
            cupy.zeros(2 * words, cupy.uint32),
            self._labels.distance_argument(),
            self._labels.keys,
            self._labels.predecessor_argument(),
            cupy.empty(max(entries, 1), cupy.uint64),
            cupy.empty(max(entries, 1) if self._labels.tree else 1, self._columns.dtype),
            cupy.empty(max(len(hubs), 1), self._columns.dtype),
            *self._work_arrays(),
            *(numpy.uint64(number) for number in numbers),
            numpy.float64(alpha),
            numpy.float64(beta),
            numpy.float64(floor),
            numpy.float64(flood),
            *(numpy.uint64(number) for number in (patience, team_blocks, capacity, limit, shared)),
            numpy.float64(words_per_open),
            numpy.uint64(planes),
            numpy.uint64(0 if classes is not None else 2 + planes * IN_PLANE),
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
        self.notes.append(f"bottom-up levels read the longest rows {way}: {found.reason()}")
        return found.far > 0
