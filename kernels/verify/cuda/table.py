"""Labels of a batch of searches side by side for each vertex, and the pass over the rows that checks them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

from gravel.kernels.buffers import make
from gravel.kernels.cuda.launch import Kernels
from gravel.kernels.verify.cuda.blocks import RowBlocks
from gravel.kernels.verify.cuda.integers import kind_of
from gravel.kernels.verify.cuda.memory import label_table

TILE = 8
"""Rows of which a warp reads the predecessors together (rows.cu)."""

LABELS = ("u8", "u16", "u32")
"""Types of a label, each of twice the bytes of the one before."""


@dataclass(frozen=True)
class SearchBounds:
    """What the searches are of: a graph, and how far they went.

    `limit` is the largest distance there may be; vertices at the distance `deepest` are not expanded.
    """

    symmetric: bool
    is_sorted: bool
    limit: int
    deepest: int


@dataclass(frozen=True)
class Parents:
    """Predecessors of searches on the device, one search after another, or None where there are none."""

    array: Any = None

    def of(self, search: int) -> tuple[Any, Any]:
        """Return those from a search on as kernels take them, with how they are read."""
        if self.array is None:
            return None, numpy.uint32(0)
        return self.array[search:], kind_of(self.array.dtype)


class LabelTable:
    """For each vertex `words` words with the level plus 1 in every search, 0 where it was not reached.

    `width` chooses the type of a label.
    """

    def __init__(
        self,
        vertex: str,
        width: int,
        words: int,
        block: int,
        vertex_count: int,
        bounds: SearchBounds,
        *,
        tree: bool,
    ) -> None:
        import cupy

        label = LABELS[width]
        self._kernels = Kernels("kernels/verify/cuda/rows.cu", block=block, VERTEX=vertex, LABEL=label)
        self._bits = 8 << width
        self._per_word = 4 >> width
        self._words, self._n, self._asked, self._tree = words, vertex_count, bounds, tree
        nearer = not bounds.symmetric and not tree
        made = make(label_table(vertex_count, words, nearer=nearer, per_word=self._per_word), cupy)
        self._table, self._nearer = made["labels"], made["nearer"] if nearer else None

    @property
    def searches(self) -> int:
        """How many searches have room."""
        return self._words * self._per_word

    @property
    def deepest(self) -> int:
        """The largest level that a label holds."""
        return (1 << self._bits) - 2

    def clear(self) -> None:
        """Forget all labels."""
        self._table.fill(0)

    def arrange(self, levels: Any, first: int, count: int) -> None:
        """Write levels of a few searches, (searches, vertices), as those from search `first` on."""
        given = levels, kind_of(levels.dtype), self._n, numpy.uint32(count), numpy.uint32(first)
        self._kernels.run("arrange", self._n, *given, self._table, numpy.uint32(self._words))

    def levels_of(self, search: int, vertices: Any) -> Any:
        """Return the levels of some vertices in a search, -1 where it did not reach them."""
        import cupy

        where = numpy.asarray(vertices, numpy.int64) * self._words + search // self._per_word
        words = self._table[cupy.asarray(where)].get().astype(numpy.int64)
        return (words >> (search % self._per_word * self._bits) & ((1 << self._bits) - 1)) - 1

    def check_rows(
        self,
        blocks: RowBlocks,
        parents: Parents,
        searches: int,
        counts: Any,
        bits: Any = None,
        wanted: int = 0,
    ) -> None:
        """Count, by search and rule, the vertices whose rows break it; `bits` are of search `wanted`."""
        import cupy

        run, words, several = self._kernels.run, numpy.uint32(self._words), numpy.uint32(searches)
        n, table, symmetric = self._n, (self._table, words), self._asked.symmetric
        rules = numpy.uint32(symmetric), self._asked.deepest
        end = counts, numpy.uint32(wanted), bits
        # Of a directed graph a vertex's row does not hold the arcs towards it.
        tree = *(parents if symmetric else Parents()).of(0), n, several
        warps = self._kernels.block // 32 if symmetric and self._tree else 0
        shared = 4 * warps * TILE * (self.searches + 1)
        if self._nearer is not None:
            self._nearer.fill(0)
        for block in blocks.each(self._kernels):
            rows = block.as_arguments()
            tiles = -(-block.rows // TILE)
            run("check_rows", 32 * tiles, *rows, *table, *tree, *rules, *end, shared=shared)
            if block.long_count:
                seen = cupy.zeros(block.long_count * self._words, numpy.uint32)
                pieces = block.pieces, len(block.pieces) // 4
                bounds: tuple[Any, ...] = *pieces, *table, *tree, rules[0], seen
                run("see_long_rows", 8 * len(block.pieces), *rows[:3], *bounds)
                listed = block.long_rows, block.long_count, rows[2]
                bounds = *listed, *table, *tree, *rules, seen, *end
                run("check_long_rows", block.long_count * self._words, *bounds)
            if self._nearer is not None:
                run("mark_nearer", 32 * block.rows, *rows, *table, self._nearer)
            elif not symmetric:
                bounds = *table, *parents.of(0), n, several, numpy.uint32(self._asked.is_sorted)
                run("check_tree_arcs", self._n, *rows, *bounds, *end)
        if self._nearer is not None:
            run("check_nearer", self._n, *table, n, several, self._nearer, *end)
