"""Delta-stepping on CUDA, in one cooperative launch for distances and one for the tree.

Graphs where two buckets have most arcs, as social networks, are searched over rows in the order of weights
from the second search on (`by_weight`).
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy

from gravel.kernels.buffers import make
from gravel.kernels.cuda import event_milliseconds, load, refuse_block, resident_blocks, vertex_macro
from gravel.kernels.cuda.room import free_bytes
from gravel.kernels.sssp import SSSPResult
from gravel.kernels.sssp.buffers import ROUND, WIDE, labels, on_device, ordered_bytes, room_of
from gravel.kernels.sssp.concentrated import BUCKETS, is_share_of_most
from gravel.kernels.sssp.cuda.by_weight import WIDTH as WIDTH_ORDERED
from gravel.kernels.sssp.cuda.by_weight import WIDTH_SKEWED as WIDTH_ORDERED_SKEWED
from gravel.kernels.sssp.cuda.by_weight import ByWeight
from gravel.kernels.sssp.weights import WeightedRows
from gravel.kernels.strategy import Ran

SOURCE = "kernels/sssp/cuda/delta_stepping.cu"

WIDTH, WIDTH_SKEWED = 64.0, 6.0
"""Mean weights over the mean degree that a bucket is wide, narrower where hubs are.

