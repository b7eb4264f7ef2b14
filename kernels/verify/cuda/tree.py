"""Levels counted along the predecessors of one search on the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

from gravel.kernels.buffers import make
from gravel.kernels.cuda.launch import Kernels
from gravel.kernels.verify.cuda.integers import kind_of
from gravel.kernels.verify.cuda.memory import ancestors

RULES = 8
"""How many counts a search has, in the order of rules.cuh."""


@dataclass(frozen=True)
class TreeLevels:
    """How many vertices break which rule, and the largest level; `strange` predecessors leave no levels."""

    strange: int
    counts: Any
    highest: int


class Tree:
    """Counts levels, one search after another, in memory that it keeps."""

    def __init__(self, kernels: Kernels, vertex_count: int) -> None:
        import cupy

        self._kernels, self._n = kernels, vertex_count
        (self._up,) = make(ancestors(vertex_count), cupy).values()

    def count(
        self, predecessor: Any, source: int, limit: int, levels: Any = None, bits: Any = None
    ) -> TreeLevels:
        """Fill `levels` and the bits of broken rules; levels are int32, -1 where no way leads to the source.

        Ways double with each round, so that a tree of depth d takes log2(d) rounds, a cycle log2(n).
        """
        import cupy

        n = self._n
        given = predecessor, kind_of(predecessor.dtype), n, source
        counts = cupy.zeros(RULES, numpy.uint64)
        self._kernels.run("tree_start", n, *given, self._up, counts, bits)
        strange = int(counts.get()[0])
        if strange:
            return TreeLevels(strange, counts.get(), 0)
        for _ in range(n.bit_length() + 1):
            changed = cupy.zeros(1, numpy.uint32)
            self._kernels.run("tree_jump", n, self._up, n, source, changed)
            if not int(changed.get()[0]):
                break
        highest = cupy.zeros(1, numpy.uint32)
        end = numpy.int64(limit), self._up, levels, counts, highest, bits
        self._kernels.run("tree_levels", n, *given, *end)
        return TreeLevels(0, counts.get(), int(highest.get()[0]))
