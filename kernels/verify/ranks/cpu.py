"""The loops of a rank's checks on the CPU."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial
from gravel.kernels.partition.layout import Subgraph
from gravel.kernels.row_blocks import even_blocks, row_blocks, run_blocks
from gravel.kernels.verify.arcs import row_faults
from gravel.kernels.verify.ranks.checker import FOUND, JUMPS, LEAVES, Checker
from gravel.kernels.verify.tree import parent_of, vertex_fault

_NONE = numpy.empty(0, numpy.int64)


@serial
def _vertex_bits(first, last, rank, ranks, levels, parents, source, limit, bits):  # type: ignore[no-untyped-def]
    """Write the broken rules of own vertices, as `gravel.kernels.verify.tree` has them."""
    for local in range(first, last):
        parent = parent_of(local, parents)
        bits[local] = vertex_fault(local * ranks + rank, parent, levels, len(parents) > 0, source, limit)


@serial
def _normal_bits(  # type: ignore[no-untyped-def]
    first, last, nn_offsets, nn_columns, nd_offsets, nd_columns, delegates, is_delegate, rank, ranks, levels,
    parents, deepest, bits,
):  # fmt: skip
    """Write the broken rules of own normal vertices' rows, as `gravel.kernels.verify.arcs` has them."""
    with_tree = len(parents) > 0
    for local in range(first, last):
        level = levels[local * ranks + rank]
        bits[local] = 0
        if is_delegate[local] or level < 0:
            continue
        parent = parent_of(local, parents)
        jumps = False
        leaves = False
        found = False
        for kind in range(2):
            begin = nn_offsets[local] if kind == 0 else nd_offsets[local]
            end = nn_offsets[local + 1] if kind == 0 else nd_offsets[local + 1]
            for arc in range(numpy.int64(begin), numpy.int64(end)):
                w = numpy.int64(nn_columns[arc]) if kind == 0 else numpy.int64(delegates[nd_columns[arc]])
                other = levels[w]
                jumps |= (other > level + 1) | ((other >= 0) & (other < level - 1))
                leaves |= other < 0
                found |= (w == parent) if with_tree else (other == level - 1)
        bits[local] = row_faults(level, parent, jumps, leaves, found, with_tree, deepest)


@serial
def _see_row(  # type: ignore[no-untyped-def]
    first, last, offsets, columns, of_delegates, delegates, rank, ranks, levels, parents, flags
):
    """Set what delegates' rows show in one subgraph, dd (`of_delegates`) or dn."""
    with_tree = len(parents) > 0
    for row in range(first, last):
        level = levels[numpy.int64(delegates[row])]
        if level < 0:
            continue
        parent = parents[row] if with_tree else numpy.int64(-1)
        seen = flags[row]
        for arc in range(numpy.int64(offsets[row]), numpy.int64(offsets[row + 1])):
            column = numpy.int64(columns[arc])
            w = numpy.int64(delegates[column]) if of_delegates else column * ranks + rank
            other = levels[w]
            if other > level + 1 or 0 <= other < level - 1:
                seen |= JUMPS
            if other < 0:
                seen |= LEAVES
            if (w == parent) if with_tree else (other == level - 1):
                seen |= FOUND
        flags[row] = seen


class RankChecker(Checker):
    """A rank's checks on all threads of this process."""

    xp = numpy

    def fault_bits(self, parents: Any, source: int, limit: int) -> NDArray[numpy.uint8]:
        """Give the rules that each own vertex breaks."""
        bits = numpy.empty(self.local, numpy.uint8)
        labels = (self.levels, _NONE if parents is None else parents, source, limit, bits)
        run_blocks(lambda a, b: _vertex_bits(a, b, self.rank, self.ranks, *labels), even_blocks(self.local))
        return bits

    def row_bits(self, parents: Any, deepest: int) -> NDArray[numpy.uint8]:
        """Give the rules that each own normal vertex's row breaks."""
        bits = numpy.empty(self.local, numpy.uint8)
        own = (self.delegates, self.is_delegate, self.rank, self.ranks, self.levels)
        labels = (_NONE if parents is None else parents, deepest, bits)
        rows = (*self.part.nn, *self.part.nd)
        run_blocks(lambda a, b: _normal_bits(a, b, *rows, *own, *labels), even_blocks(self.local))
        return bits

    def delegate_flags(self, delegate_parents: Any) -> NDArray[numpy.uint8]:
        """Give what is seen in this rank's part of each delegate's row."""
        flags = numpy.zeros(len(self.delegates), numpy.uint8)
        parents = _NONE if delegate_parents is None else delegate_parents
        rest = (self.delegates, self.rank, self.ranks, self.levels, parents, flags)
        for rows, of_delegates in ((self.part.dn, False), (self.part.dd, True)):
            self._see(rows, of_delegates, rest)
        return flags

    def _see(self, rows: Subgraph, of_delegates: bool, rest: tuple[Any, ...]) -> None:
        run_blocks(lambda a, b: _see_row(a, b, *rows, of_delegates, *rest), row_blocks(rows.row_offsets))
