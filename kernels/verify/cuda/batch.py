"""A batch of searches on the device: their labels, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from gravel.kernels.arrays import backend_of
from gravel.kernels.cuda.launch import Kernels
from gravel.kernels.verify.cuda.blocks import RowBlocks
from gravel.kernels.verify.cuda.integers import kind_of
from gravel.kernels.verify.cuda.memory import CHUNK, brought
from gravel.kernels.verify.cuda.table import LabelTable, Parents, SearchBounds
from gravel.kernels.verify.cuda.tree import RULES, Tree, TreeLevels
from gravel.kernels.verify.cuda.upload import Job, Row, Sending, Uploads


class TooDeep(Exception):
    """A level does not fit the labels of the table."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.level = level


class SearchBatch:
    """Loads and checks up to `at_once` searches.

    `load` is followed by `check_rows`; `counts` then has how many vertices of each search break each rule,
    and methods that end in `_bits` say which. `strange` marks searches whose predecessors are out of range.
    """

    def __init__(
        self,
        table: LabelTable,
        blocks: RowBlocks,
        uploads: Uploads,
        at_once: int,
        distance: Any,
        predecessor: Any,
        bounds: SearchBounds,
        block: int,
    ) -> None:
        import cupy

        self.table, self.blocks, self.at_once, self.bounds = table, blocks, at_once, bounds
        self.with_tree, self.with_distance = predecessor is not None, distance is not None
        self._uploads = uploads
        self._vertices = Kernels("kernels/verify/cuda/vertices.cu", block=block)
        self._distance, self._predecessor = distance, predecessor
        n = self._n = blocks.vertex_count
        self._tree: Tree | None = None
        types = ("i0" if each is None else each.dtype.str[1:] for each in (distance, predecessor))
        raw, above = brought(n, at_once, *types, levels=not self.with_distance)
        self._raw = self._above = None
        if not self.with_distance or backend_of(distance) == "cpu":
            self._raw = raw.make(cupy)
        if self.with_tree and backend_of(predecessor) == "cpu":
            self._above = above.make(cupy)
        self.parents = Parents()
        self.sources: Sequence[int] = ()
        self.strange: Any = None
        self.counts: Any = None
        self._first = 0

    def load(self, first: int, sources: Sequence[int]) -> None:
        """Bring searches from `first` on to the device and check their vertices; raises TooDeep."""
        import cupy

        if len(sources) < self.at_once:
            # Labels of a fuller batch would be checked on.
            self.table.clear()
        self._first, self.sources = first, sources
        above = self._above
        if self.with_tree and above is None:
            above = cupy.ascontiguousarray(self._predecessor[first : first + len(sources)])
        self.parents = Parents(above)
        self.strange = numpy.zeros(len(sources), numpy.bool_)
        self.counts = numpy.zeros((len(sources), RULES), numpy.int64)
        here = coming = self._start(0)
        try:
            for low in range(0, len(sources), CHUNK):
                here, coming = coming, self._start(low + CHUNK)
                here.wait()
                count = min(CHUNK, len(sources) - low)
                levels, highest = self._load_chunk(low, count)
                if highest > self.table.deepest:
                    raise TooDeep(highest)
                self.table.arrange(levels, low, count)
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

    def _distances(self, low: int, count: int) -> Any:
        """Return distances of searches of this batch that are on the device."""
        if self._raw is not None:
            return self._raw[low % len(self._raw) :][:count]
        import cupy

        first = self._first + low
        return cupy.ascontiguousarray(self._distance[first : first + count])

    def _load_chunk(self, low: int, count: int) -> tuple[Any, int]:
        """Give levels of some searches and the largest that is in range; counts what their vertices break."""
        if not self.with_distance:
            return self._count_levels(low, count)
        import cupy

        labels = self._distances(low, count)
        counts = cupy.zeros((count, RULES), numpy.uint64)
        highest = cupy.zeros(count, numpy.uint32)
        for place in range(count):
            found = counts[place], highest[place : place + 1]
            self._check_vertices(labels[place], low + place, *found, None)
        self.counts[low : low + count] += counts.get().astype(numpy.int64)
        return labels, int(highest.get().max())

    def _check_vertices(self, labels: Any, place: int, counts: Any, highest: Any, bits: Any) -> None:
        bounds = *self.parents.of(place), self._n, self.sources[place], numpy.int64(self.bounds.limit)
        given = labels, kind_of(labels.dtype), *bounds
        self._vertices.run("check_vertices", self._n, *given, counts, highest, bits)

    def _count_levels(self, low: int, count: int) -> tuple[Any, int]:
        raw, highest = self._raw, 0
        assert raw is not None
        for place in range(count):
            found = self._tree_of(low + place, raw[place])
            if found.strange:
                self.strange[low + place] = True
                raw[place].fill(-1)
            self.counts[low + place] += found.counts.astype(numpy.int64)
            highest = max(highest, found.highest)
        return raw, highest

    def _tree_of(self, place: int, levels: Any = None, bits: Any = None) -> TreeLevels:
        if self._tree is None:
            self._tree = Tree(self._vertices, self._n)
        above, source = self.parents.array[place], self.sources[place]
        return self._tree.count(above, source, self.bounds.limit, levels, bits)

    def check_rows(self) -> None:
        """Check the arcs of all searches that were loaded."""
        counts = self._pass_rows()
        self.counts = self.counts + counts.get().astype(numpy.int64)

    def _pass_rows(self, bits: Any = None, wanted: int = 0) -> Any:
        import cupy

        counts = cupy.zeros((len(self.sources), RULES), numpy.uint64)
        self.table.check_rows(self.blocks, self.parents, len(self.sources), counts, bits, wanted)
        return counts

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
        return bits, self._tree_of(place, None, bits).counts

    def row_bits(self, place: int) -> Any:
        """Return the rules that the rows of a search's vertices break."""
        import cupy

        bits = cupy.zeros(self._n, numpy.uint8)
        self._pass_rows(bits, place)
        return bits