Davidson et al. 2014 have 32. On an H100, 16, 32, 64, 128 and 256 took 14.0, 11.0, 9.5, 9.5 and 10.5 ms on
USA-road-NE. On Kronecker 20, 1.5, 3, 6 and 12 took 4.5, 3.5, 3.3 and 3.2 ms:
`python -m tests.benchmarks.sssp --widths`."""

COUNTING = 256
"""Threads of a block that counts arcs."""

SKEWED = 64
"""Mean degrees of the largest one, from which rows are skewed."""

FEW_ARCS = 1024
"""Arcs of a frontier, by the mean degree, that a block relaxes alone: one for each of its threads. With 64
USA-road-NE took 19.2 ms on an H100, and with 8,192 as long as with 1,024."""


def prepare(
    weighted: WeightedRows,
    *,
    predecessor: bool = True,
    width: float | None = None,
    block: int = 1024,
    few_arcs: int = FEW_ARCS,
    by_weight: bool | None = None,
) -> DeltaStepping:
    """Make rows ready; see `gravel.kernels.sssp.prepare`.

    Parameters
    ----------
    width : how many mean weights a bucket is wide, above 0; by default `WIDTH` over the mean degree, and
        `WIDTH_SKEWED` where a row is `SKEWED` times as long as the mean one; those of `by_weight` over rows
        in the order of weights.
    block : threads of a block, a multiple of 32 from 32 to 1024.
    few_arcs : arcs of a frontier, by the mean degree, that a block relaxes alone: as many for each block.
    by_weight : whether symmetric rows are copied in the order of weights, for light arcs and for pulls. By
        default the first search tells whether that pays for those after it, where the copy fits.

    """
    if width is not None and not width > 0:
        raise ValueError(f"width is {width}; it must be above 0")
    refuse_block(block)
    started = time.perf_counter()
    if few_arcs < 0:
        raise ValueError(f"few_arcs is {few_arcs}; it must not be below 0")
    search = DeltaStepping(weighted, predecessor, width, block, few_arcs, by_weight)
    search.prepare_milliseconds = (time.perf_counter() - started) * 1e3
    return search


def is_skewed(weighted: WeightedRows) -> bool:
    """Whether a row is `SKEWED` times as long as the mean one."""
    offsets = weighted.row_offsets
    longest = int((offsets[1:] - offsets[:-1]).max()) if weighted.vertices else 0
    return longest > SKEWED * weighted.mean_degree


class DeltaStepping:
    """Rows made ready, with the queues of a search."""

    prepare_milliseconds = 0.0
    ran: Ran
    rounds_of_the_grid = 0
    """Rounds and splits of the last search that all blocks took together; in the others each worked alone."""

    def __init__(
        self,
        weighted: WeightedRows,
        predecessor: bool,
        width: float | None,
        block: int,
        few_arcs: int,
        by_weight: bool | None,
    ) -> None:
        import cupy

        rows, n = weighted, weighted.vertices
        self._rows, self._predecessor = rows, predecessor
        skewed = is_skewed(rows)
        wide = (WIDTH_SKEWED if skewed else WIDTH) / rows.mean_degree if width is None else width
        self._width, self._block = rows.width(wide), block
        self._ordered_width = width or (WIDTH_ORDERED_SKEWED if skewed else WIDTH_ORDERED) / rows.mean_degree
        room = room_of(rows.column_indices.dtype.itemsize, rows.words.itemsize)
        self._few = numpy.uint64(min(room, few_arcs / rows.mean_degree))
        index = rows.column_indices.dtype
        module = load(
            SOURCE,
            VERTEX=vertex_macro(index),
            WORD=vertex_macro(rows.words),
            WEIGHT="float" if rows.is_float else "u32",
        )
        self._search = module.get_function("delta_stepping")
        self._find_tree = module.get_function("predecessors")
        self._count_arcs = module.get_function("arcs_of_buckets")
        self._grids = [
            ((resident_blocks(kernel, block),), (block,)) for kernel in (self._search, self._find_tree)
        ]
        self._arrays = tuple(
            cupy.ascontiguousarray(each) for each in (rows.row_offsets, rows.column_indices, rows.weights)
        )
        made = make(on_device(n, rows.arcs, index.itemsize), cupy)
        self._marks, self._piled, self._queues, self._hubs, self._state = made.values()
        self._ordered: ByWeight | None = None
        self.decided = {"width": wide, "by_weight": False}
        may_order = rows.arcs > 0 and bool(rows.symmetric)
        self._undecided, self._pays = by_weight is None and may_order, False
        if by_weight and may_order:
            self._order()

    def _order(self) -> None:
        import cupy

        started = time.perf_counter()
        self._pays = False
        self._ordered = ByWeight(self._rows, self._ordered_width, self._block)
        self.decided |= {"width": self._ordered_width, "by_weight": True}
        cupy.cuda.get_current_stream().synchronize()
        self.prepare_milliseconds += (time.perf_counter() - started) * 1e3

    def _has_room(self) -> bool:
        return ordered_bytes(self._rows.arcs, self._rows.column_indices.dtype.itemsize) <= free_bytes()

    def _is_concentrated(self, words: Any) -> bool | None:
        """Whether two neighbouring buckets of a search have most arcs; see `concentrated`."""
        import cupy

        rows, kernel = self._rows, self._count_arcs
        counts = cupy.zeros(BUCKETS, numpy.uint64)
        numbers = numpy.uint64(rows.vertices), rows.words.type(rows.unreached), numpy.float64(self._width)
        grid = (resident_blocks(kernel, COUNTING),), (COUNTING,)
        kernel(*grid, (self._arrays[0], words, *numbers, numpy.uint64(BUCKETS), counts))
        found = counts.get()
        return is_share_of_most(rows, int(found.sum()), int((found + numpy.roll(found, -1)).max()))

    def run(self, source: int) -> SSSPResult:
        """Search from one vertex; the time covers initialisation, search and tree."""
        import cupy

        rows = self._rows
        source = rows.check_source(source)
        if self._pays:
            self._order()
            self.ran = replace(self.ran, options={**self.ran.options, **self.decided})
        sizes = rows.vertices, rows.column_indices.dtype.itemsize, rows.words.itemsize
        made = make(labels(*sizes, tree=self._predecessor), cupy)
        words, tree = made["words"], made.get("tree")
        milliseconds = event_milliseconds(lambda: self._launch(source, words, tree))
        found = None
        if tree is not None:
            found = tree.view(numpy.int32 if tree.dtype == numpy.uint32 else numpy.int64)
        rounds = int(self._kept[ROUND])
        self.rounds_of_the_grid = int(self._kept[WIDE]) if self._ordered is None else rounds
        distance = rows.distances(words)
        if self._undecided:
            concentrated = self._is_concentrated(words) if self._has_room() else False
            self._undecided, self._pays = concentrated is None, bool(concentrated)
        return SSSPResult(source, distance, found, milliseconds, rounds)

    def _launch(self, source: int, words: Any, tree: Any | None) -> None:
        rows = self._rows
        counts = (numpy.uint64(rows.vertices), numpy.uint64(source))
        unreached = rows.words.type(rows.unreached)
        words.fill(unreached)
        self._marks.fill(0)
        self._piled.fill(0)
        self._state.fill(0)
        queues = (self._queues, self._hubs, self._state)
        if self._ordered is not None:
            self._ordered.launch(source, words, tree, (self._marks, self._piled, self._queues, self._state))
        else:
            marks = (self._marks, self._piled)
            self._search(
                *self._grids[0], (*self._arrays, *counts, self._width, self._few, words, *marks, *queues)
            )
        self._kept = self._state.copy()
        if tree is None:
            return
        pulled = self._ordered is not None
        if not pulled:
            tree.fill(tree.dtype.type(numpy.iinfo(tree.dtype).max))
        self._marks.fill(0)
        self._state.fill(0)
        self._find_tree(
            *self._grids[1],
            (*self._arrays, *counts, unreached, words, tree, self._marks, *queues, numpy.uint32(pulled)),
        )
