"""Delta-stepping on CUDA, in one cooperative launch for distances and one for the tree."""

from __future__ import annotations

import time
from typing import Any

import numpy

from gravel.kernels.cuda import event_milliseconds, load, refuse_block, resident_blocks, vertex_macro
from gravel.kernels.sssp import SSSPResult
from gravel.kernels.sssp.cuda import by_weight as ordering
from gravel.kernels.sssp.cuda.by_weight import ByWeight
from gravel.kernels.sssp.cuda.memory import HUB, ROUND, STATE, WIDE, room_of
from gravel.kernels.sssp.weights import WeightedRows

SOURCE = "kernels/sssp/delta_stepping.cu"

WIDTH, WIDTH_SKEWED = 64.0, 6.0
"""Mean weights over the mean degree that a bucket is wide, narrower where hubs are.

Davidson et al. 2014 have 32. On an H100, 16, 32, 64, 128 and 256 took 14.0, 11.0, 9.5, 9.5 and 10.5 ms on
USA-road-NE. On Kronecker 20, 1.5, 3, 6 and 12 took 4.5, 3.5, 3.3 and 3.2 ms:
`python -m tests.benchmarks.sssp --widths`."""

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
    by_weight: bool = False,
) -> DeltaStepping:
    """Make rows ready; see `gravel.kernels.sssp.prepare`.

    Parameters
    ----------
    width : how many mean weights a bucket is wide, above 0; by default `WIDTH` over the mean degree, and
        `WIDTH_SKEWED` where a row is `SKEWED` times as long as the mean one.
    block : threads of a block, a multiple of 32 from 32 to 1024.
    few_arcs : arcs of a frontier, by the mean degree, that a block relaxes alone: as many for each block.
    by_weight : whether symmetric rows are copied in the order of weights, for light arcs and pulls.

    """
    width = default_width(weighted) if width is None else width
    if not width > 0:
        raise ValueError(f"width is {width}; it must be above 0")
    refuse_block(block)
    started = time.perf_counter()
    if few_arcs < 0:
        raise ValueError(f"few_arcs is {few_arcs}; it must not be below 0")
    search = DeltaStepping(weighted, predecessor, width, block, few_arcs)
    if by_weight and weighted.arcs:
        ordered = ByWeight(weighted, width, block)
        if ordered.symmetric:
            search.order(ordered)
    search.prepare_milliseconds = (time.perf_counter() - started) * 1e3
    return search


def default_width(weighted: WeightedRows) -> float:
    """Choose the mean weights of a bucket by the degrees."""
    offsets = weighted.row_offsets
    longest = int((offsets[1:] - offsets[:-1]).max()) if weighted.vertices else 0
    return (WIDTH_SKEWED if longest > SKEWED * weighted.mean_degree else WIDTH) / weighted.mean_degree


class DeltaStepping:
    """Rows made ready, with the queues of a search."""

    prepare_milliseconds = 0.0
    _ordered: ByWeight | None = None
    rounds_of_the_grid = 0
    """Rounds and splits of the last search that all blocks took together; in the others each worked alone."""

    def __init__(
        self, weighted: WeightedRows, predecessor: bool, width: float, block: int, few_arcs: int
    ) -> None:
        import cupy

        rows, n = weighted, weighted.vertices
        self._rows, self._predecessor = rows, predecessor
        self._width = rows.width(width)
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
        self._grids = [
            ((resident_blocks(kernel, block),), (block,)) for kernel in (self._search, self._find_tree)
        ]
        self._arrays = tuple(
            cupy.ascontiguousarray(each) for each in (rows.row_offsets, rows.column_indices, rows.weights)
        )
        self._marks, self._piled = cupy.empty(n, numpy.uint32), cupy.empty(n, numpy.uint32)
        self._queues = cupy.empty(4 * n, index)
        self._hubs = cupy.empty(rows.arcs // HUB + 1, index)
        self._state = cupy.empty(STATE, numpy.uint64)

    def order(self, ordered: ByWeight) -> None:
        """Search rows in the order of weights from now on."""
        self._ordered = ordered

    def run(self, source: int) -> SSSPResult:
        """Search from one vertex; the time covers initialisation, search and tree."""
        import cupy

        rows = self._rows
        source = rows.check_source(source)
        words = cupy.empty(rows.vertices, rows.words)
        tree = cupy.empty(rows.vertices, rows.column_indices.dtype) if self._predecessor else None
        milliseconds = event_milliseconds(lambda: self._launch(source, words, tree))
        found = None
        if tree is not None:
            found = tree.view(numpy.int32 if tree.dtype == numpy.uint32 else numpy.int64)
        rounds = int(self._kept[ROUND if self._ordered is None else ordering.ROUND])
        self.rounds_of_the_grid = int(self._kept[WIDE])
        return SSSPResult(source, rows.distances(words), found, milliseconds, rounds)

    def _launch(self, source: int, words: Any, tree: Any | None) -> None:
        rows = self._rows
        counts = (numpy.uint64(rows.vertices), numpy.uint64(source))
        unreached = rows.words.type(rows.unreached)
        words.fill(unreached)
        if self._ordered is not None:
            self._launch_ordered(self._ordered, source, words, tree)
            return
        self._marks.fill(0)
        self._piled.fill(0)
        self._state.fill(0)
        queues = (self._queues, self._hubs, self._state)
        search = (*self._arrays, *counts, self._width, self._few, words, self._marks, self._piled, *queues)
        self._search(*self._grids[0], search)
        self._kept = self._state.copy()
        if tree is None:
            return
        tree.fill(tree.dtype.type(numpy.iinfo(tree.dtype).max))
        self._marks.fill(0)
        self._state.fill(0)
        self._find_tree(
            *self._grids[1],
            (*self._arrays, *counts, unreached, words, tree, self._marks, *queues, numpy.uint32(0)),
        )

    def _launch_ordered(self, ordered: ByWeight, source: int, words: Any, tree: Any | None) -> None:
        rows = self._rows
        ordered.launch(source, words, tree)
        self._kept = ordered.state.copy()
        if tree is None:
            return
        self._marks.fill(0)
        self._state.fill(0)
        counts = (numpy.uint64(rows.vertices), numpy.uint64(source), rows.words.type(rows.unreached))
        given = (*self._arrays, *counts, words, tree, self._marks, self._queues, self._hubs, self._state)
        self._find_tree(*self._grids[1], (*given, numpy.uint32(1)))
