"""The checks of labels of strongly connected components on a GPU, where both rows are at once."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.buffers import make
from gravel.kernels.cuda import vertex_macro
from gravel.kernels.cuda.launch import Kernels
from gravel.kernels.verify.cuda.blocks import RowBlock, RowBlocks
from gravel.kernels.verify.cuda.integers import kind_of
from gravel.kernels.verify.cuda.memory import graph_size, plan_strong_components, strong_components
from gravel.kernels.verify.cuda.offenders import vertex_check
from gravel.kernels.verify.cuda.resources import Resources
from gravel.kernels.verify.cuda.upload import Uploads
from gravel.kernels.verify.given import refuse_labels
from gravel.kernels.verify.result import Check
from gravel.kernels.verify.strong_components import RULES


def check_strong_components(
    row_offsets: Any, column_indices: Any, component: Any, resources: Resources
) -> list[Check]:
    """Check labels as `gravel.kernels.verify.strong_components.check_strong_components` does.

    Arrays may be NumPy's, CuPy's or stored ones. Raises ValueError for labels of another number of vertices,
    and MemoryError with the numbers where it does not fit the room.

    Parameters
    ----------
    row_offsets, column_indices : rows of successors, int64 and uint32 or uint64.
    component : labels, any integer (vertices,).
    resources : what this may take.

    """
    import cupy

    n = len(row_offsets) - 1
    refuse_labels((n,), component=component)
    graph, width = graph_size(row_offsets, column_indices), component.dtype.itemsize
    resources.planned(lambda room: plan_strong_components(graph, width, room))
    vertex = vertex_macro(column_indices.dtype)
    path, block = "kernels/verify/cuda/strong_components.cu", resources.block
    kernels = Kernels(path, block=block, cooperative=True, VERTEX=vertex)
    counts = cupy.zeros(len(RULES), numpy.uint64)
    table = strong_components(n, len(column_indices), graph.width, width)
    labels, bits, tasks = make(table[:3], cupy).values()
    with Uploads(resources.threads) as uploads:
        given = uploads.brought(component)
        kernels.run("strong_labels", n, given, kind_of(component.dtype), n, labels, counts, bits)
        del given
        if int(counts[:1].get()[0]):
            return [_named("ranges", counts.get(), bits)]
        if n:
            (rows,) = RowBlocks(row_offsets, column_indices, uploads).each(kernels)
            _Passes(kernels, rows, labels, tasks).check(counts, bits)
    found = counts.get()
    return [_named(rule, found, bits) for rule in RULES]


def _named(rule: str, counts: Any, bits: Any) -> Check:
    place = list(RULES).index(rule)
    return vertex_check(rule, RULES[rule], int(counts[place]), bits, place)


class _Passes:
    """Passes over the rows of a graph and over those of predecessors."""

    def __init__(self, kernels: Kernels, rows: RowBlock, labels: Any, tasks: Any) -> None:
        self._kernels, self._rows, self._labels = kernels, rows, labels
        self._n, self._pieces = rows.rows, (rows.pieces, len(rows.pieces) // 4)
        self._tasks = tasks

    def check(self, counts: Any, bits: Any) -> None:
        """Find what is left over by each pass."""
        rows, n = self._rows, self._n
        seen = self._reached(rows.offsets, rows.columns), self._reached(*self._predecessors())
        self._kernels.run("check_passes", n, *seen, self._left_on_cycles(), n, counts, bits)

    def _reached(self, offsets: Any, columns: Any) -> Any:
        import cupy

        seen = cupy.zeros((self._n + 31) // 32, numpy.uint32)
        self._cooperate("reach", offsets, columns, self._n, self._labels, seen)
        return seen

    def _predecessors(self) -> tuple[Any, Any]:
        import cupy

        offsets, columns = self._rows.offsets, self._rows.columns
        ends = self._ends("tally_heads", columns)
        tails = cupy.empty(len(columns), columns.dtype)
        threads = 32 * (self._n + self._pieces[1])
        self._kernels.run("place_tails", threads, offsets, columns, self._n, *self._pieces, ends, tails)
        return ends, tails

    def _left_on_cycles(self) -> Any:
        import cupy

        rows, n = (self._rows.offsets, self._rows.columns, self._n), self._n
        entering = cupy.zeros(n, numpy.uint64)
        threads = 32 * (n + self._pieces[1])
        self._kernels.run("count_entering", threads, *rows, *self._pieces, self._labels, entering)
        first, members = self._ends("tally_labels", self._labels), cupy.empty(n, numpy.uint32)
        self._kernels.run("place_members", n, self._labels, n, first, members)
        self._cooperate("peel", *rows, self._labels, first, members, entering)
        return entering

    def _ends(self, kernel: str, groups: Any) -> Any:
        """Say where each group ends, and after the last one how many numbers there are."""
        import cupy

        sizes = cupy.zeros(self._n + 1, numpy.int64)
        self._kernels.run(kernel, len(groups), groups, len(groups), sizes)
        cupy.cumsum(sizes, out=sizes)
        return sizes

    def _cooperate(self, name: str, *arguments: Any) -> None:
        import cupy

        state = cupy.zeros(2, numpy.uint64)
        self._kernels.cooperate(name, *arguments, self._tasks, state[:1], state[1:])
