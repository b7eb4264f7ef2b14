"""The loops of a rank's checks on the current GPU; the kernels are `ranks.cu`."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.cuda import blocks_for, load, vertex_macro
from gravel.kernels.partition.layout import RankGraph, Subgraph
from gravel.kernels.verify.ranks.checker import Checker, padded_sum

BLOCK = 256


def is_wide(rows: Subgraph) -> int:
    """Tell whether row offsets are of 64 bits, 1 or 0."""
    return int(rows.row_offsets.dtype.itemsize == 8)


class OnDevice:
    """The kernels of a file on the current device, and the way of arrays to the host."""

    def __init__(self, path: str, delegates: Any) -> None:
        self._module = load(path, VERTEX=vertex_macro(delegates.dtype))

    def host(self, array: Any) -> Any:
        """Bring an array to the host."""
        return array if isinstance(array, numpy.ndarray) and not hasattr(array, "get") else array.get()

    def _run(self, name: str, threads: int, *arguments: Any) -> None:
        if threads:
            grid = blocks_for(threads, BLOCK, most=1 << 14)
            self._module.get_function(name)((grid,), (BLOCK,), arguments)


class RankChecker(OnDevice, Checker):
    """A rank's checks with CuPy arrays, which `part` and `delegates` have, too."""

    def __init__(self, part: RankGraph, delegates: Any, vertex_count: int, ranks: int) -> None:
        import cupy

        self.xp = cupy
        OnDevice.__init__(self, "kernels/verify/ranks/ranks.cu", delegates)
        Checker.__init__(self, part, delegates, vertex_count, ranks)
        self._none = cupy.empty(0, numpy.int64)

    def _parents(self, parents: Any) -> tuple[Any, numpy.uint32]:
        """Give parents as the kernels take them, and whether there are any."""
        if parents is None:
            return self._none, numpy.uint32(0)
        return parents.astype(numpy.int64, copy=False), numpy.uint32(1)

    def fault_bits(self, parents: Any, source: int, limit: int) -> Any:
        """Give the rules that each own vertex breaks."""
        bits = self.xp.empty(self.local, numpy.uint8)
        given, tree = self._parents(parents)
        sizes = numpy.uint64(self.vertex_count), numpy.uint64(self.local)
        here = numpy.uint32(self.rank), numpy.uint32(self.ranks)
        asked = numpy.uint64(source), numpy.int64(limit), tree
        self._run("vertex_bits", self.local, self.levels, given, *sizes, *here, *asked, bits)
        return bits

    def row_bits(self, parents: Any, deepest: int) -> Any:
        """Give the rules that each own normal vertex's row breaks."""
        part = self.part
        bits = self.xp.empty(self.local, numpy.uint8)
        given, tree = self._parents(parents)
        wide = numpy.uint32(is_wide(part.nn) | 2 * is_wide(part.nd))
        known = self.delegates, self.is_delegate, self.levels, given
        here = numpy.uint64(self.local), numpy.uint32(self.rank), numpy.uint32(self.ranks)
        asked = numpy.int64(deepest), tree
        self._run("normal_bits", self.local, *part.nn, *part.nd, wide, *known, *here, *asked, bits)
        return bits

    def delegate_flags(self, delegate_parents: Any) -> Any:
        """Give what is seen in this rank's part of each delegate's row."""
        count = len(self.delegates)
        flags = self.xp.zeros(count, numpy.uint8)
        given, tree = self._parents(delegate_parents)
        here = numpy.uint32(self.rank), numpy.uint32(self.ranks), tree
        for rows, of_delegates in ((self.part.dn, 0), (self.part.dd, 1)):
            kind = numpy.uint32(is_wide(rows)), numpy.uint32(of_delegates)
            known = self.delegates, numpy.uint64(count), self.levels, given
            self._run("see_rows", 32 * count, *rows, *kind, *known, *here, flags)
        return flags

    def level_sums(self, distance: Any) -> tuple[Any, Any]:
        """Count own vertices, and arcs held here, by level."""
        part = self.part
        told = []
        for levels, one, other in (
            (distance, part.nn, part.nd),
            (self.delegate_levels, part.dn, part.dd),
        ):
            depth = int(levels.max()) + 1 if len(levels) else 0
            sums = self.xp.zeros(2 * max(1, depth), numpy.uint64)
            wide = numpy.uint32(is_wide(one) | 2 * is_wide(other))
            sizes = numpy.uint64(len(levels)), numpy.uint64(max(1, depth))
            offsets = one.row_offsets, other.row_offsets
            self._run("sum_levels", len(levels), levels, *offsets, wide, *sizes, sums)
            told.append(self.host(sums).astype(numpy.int64).reshape(2, -1))
        # A delegate is among the own vertices of one rank, and has its arcs on several.
        return told[0][0], padded_sum([told[0][1], told[1][1]])
