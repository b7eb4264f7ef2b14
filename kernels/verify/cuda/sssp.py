"""The checks of shortest paths on a GPU, one search after another; rows stay there where they fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy

from gravel.kernels.arrays import backend_of
from gravel.kernels.buffers import make
from gravel.kernels.cuda import vertex_macro
from gravel.kernels.cuda.launch import Kernels
from gravel.kernels.verify.cuda.blocks import RowBlocks
from gravel.kernels.verify.cuda.integers import kind_of
from gravel.kernels.verify.cuda.memory import checked_paths, graph_size, label_size, plan_paths
from gravel.kernels.verify.cuda.resources import Resources
from gravel.kernels.verify.cuda.table import Parents
from gravel.kernels.verify.cuda.tree import Tree
from gravel.kernels.verify.cuda.upload import Row, Uploads
from gravel.kernels.verify.given import refuse_labels, refuse_sources
from gravel.kernels.verify.result import NAMED, Check
from gravel.kernels.verify.sssp import RULES as TEXTS

RANGES, TREE, TREE_ARCS, RELAXED, COMPONENT = range(5)
"""As paths.cu has them."""

LOST_BIT = 1 << 2
"""Of a vertex whose predecessors do not lead to the source, in what `Tree` finds (rules.cuh)."""

DISTANCES = {"int32": "i32", "int64": "i64", "float64": "double"}
WEIGHTS = {"uint32": "u32", "int32": "i32", "float32": "float"}


def check_paths(
    row_offsets: Any,
    column_indices: Any,
    weights: Any,
    sources: Sequence[int],
    distance: Any,
    predecessor: Any = None,
    *,
    resources: Resources,
) -> Iterator[list[Check]]:
    """Check searches; yields, in order, what `gravel.kernels.verify.sssp.check_sssp` returns for each.

    Arrays may be NumPy's, CuPy's or stored ones. Raises ValueError as `check_sssp` does, and for types that
    no graph or traversal has, and MemoryError with the numbers where a search does not fit the room.

    Parameters
    ----------
    weights : uint32, int32 or float32 (arcs,).
    distance : int32, int64 or float64 (searches, vertices); predecessor : integers of that shape, or None.
    resources : what all this may take.

    """
    n = len(row_offsets) - 1
    sources = [int(source) for source in sources]
    refuse_labels((len(sources), n), distance=distance, predecessor=predecessor)
    refuse_sources(sources, n)
    _refuse_types(len(column_indices), weights, distance, predecessor)
    graph = graph_size(row_offsets, column_indices)
    labels = label_size(len(sources), distance, predecessor)
    planned = resources.planned(lambda room: plan_paths(graph, labels, room))
    with Uploads(resources.threads) as uploads:
        blocks = RowBlocks(row_offsets, column_indices, uploads, arcs=planned.arcs, weights=weights)
        tree = predecessor is not None
        checker = _Checker(blocks, uploads, str(distance.dtype), resources.block, tree=tree)
        for search, source in enumerate(sources):
            yield checker.check(source, search, distance, predecessor)


def _refuse_types(arcs: int, weights: Any, distance: Any, predecessor: Any) -> None:
    if len(weights) != arcs:
        raise ValueError(f"there are {len(weights)} weights and {arcs} arcs")
    for name, dtype, known in (("weights", weights.dtype, WEIGHTS), ("distances", distance.dtype, DISTANCES)):
        if str(dtype) not in known:
            raise ValueError(f"{name} are {dtype}; {', '.join(known)} are expected")
    if predecessor is not None:
        kind_of(predecessor.dtype)


class _Checker:
    """Checks one search after another, in memory that it keeps."""

    def __init__(self, blocks: RowBlocks, uploads: Uploads, distance: str, block: int, *, tree: bool) -> None:
        import cupy

        n = self._n = blocks.vertex_count
        self._blocks, self._uploads = blocks, uploads
        self._vertices = Kernels("kernels/verify/cuda/vertices.cu", block=block)
        self._paths = Kernels(
            "kernels/verify/cuda/paths.cu",
            block=block,
            VERTEX=vertex_macro(blocks.dtype),
            DISTANCE=DISTANCES[distance],
            WEIGHT=WEIGHTS[str(blocks.weight_dtype)],
        )
        made = make(checked_paths(n, tree=tree), cupy)
        self._faults, self._bits, self._levels, self._has = made.values()
        self._tree = Tree(self._vertices, n) if tree else None

    def check(self, source: int, search: int, distance: Any, predecessor: Any) -> list[Check]:
        """Bring a search to the device, and return its checks."""
        import cupy

        d = self._brought(distance, search)
        p = None if predecessor is None else self._brought(predecessor, search)
        above, kind = Parents(p).of(0)
        n, counts = self._n, cupy.zeros(len(TEXTS), numpy.uint64)
        self._bits.fill(0)
        self._paths.run("path_ranges", n, d, above, kind, n, counts, self._bits)
        if int(counts[RANGES].get()):
            return [self._vertex_check("ranges", counts[RANGES])]
        checks = [Check("ranges", TEXTS["ranges"]), self._source(source, d, p)]
        if p is not None:
            checks.append(self._check_tree(source, d, p, counts))
        self._faults.fill(0)
        self._has.fill(0)
        self._pass_rows(d, above, kind, counts)
        if p is not None:
            self._bits.fill(0)
            self._paths.run("path_missing", n, p, kind, n, self._has, counts, self._bits)
            missing = self._vertex_check("tree_arcs", counts[TREE_ARCS])
            arcs = tuple((int(p[v].get()), v) for v in missing.vertices)
            checks.append(replace(missing, arcs=arcs))
        for name, rule in (("relaxed", RELAXED), ("component", COMPONENT)):
            checks.append(self._arc_check(name, rule, int(counts[rule].get()), d))
        return checks

    def _brought(self, array: Any, search: int) -> Any:
        import cupy

        if backend_of(array) == "cuda":
            return cupy.ascontiguousarray(array[search])
        out = cupy.empty(self._n, array.dtype)
        self._uploads.send(Row(array, search), out)
        return out

    def _source(self, source: int, d: Any, p: Any) -> Check:
        rooted = d[source].get() == 0 and (p is None or int(p[source].get()) == -1)
        return Check("source", TEXTS["source"], int(not rooted), () if rooted else (source,))

    def _check_tree(self, source: int, d: Any, p: Any, counts: Any) -> Check:
        assert self._tree is not None
        self._tree.count(p, source, self._n, self._levels, self._bits)
        lost = self._bits.copy()
        self._bits.fill(0)
        asked = d, self._levels, lost, numpy.uint32(LOST_BIT), self._n
        self._paths.run("path_tree", self._n, *asked, counts, self._bits)
        return self._vertex_check("tree", counts[TREE])

    def _pass_rows(self, d: Any, above: Any, kind: Any, counts: Any) -> None:
        end = d, above, kind, self._has, self._faults, counts
        for block in self._blocks.each(self._paths):
            rows = block.as_arguments()
            self._paths.run("path_rows", 32 * block.rows, *rows, block.weights, *end)
            several = len(block.pieces) // 4
            pieces = block.weights, block.pieces, several
            self._paths.run("path_long_rows", 32 * several, *rows[:3], *pieces, *end)

    def _vertex_check(self, name: str, count: Any) -> Check:
        """Make a check of the vertices whose `bits` are set, with the first of them."""
        import cupy

        faults = int(count.get())
        found = cupy.flatnonzero(self._bits)[:NAMED].get() if faults else ()
        return Check(name, TEXTS[name], faults, tuple(int(v) for v in found))

    def _arc_check(self, name: str, rule: int, faults: int, d: Any) -> Check:
        import cupy

        if not faults:
            return Check(name, TEXTS[name])
        found = cupy.flatnonzero(self._faults & numpy.uint32(1 << rule))[:NAMED].get()
        vertices = tuple(int(v) for v in found)
        return Check(name, TEXTS[name], faults, vertices, tuple((v, self._end(v, rule, d)) for v in vertices))

    def _end(self, vertex: int, rule: int, d: Any) -> int:
        """Find the first neighbour with which a vertex breaks a rule."""
        import cupy

        columns = self._blocks.columns_of(vertex).astype(numpy.int64)
        there, mine = d[cupy.asarray(columns)].get(), d[vertex].get()
        exact = numpy.float64 if there.dtype.kind == "f" else numpy.int64
        reached = numpy.isfinite(there) if exact is numpy.float64 else there >= 0
        bad = ~reached
        if rule == RELAXED:
            length = exact(mine) + self._blocks.weights_of(vertex).astype(exact)
            bad = reached & (length < there)
        return int(columns[numpy.flatnonzero(bad)[0]])
