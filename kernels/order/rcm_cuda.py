"""Reverse Cuthill-McKee on the GPU: permutations of `gravel.kernels.order.rcm` and
`gravel.kernels.order.rcm_by_degree`.

All components are searched and numbered at the same time, level by level, so that many small ones cost no
more launches than the deepest of them. The kernels are `rcm_ends.cu` and, for the levels, `rcm.cu` and
`rcm_wide.cu`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

from gravel.kernels.arrays import index_bits, index_dtype
from gravel.kernels.buffers import make
from gravel.kernels.components import components
from gravel.kernels.cuda import vertex_macro
from gravel.kernels.cuda.launch import Kernels
from gravel.kernels.order import buffers
from gravel.kernels.order.rcm_levels_cuda import MAX_BLOCKS, NOWHERE, Frontier, Levels

ENDS = "kernels/order/rcm_ends.cu"
STATES = 7  # as in rcm_ends.cu


def rcm(row_offsets: Any, column_indices: Any, **tuning: Any) -> Any:
    """Order a symmetric graph with sorted lists; returns (vertices,), permutation[old] = new.

    Parameters
    ----------
    row_offsets : int64 (vertices + 1,) on the device.
    column_indices : uint32 or uint64 (arcs,), a CuPy array whose memory may be the host's, mapped.
    tuning : `solo`, `most_arcs` and `most_row` of `gravel.kernels.order.rcm_levels_cuda.Levels`.

    """
    import cupy

    vertices = len(row_offsets) - 1
    if vertices == 0:
        return cupy.empty(0, index_dtype(0))
    graph = _Components(row_offsets, column_indices, tuning)
    levels = graph.levels
    if graph.count:
        root = graph.find_roots()
        levels.marks.fill(numpy.iinfo(levels.dtype).max)
        levels.number(graph.begin_at(root, 0))
    return graph.numbered().astype(index_dtype(vertices), copy=False)


def rcm_by_degree(row_offsets: Any, column_indices: Any, **tuning: Any) -> Any:
    """Order by levels and, within a level, by degree; arguments and result as of `rcm`."""
    import cupy

    vertices = len(row_offsets) - 1
    if vertices == 0:
        return cupy.empty(0, index_dtype(0))
    graph = _Components(row_offsets, column_indices, tuning)
    levels = graph.levels
    base = 1
    if graph.count:
        root = graph.find_roots()
        base = graph.next_base(graph.base)
        levels.search(base, graph.begin_at(root, base))
    return graph.numbered_by_level(base).astype(index_dtype(vertices), copy=False)


def _ranks(row_offsets: Any, dtype: Any) -> tuple[Any, Any]:
    """Return the place of each vertex by degree and then vertex, and the inverse."""
    import cupy

    vertices = len(row_offsets) - 1
    bits = index_bits(vertices)
    rank, by_rank = make(buffers.ranks(vertices, numpy.dtype(dtype).str[1:]), cupy).values()
    longest = int(cupy.diff(row_offsets).max())
    if longest.bit_length() + bits > 64:
        by_rank[...] = cupy.argsort(cupy.diff(row_offsets), kind="stable")
        rank[by_rank] = cupy.arange(vertices, dtype=dtype)
        return rank, by_rank
    run = Kernels(ENDS, most=MAX_BLOCKS, VERTEX=vertex_macro(dtype)).run
    keys, shift = buffers.keys(vertices).make(cupy), numpy.uint32(bits)
    run("rank_keys", vertices, row_offsets, vertices, shift, keys)
    keys.sort()
    run("ranks", vertices, keys, vertices, shift, rank, by_rank)
    return rank, by_rank


@dataclass(frozen=True)
class _Labels:
    """Components by their smallest vertices: number of each vertex, sizes before, and those with arcs."""

    component: Any  # (vertices,)
    first: Any  # (components,) the smallest vertex
    start: Any  # (components,) vertices of earlier components
    with_arcs: Any  # uint8 (components,)
    listed: Any  # int64, components with arcs


class _Components:
    """The components of a graph, and what is done to all of them at once."""

    def __init__(self, row_offsets: Any, column_indices: Any, tuning: dict[str, Any]) -> None:
        dtype = column_indices.dtype
        self._run = Kernels(ENDS, most=MAX_BLOCKS, VERTEX=vertex_macro(dtype)).run
        self.levels = Levels(row_offsets, column_indices, *_ranks(row_offsets, dtype), **tuning)
        self.vertices = len(row_offsets) - 1
        self._labels = self._label()
        self.count = len(self._labels.listed)
        self.base = 1

    def _label(self) -> _Labels:
        import cupy

        levels, vertices, dtype = self.levels, self.vertices, self.levels.dtype
        component = components(levels.row_offsets, levels.columns, symmetric=True).component
        counted = levels.queue  # free until the first search
        self._run("mark_smallest", vertices, component, vertices, counted)
        cupy.cumsum(counted, dtype=dtype, out=counted)
        count = int(counted[-1])
        first, sizes = cupy.empty(count, dtype), cupy.zeros(count, dtype)
        with_arcs = cupy.empty(count, cupy.uint8)
        given = levels.row_offsets, counted, vertices, component
        self._run("count_components", vertices, *given, first, sizes, with_arcs)
        start = cupy.cumsum(sizes, dtype=dtype) - sizes
        return _Labels(component, first, start, with_arcs, cupy.flatnonzero(with_arcs))

    def next_base(self, base: int) -> int:
        """Make room for labels from `base` on, a level for every vertex; returns where they may begin."""
        if base + self.vertices > numpy.iinfo(self.levels.dtype).max:
            self.levels.marks.fill(0)
            return 1
        return base

    def find_roots(self) -> Any:
        """Search components from their smallest vertices, then from far ends; returns their starts."""
        import cupy

        levels, labels = self.levels, self._labels
        states = cupy.empty(STATES * len(labels.first), levels.dtype)
        every = states, len(labels.first)
        counts = cupy.zeros(self.vertices, levels.dtype)
        tally = levels.new_tally()
        searches = self.count, levels.row_offsets, labels.listed, self.count
        started = levels.marks, self.base, levels.queue, tally
        self._run("begin_searches", *searches, labels.first, *every, *started)
        while (frontier := NOWHERE.next(tally)).end:
            base = self.base
            self.base = base + levels.search(base, frontier)
            searched = levels.marks, base, labels.component, labels.start
            counts.fill(0)
            self._run("count_levels", self.vertices, *searched, self.vertices, counts, *every)
            self._run("find_far", self.vertices, *searched, levels.rank, counts, self.vertices, *every)
            self.base = self.next_base(self.base)
            tally = levels.new_tally()
            started = levels.marks, self.base, levels.queue, tally
            self._run("judge_searches", *searches, *every, levels.by_rank, *started)
        return states[: len(labels.first)]

    def begin_at(self, root: Any, mark: int) -> Frontier:
        """Put all roots into the queue and mark them."""
        levels = self.levels
        tally = levels.new_tally()
        roots = levels.row_offsets, self._labels.listed, self.count, root
        self._run("begin_at_roots", self.count, *roots, levels.marks, mark, levels.queue, tally)
        _, arcs, longest, _ = (int(word) for word in tally.get())
        return Frontier(0, self.count, arcs, longest)

    def numbered(self) -> Any:
        """Number the queue backwards, components after each other; returns (vertices,)."""
        import cupy

        levels, labels, vertices = self.levels, self._labels, self.vertices
        order = buffers.order(vertices, levels.dtype.str[1:]).make(cupy)
        if len(labels.first) > self.count:
            graph = levels.row_offsets, vertices, labels.component, labels.start
            self._run("number_lone", vertices, *graph, order)
        lone = len(labels.first) - self.count
        queued = vertices - lone
        if self.count == 1:
            before = int(labels.start[labels.listed[0]])
            self._run("number_one", queued, levels.queue, queued, before, vertices, order)
        elif self.count:
            bits = index_bits(queued)
            if bits + len(labels.first).bit_length() > 64:
                raise ValueError(
                    f"{len(labels.first)} components of {vertices} vertices are too many to be sorted"
                )
            keys = buffers.keys(queued).make(cupy)
            shift = numpy.uint32(bits)
            self._run("component_keys", queued, levels.queue, queued, labels.component, shift, keys)
            keys.sort()
            without = 1 - labels.with_arcs.astype(levels.dtype)
            lone_before = cupy.cumsum(without, dtype=levels.dtype) - without
            made = keys, queued, shift, levels.queue, lone_before, vertices, order
            self._run("number_many", queued, *made)
        return order

    def numbered_by_level(self, base: int) -> Any:
        """Number the levels of the last search, whose labels begin at `base`, backwards."""
        import cupy

        levels, labels, vertices = self.levels, self._labels, self.vertices
        if 2 * levels.bits > 64:
            raise ValueError(f"{vertices} vertices are too many to be sorted by level and degree")
        order = buffers.order(vertices, levels.dtype.str[1:]).make(cupy)
        keys = buffers.keys(vertices).make(cupy)
        shift = numpy.uint32(levels.bits)
        graph = levels.row_offsets, vertices, labels.component, labels.start
        self._run("level_keys", vertices, *graph, levels.marks, base, levels.rank, shift, keys)
        keys.sort()
        self._run("number_levels", vertices, keys, vertices, shift, levels.by_rank, order)
        return order
