"""A batch of searches on the device: their labels, side by side for each vertex, and what their arcs show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from gravel.kernels.strategy import backend_of
from gravel.kernels.verify.cuda.blocks import RowBlocks
from gravel.kernels.verify.cuda.launch import Kernels, kind_of
from gravel.kernels.verify.cuda.memory import CHUNK
from gravel.kernels.verify.cuda.tree import RULES, Tree
from gravel.kernels.verify.cuda.upload import Job, Row, Sending, Uploads

TILE = 8
"""Rows of which a warp reads the predecessors together (rows.cu)."""

NONE = numpy.uint64(0)
"""A null pointer."""


class TooDeep(Exception):
    """A level does not fit the labels of the table."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.level = level


class SearchBatch:
    """Loads and checks up to `at_once` searches; `counts` has the vertices that break each rule of each.

    `load` is followed by `check_rows`, and both by `bits` where the offenders of a search are wanted.
    """

    def __init__(
        self,
        kernels: Kernels,
        blocks: RowBlocks,
        uploads: Uploads,
        at_once: int,
        distance: Any,
        predecessor: Any,
        *,
        symmetric: bool,
        is_sorted: bool,
        limit: int,
        deepest: int,
        words: int,
        block: int,
    ) -> None:
        import cupy

        self.blocks, self.at_once = blocks, at_once
        self.symmetric, self.limit = symmetric, limit
        self.with_tree, self.with_distance = predecessor is not None, distance is not None
        self._kernels, self._uploads = kernels, uploads
        self._vertices = Kernels("kernels/verify/cuda/vertices.cu", block)
        self._distance, self._predecessor = distance, predecessor
        self._is_sorted, self._deepest, self._words = is_sorted, deepest, words
        n = self._n = blocks.vertex_count
        self._tree: Tree | None = None
        several = min(CHUNK, at_once)
        self._raw = None
        if not self.with_distance:
            self._raw = cupy.empty((several, n), numpy.int32)
        elif backend_of(distance) == "cpu":
            # The next ones come while these are checked.
            self._raw = cupy.empty((min(2 * CHUNK, at_once), n), distance.dtype)
        self._above = None
        if self.with_tree and backend_of(predecessor) == "cpu":
            self._above = cupy.empty((at_once, n), predecessor.dtype)
        self._table = cupy.zeros(n * words, numpy.uint32)
        self._nearer = None
        if not symmetric and not self.with_tree:
            self._nearer = cupy.empty(n * words * (4 // self._label_bytes), numpy.uint8)
        self.parents: Any = None
        self.sources: Sequence[int] = ()
        self.strange: Any = None
        self._first = 0
        self.counts: Any = None

    @property
    def _label_bytes(self) -> int:
        return {"u8": 1, "u16": 2, "u32": 4}[str(self._kernels.macros["LABEL"])]

    def load(self, first: int, sources: Sequence[int]) -> None:
        """Bring searches from `first` on to the device and check their vertices; raises TooDeep."""
        import cupy

        if len(sources) < self.at_once:
            # Labels of a fuller batch would be checked on.
            self._table.fill(0)
        self._first, self.sources = first, sources
        self.parents = self._above
        if self.with_tree and self._above is None:
            self.parents = cupy.ascontiguousarray(self._predecessor[first : first + len(sources)])
        self.strange = numpy.zeros(len(sources), numpy.bool_)
        self._counts = cupy.zeros((len(sources), RULES), numpy.uint64)
        self.counts = numpy.zeros((len(sources), RULES), numpy.int64)
        here = coming = self._start(0)
        try:
            for low in range(0, len(sources), CHUNK):
                here, coming = coming, self._start(low + CHUNK)
                here.wait()
                self._arrange(low, *self._load_chunk(low, sources[low : low + CHUNK]))
        finally:
            # Nothing may be written to memory that is given back.
            here.stop()
            coming.stop()

    def _start(self, low: int) -> Sending:
        """Begin to send labels of the next few searches of the batch that are not on the device."""
        places = range(low, min(low + CHUNK, len(self.sources)))
        jobs = [
            Job(Row(array, self._first + place), room[place % len(room)])
            for array, room in ((self._predecessor, self._above), (self._distance, self._raw))
            if room is not None and array is not None
            for place in places
        ]
        return self._uploads.start(jobs)

    def _arrange(self, low: int, labels: Any, highest: int) -> None:
        """Write labels of a few searches into the table; raises TooDeep."""
        if highest > (1 << 8 * self._label_bytes) - 2:
            raise TooDeep(highest)
        kind, several = numpy.uint32(kind_of(labels.dtype)), numpy.uint32(min(CHUNK, len(self.sources) - low))
        known = labels, kind, numpy.uint64(self._n), several, numpy.uint32(low)
        self._kernels.run("arrange", self._n, *known, self._table, numpy.uint32(self._words))

    def _distances(self, low: int, count: int) -> Any:
        """Return distances of searches of this batch that are on the device."""
        if self._raw is not None:
            return self._raw[low % len(self._raw) :][:count]
        import cupy

        first = self._first + low
        return cupy.ascontiguousarray(self._distance[first : first + count])

    def _load_chunk(self, low: int, sources: Sequence[int]) -> tuple[Any, int]:
        """Give labels of some searches and the largest that is in range; counts what their vertices break."""
        if not self.with_distance:
            return self._count_levels(low, sources)
        import cupy

        labels = self._distances(low, len(sources))
        counts = cupy.zeros((len(sources), RULES), numpy.uint64)
        highest = cupy.zeros(len(sources), numpy.uint32)
        for place in range(len(sources)):
            found = counts[place], highest[place : place + 1]
            self._check_vertices(labels[place], low + place, *found, NONE)
        self.counts[low : low + len(sources)] += counts.get().astype(numpy.int64)
        return labels, int(highest.get().max())

    def _check_vertices(self, labels: Any, place: int, counts: Any, highest: Any, bits: Any) -> None:
        kind = numpy.uint32(kind_of(labels.dtype))
        source, limit = numpy.uint64(self.sources[place]), numpy.int64(self.limit)
        asked = *self._parents_from(place), numpy.uint64(self._n), source, limit
        self._vertices.run("check_vertices", self._n, labels, kind, *asked, counts, highest, bits)

    def _parents_from(self, low: int) -> tuple[Any, Any]:
        if self.parents is None:
            return NONE, numpy.uint32(0)
        return self.parents[low:], numpy.uint32(kind_of(self.parents.dtype))

    def _count_levels(self, low: int, sources: Sequence[int]) -> tuple[Any, int]:
        raw, highest = self._raw, 0
        assert raw is not None
        for place, source in enumerate(sources):
            found = self.tree.count(self.parents[low + place], source, self.limit, raw[place])
            if found.strange:
                self.strange[low + place] = True
                raw[place].fill(-1)
            self.counts[low + place] += found.counts.astype(numpy.int64)
            highest = max(highest, found.highest)
        return raw, highest

    @property
    def tree(self) -> Tree:
        """What counts levels along predecessors."""
        if self._tree is None:
            self._tree = Tree(self._vertices, self._n)
        return self._tree

    def check_rows(self) -> None:
        """Check the arcs of all searches that were loaded."""
        self._pass_rows(self._counts, NONE, 0)
        self.counts = self.counts + self._counts.get().astype(numpy.int64)

    def vertex_bits(self, place: int) -> Any:
        """Return the rules that each vertex of a search breaks by itself, as bits on the device."""
        import cupy

        bits = cupy.zeros(self._n, numpy.uint8)
        counts, highest = cupy.zeros(RULES, numpy.uint64), cupy.zeros(1, numpy.uint32)
        if self._raw is not None:
            # Others have come to where it was.
            room = self._raw[place % len(self._raw)]
            self._uploads.send(Row(self._distance, self._first + place), room)
        self._check_vertices(self._distances(place, 1)[0], place, counts, highest, bits)
        return bits

    def tree_bits(self, place: int) -> tuple[Any, Any]:
        """Return the same for rules that levels along predecessors show, and how many break each."""
        import cupy

        bits = cupy.zeros(self._n, numpy.uint8)
        found = self.tree.count(self.parents[place], self.sources[place], self.limit, None, bits)
        return bits, found.counts

    def row_bits(self, place: int) -> Any:
        """Return the rules that the rows of a search's vertices break."""
        import cupy

        bits = cupy.zeros(self._n, numpy.uint8)
        self._pass_rows(cupy.zeros((len(self.sources), RULES), numpy.uint64), bits, place)
        return bits

    def level_of(self, place: int, vertices: Any) -> Any:
        """Return the levels of some vertices in a search, -1 where it did not reach them."""
        import cupy

        per_word = 4 // self._label_bytes
        where = cupy.asarray(numpy.asarray(vertices, numpy.int64) * self._words + place // per_word)
        words = self._table[where].get().astype(numpy.int64)
        bits = 8 * self._label_bytes
        return (words >> (place % per_word * bits) & ((1 << bits) - 1)) - 1

    def _pass_rows(self, counts: Any, bits: Any, wanted: int) -> None:
        import cupy

        run, words = self._kernels.run, numpy.uint32(self._words)
        several = numpy.uint32(len(self.sources))
        n, table = numpy.uint64(self._n), (self._table, words)
        symmetric, deepest = numpy.uint32(self.symmetric), numpy.uint64(self._deepest)
        end = counts, numpy.uint32(wanted), bits
        # Of a directed graph a vertex's row does not hold the arcs towards it.
        tree = *(self._parents_from(0) if self.symmetric else (NONE, numpy.uint32(0))), n, several
        tile = 4 * (self._kernels.block // 32) * TILE * (self._words * (4 // self._label_bytes) + 1)
        shared = tile if self.symmetric and self.with_tree else 0
        if self._nearer is not None:
            self._nearer.fill(0)
        for block in self.blocks.each(self._kernels):
            rows = block.as_arguments()
            warps = 32 * (-(-block.rows // TILE))
            run("check_rows", warps, *rows, *table, *tree, symmetric, deepest, *end, shared=shared)
            if block.long_count:
                seen = cupy.zeros(block.long_count * self._words, numpy.uint32)
                pieces = block.pieces, numpy.uint64(len(block.pieces) // 4)
                asked = *pieces, *table, *tree, symmetric, seen
                run("see_long_rows", 8 * len(block.pieces), *rows[:3], *asked)
                listed = block.long_rows, numpy.uint64(block.long_count), rows[2]
                judged = *listed, *table, *tree, symmetric, deepest, seen, *end
                run("check_long_rows", block.long_count * self._words, *judged)
            if not self.symmetric and self.with_tree:
                asked = *table, *self._parents_from(0), n, several, numpy.uint32(self._is_sorted)
                run("check_tree_arcs", self._n, *rows, *asked, *end)
            elif self._nearer is not None:
                run("mark_nearer", 32 * block.rows, *rows, *table, self._nearer)
        if self._nearer is not None:
            run("check_nearer", self._n, *table, n, several, self._nearer, *end)
