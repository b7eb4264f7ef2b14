"""The loops of a rank's checks on the current GPU; the kernels are `ranks.cu`."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.cuda import vertex_macro
from gravel.kernels.cuda.launch import Kernels
from gravel.kernels.partition.layout import RankGraph, Subgraph
from gravel.kernels.verify.ranks.checker import Checker
from gravel.kernels.verify.ranks.rows import padded_sum


def wide(*several: Subgraph) -> numpy.uint32:
    """Tell which of some subgraphs have row offsets of 64 bits, a bit for each."""
    return numpy.uint32(sum((rows.row_offsets.dtype.itemsize == 8) << i for i, rows in enumerate(several)))


class OnDevice:
    """The kernels of a file on the current device, and the way of arrays to the host."""

    def __init__(self, path: str, delegates: Any) -> None:
        self._run = Kernels(path, VERTEX=vertex_macro(delegates.dtype)).run

    def host(self, array: Any) -> Any:
        """Bring an array to the host."""
        return array if isinstance(array, numpy.ndarray) and not hasattr(array, "get") else array.get()


class RankChecker(OnDevice, Checker):
    """A rank's checks with CuPy arrays, which `part` and `delegates` have, too."""

    def __init__(self, part: RankGraph, delegates: Any, vertex_count: int, ranks: int) -> None:
        import cupy

        self.xp = cupy
        OnDevice.__init__(self, "kernels/verify/ranks/ranks.cu", delegates)
        Checker.__init__(self, part, delegates, vertex_count, ranks)
        self._none = cupy.empty(0, numpy.int64)
        self._here = numpy.uint32(self.rank), numpy.uint32(ranks)

    def _parents(self, parents: Any) -> tuple[Any, numpy.uint32]:
        """Give parents as the kernels take them, and whether there are any."""
        if parents is None:
            return self._none, numpy.uint32(0)
        return parents.astype(numpy.int64, copy=False), numpy.uint32(1)

    def fault_bits(self, parents: Any, source: int, limit: int) -> Any:
        """Give the rules that each own vertex breaks."""
        bits = self.xp.empty(self.local, numpy.uint8)
        given, tree = self._parents(parents)
        here = self.vertex_count, self.local, *self._here
        self._run(
            "vertex_bits", self.local, self.levels, given, *here, source, numpy.int64(limit), tree, bits
        )
        return bits

    def row_bits(self, parents: Any, deepest: int) -> Any:
        """Give the rules that each own normal vertex's row breaks."""
        part = self.part
        bits = self.xp.empty(self.local, numpy.uint8)
        given, tree = self._parents(parents)
        rows = *part.nn, *part.nd, wide(part.nn, part.nd)
        known = self.delegates, self.is_delegate, self.levels, given, self.local, *self._here
        self._run("normal_bits", self.local, *rows, *known, numpy.int64(deepest), tree, bits)
        return bits

    def delegate_flags(self, delegate_parents: Any) -> Any:
        """Give what is seen in this rank's part of each delegate's row."""
        count = len(self.delegates)
        flags = self.xp.zeros(count, numpy.uint8)
        given, tree = self._parents(delegate_parents)
        known = self.delegates, count, self.levels, given, *self._here, tree
        for rows, of_delegates in ((self.part.dn, 0), (self.part.dd, 1)):
            self._run("see_rows", 32 * count, *rows, wide(rows), numpy.uint32(of_delegates), *known, flags)
        return flags

    def level_sums(self, distance: Any) -> tuple[Any, Any]:
        """Count own vertices, and arcs held here, by level."""
        part = self.part
        sums_of_passes = []
        for levels, one, other in ((distance, part.nn, part.nd), (self.delegate_levels, part.dn, part.dd)):
            depth = int(levels.max()) + 1 if len(levels) else 0
            sums = self.xp.zeros(2 * max(1, depth), numpy.uint64)
            rows = one.row_offsets, other.row_offsets, wide(one, other)
            self._run("sum_levels", len(levels), levels, *rows, len(levels), max(1, depth), sums)
            sums_of_passes.append(self.host(sums).astype(numpy.int64).reshape(2, -1))
        # A delegate is among the own vertices of one rank, and has its arcs on several.
        return sums_of_passes[0][0], padded_sum([sums_of_passes[0][1], sums_of_passes[1][1]])
