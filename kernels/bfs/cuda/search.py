"""A search by `direction_optimizing.cuh`, one cooperative launch, made ready for rows of any layout."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gravel.kernels.bfs import buffers
from gravel.kernels.bfs.buffers import IN_PLANE, MAX_IN_TEAM, MAX_PLANES, TRACE, TRACED_WORDS, bitmap_words
from gravel.kernels.bfs.cuda.by_degree import PLANES_BY_DEGREE
from gravel.kernels.bfs.cuda.labels import Labels
from gravel.kernels.bfs.cuda.row_sources import UNEVEN, ColumnSource, EncodedSource
from gravel.kernels.bfs.query import Query, check_source
from gravel.kernels.bfs.result import BFSResult
from gravel.kernels.buffers import make
from gravel.kernels.cuda import event_milliseconds, refuse_block, resident_blocks, shared_bytes
from gravel.kernels.layouts.units import offsets_of

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows


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


@dataclass(frozen=True)
class Tuning:
    """Constants of a search, as `gravel.kernels.bfs.cuda.direction_optimizing.prepare` describes them."""

    pull: bool
    alpha: float | None = None
    beta: float = 0.0
    floor: float = 0.0
    unqueued: float = 1e18  # a search that never goes bottom-up needs every level's queue
    patience: int = 0
    team_blocks: int = 64
    team_capacity: int = 4096
    team_limit: int = 1 << 16
    words_per_unvisited: float = 0.0
    planes: int | None = 0
    deferred_rows: bool | None = None
    by_degree: bool | None = None


class RowsSearch:
    """Rows made ready for searches: bitmaps, queue, labels and first neighbours lie on the device.

    Parameters
    ----------
    rows : of a square graph, in any layout.
    tuning : the strategy's constants.
    reader : what reads the rows in the kernel; by default what their layout takes.
    shared_kilobytes, block : as for `gravel.kernels.bfs.cuda.direction_optimizing.prepare`.

    """

    strategy = ""
    reason = ""
    _previous = 0

    def __init__(
        self,
        rows: EncodedRows,
        query: Query,
        tuning: Tuning,
        *,
        reader: type[ColumnSource | EncodedSource] | None = None,
        shared_kilobytes: int = 160,
        block: int | None = None,
    ) -> None:
        import cupy
        import numpy

        started = time.perf_counter()
        self.vertices = rows.vertex_count
        self._query = query
        self._labels = Labels.allocate(self.vertices, query)
        made = reader or (EncodedSource if rows.layout != "csr" else ColumnSource)
        source = made(rows, tree=self._labels.tree, deferred_rows=tuning.deferred_rows)
        self._source = source  # which keeps the arrays alive
        measured, item = source.measure(), source.dtype.itemsize
        # Without in-arcs a vertex that has no arcs may still be reached, unless every arc has its reverse.
        candidates = measured.linked if query.symmetric else self.vertices
        words = bitmap_words(measured.last if query.symmetric and measured.linked else self.vertices)
        hubs_first = _hubs_first(rows)
        planes, by_degree = tuning.planes, tuning.by_degree
        if by_degree is None:
            by_degree = planes is None and not hubs_first
        # A neighbour of high degree is a parent sooner, but not the smallest.
        by_degree = by_degree and tuning.pull and not query.tree and source.find_degrees()
        if planes is None:
            wanted = PLANES_BY_DEGREE if by_degree else 0 if hubs_first else MAX_PLANES
            planes = min(wanted, rows.arc_count // (2 * IN_PLANE * words * 32))

        self._kernel = source.load(pull=tuning.pull, planes=planes)
        self.notes = source.notes
        most_threads = int(self._kernel.max_threads_per_block)
        block = most_threads if block is None else block
        refuse_block(block, most=most_threads)
        most_shared, shared = shared_room(shared_kilobytes)
        lists = source.lists(block)
        staged = lists + block // 32 * STAGED * source.entry_bytes
        check_shared(block, max(staged, block // 32 * WAITING * item), shared)
        # The limit belongs to the kernel, which searches with other settings share.
        self._kernel.max_dynamic_shared_size_bytes = most_shared
        grid = resident_blocks(self._kernel, block, shared)

        stream = 0 if source.ENCODED else None
        size = buffers.Size(self.vertices, rows.arc_count, self._labels.tree, stream=stream, item=item)
        behind = planes * words * 32 * IN_PLANE
        kept_first = make(buffers.first_neighbours(size, words=words, behind=behind, pull=tuning.pull), cupy)
        if tuning.pull:
            source.first_neighbours(words * 32, planes, *list(kept_first.values())[:3])
        else:
            self._mark_padding(kept_first["closed"])
        queues = buffers.level_loop(size, entries=max(measured.entries, 1), hubs=measured.hubs)
        work = make(queues, cupy)
        self._log = work["log"]

        weight_of_arc = measured.weight / rows.arc_count if rows.arc_count else 1.0
        alpha = tuning.alpha
        if alpha is None:
            alpha = ENCODED_ANY_ORDER if source.ENCODED and not hubs_first else ALPHA
        self.decided = {"alpha": alpha} if tuning.pull else {}
        team_blocks = max(1, min(tuning.team_blocks, MAX_IN_TEAM, grid))
        capacity = min(tuning.team_capacity, (shared - lists) // (2 * source.entry_bytes)) & ~31
        limit = min(int(tuning.team_limit * weight_of_arc), MAX_TEAM_WEIGHT)
        uneven: tuple[Any, ...] = (max(1, int(UNEVEN * weight_of_arc)),)
        scale: tuple[Any, ...] = (weight_of_arc,)
        kept: tuple[Any, ...] = ()
        if not source.ENCODED:
            # No entry weighs less than an arc, and the kernel knows the other two.
            limit, uneven, scale = min(limit, capacity * team_blocks), (), ()
            # Neighbours by degree are from anywhere in the row, which is read from its start after them.
            kept = (numpy.uint64(0 if by_degree else 2 + planes * IN_PLANE),)
        counts = (self.vertices, words, candidates, measured.weight, int(tuning.pull), query.depth)
        self._launch = (grid,), (block,), shared
        self._arguments = (
            *source.arguments,
            *kept_first.values(),
            self._labels.distance_argument(),
            self._labels.keys,
            self._labels.predecessor_argument(),
            *work.values(),
            *(numpy.uint64(x) for x in counts),
            *(numpy.float64(x) for x in (alpha, tuning.beta, tuning.floor, tuning.unqueued, *scale)),
            *(numpy.uint64(x) for x in (tuning.patience, team_blocks, capacity, limit, *uneven, shared)),
            numpy.float64(tuning.words_per_unvisited),
            numpy.uint64(planes),
            *kept,
        )
        cupy.cuda.Device().synchronize()
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

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


def _hubs_first(rows: EncodedRows) -> bool:
    """Whether the first 64th of the vertices has at least four times its share of the weight."""
    offsets = offsets_of(rows)
    return int(offsets[rows.vertex_count // 64]) * 16 > int(offsets[-1]) if len(offsets) else False
