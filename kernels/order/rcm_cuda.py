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

from gravel.kernels.components import components
from gravel.kernels.cuda import load, vertex_macro
from gravel.kernels.index import index_dtype
from gravel.kernels.order.rcm_levels_cuda import Frontier, Levels

ENDS = "kernels/order/rcm_ends.cu"
STATES = 7  # as in rcm_ends.cu


def rcm(row_offsets: Any, column_indices: Any, **tuning: Any) -> Any:
    """Order a symmetric graph with sorted lists; returns (vertices,), permutation[old] = new.

    Parameters
    ----------
    row_offsets : int64 (vertices + 1,) on the device.
    column_indices : uint32 or uint64 (arcs,), a CuPy array whose memory may be the host's, mapped.
    tuning : `solo`, `most_arcs` and `most_row` of `gravel.kernels.order.rcm_levels_cuda.Levels`.

    Beside the result it takes about 40 bytes for each vertex while it runs, with 64-bit columns twice that.

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
    bits = max(1, (vertices - 1).bit_length())
    rank, by_rank = cupy.empty(vertices, dtype), cupy.empty(vertices, dtype)
    longest = int(cupy.diff(row_offsets).max())
    if longest.bit_length() + bits > 64:
        by_rank[...] = cupy.argsort(cupy.diff(row_offsets), kind="stable")
        rank[by_rank] = cupy.arange(vertices, dtype=dtype)
        return rank, by_rank
    module = load(ENDS, VERTEX=vertex_macro(dtype))
    keys = cupy.empty(vertices, cupy.uint64)
    count, shift = numpy.uint64(vertices), numpy.uint32(bits)
    grid = (min(-(-vertices // 256), 1 << 13),), (256,)
    module.get_function("rank_keys")(*grid, (row_offsets, count, shift, keys))
    keys.sort()
    module.get_function("ranks")(*grid, (keys, count, shift, rank, by_rank))
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
        self._ends = load(ENDS, VERTEX=vertex_macro(dtype))
        self.levels = Levels(row_offsets, column_indices, *_ranks(row_offsets, dtype), **tuning)
        self.vertices = len(row_offsets) - 1
        self._labels = self._label()
        self.count = len(self._labels.listed)
        self.base = 1

    def _launch(self, kernel: str, items: int, *arguments: Any) -> None:
        self.levels.launch(self._ends, kernel, items, *arguments)

    def _label(self) -> _Labels:
        import cupy

        levels, vertices, dtype = self.levels, self.vertices, self.levels.dtype
        component = components(levels.row_offsets, levels.columns, symmetric=True).component
        counted = levels.queue  # free until the first search
        self._launch("mark_smallest", vertices, component, vertices, counted)
        cupy.cumsum(counted, dtype=dtype, out=counted)
        count = int(counted[-1])
        first, sizes = cupy.empty(count, dtype), cupy.zeros(count, dtype)
        with_arcs = cupy.empty(count, cupy.uint8)
        self._launch(
            "count_components",
            vertices,
            levels.row_offsets,
            counted,
            vertices,
            component,
            first,
            sizes,
            with_arcs,
        )
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
        listed = labels.listed, self.count
        tally = levels.new_tally()
        self._launch(
            "begin_searches",
            self.count,
            levels.row_offsets,
            *listed,
            labels.first,
            *every,
            levels.marks,
            self.base,
            levels.queue,
            tally,
        )
        while (frontier := _frontier(tally)).end:
            base = self.base
            self.base = base + levels.search(base, frontier)
            searched = levels.marks, base, labels.component, labels.start
            counts.fill(0)
            self._launch("count_levels", self.vertices, *searched, self.vertices, counts, *every)
            self._launch("find_far", self.vertices, *searched, levels.rank, counts, self.vertices, *every)
            self.base = self.next_base(self.base)
            tally = levels.new_tally()
            self._launch(
                "judge_searches",
                self.count,
                levels.row_offsets,
                *listed,
                *every,
                levels.by_rank,
                levels.marks,
                self.base,
                levels.queue,
                tally,
            )
        return states[: len(labels.first)]

    def begin_at(self, root: Any, mark: int) -> Frontier:
        """Put all roots into the queue and mark them."""
        levels = self.levels
        tally = levels.new_tally()
        listed = self._labels.listed, self.count
        self._launch(
            "begin_at_roots",
            self.count,
            levels.row_offsets,
            *listed,
            root,
            levels.marks,
            mark,
            levels.queue,
            tally,
        )
        _, arcs, longest, _ = (int(word) for word in tally.get())
        return Frontier(0, self.count, arcs, longest)

    def numbered(self) -> Any:
        """Number the queue backwards, components after each other; returns (vertices,)."""
        import cupy

        levels, labels, vertices = self.levels, self._labels, self.vertices
        order = cupy.empty(vertices, levels.dtype)
        if len(labels.first) > self.count:
            self._launch(
                "number_lone", vertices, levels.row_offsets, vertices, labels.component, labels.start, order
            )
        lone = len(labels.first) - self.count
        queued = vertices - lone
        if self.count == 1:
            before = int(labels.start[labels.listed[0]])
            self._launch("number_one", queued, levels.queue, queued, before, vertices, order)
        elif self.count:
            bits = max(1, (queued - 1).bit_length())
            if bits + len(labels.first).bit_length() > 64:
                raise ValueError(
                    f"{len(labels.first)} components of {vertices} vertices are too many to be sorted"
                )
            keys = cupy.empty(queued, cupy.uint64)
            shift = numpy.uint32(bits)
            self._launch("component_keys", queued, levels.queue, queued, labels.component, shift, keys)
            keys.sort()
            without = 1 - labels.with_arcs.astype(levels.dtype)
            lone_before = cupy.cumsum(without, dtype=levels.dtype) - without
            self._launch(
                "number_many", queued, keys, queued, shift, levels.queue, lone_before, vertices, order
            )
        return order

    def numbered_by_level(self, base: int) -> Any:
        """Number the levels of the last search, whose labels begin at `base`, backwards."""
        import cupy

        levels, labels, vertices = self.levels, self._labels, self.vertices
        if 2 * levels.bits > 64:
            raise ValueError(f"{vertices} vertices are too many to be sorted by level and degree")
        order = cupy.empty(vertices, levels.dtype)
        keys = cupy.empty(vertices, cupy.uint64)
        shift = numpy.uint32(levels.bits)
        self._launch(
            "level_keys",
            vertices,
            levels.row_offsets,
            vertices,
            labels.component,
            labels.start,
            levels.marks,
            base,
            levels.rank,
            shift,
            keys,
        )
        keys.sort()
        self._launch("number_levels", vertices, keys, vertices, shift, levels.by_rank, order)
        return order


def _frontier(tally: Any) -> Frontier:
    found, arcs, longest, _ = (int(word) for word in tally.get())
    return Frontier(0, found, arcs, longest)
