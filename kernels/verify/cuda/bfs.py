"""The checks of many breadth-first searches on a GPU, in one pass over the rows for each batch of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gravel.kernels.cuda import vertex_macro
from gravel.kernels.cuda.room import give_free_blocks_back
from gravel.kernels.verify.cuda.batch import SearchBatch, TooDeep
from gravel.kernels.verify.cuda.blocks import RowBlocks
from gravel.kernels.verify.cuda.integers import kind_of
from gravel.kernels.verify.cuda.memory import graph_size, label_size, plan_searches
from gravel.kernels.verify.cuda.offenders import checks_of
from gravel.kernels.verify.cuda.resources import Resources
from gravel.kernels.verify.cuda.table import LabelTable, SearchBounds
from gravel.kernels.verify.cuda.upload import Uploads
from gravel.kernels.verify.given import refuse_labels, refuse_sources
from gravel.kernels.verify.result import Check


def check_searches(
    row_offsets: Any,
    column_indices: Any,
    sources: Sequence[int],
    distance: Any = None,
    predecessor: Any = None,
    *,
    symmetric: bool,
    max_depth: int | None = None,
    is_sorted: bool = True,
    resources: Resources,
) -> Iterator[list[Check]]:
    """Check searches; yields, in order, what `gravel.kernels.verify.check_bfs` returns for each.

    Arrays may be NumPy's, CuPy's or stored ones. Raises ValueError as `check_bfs` does, and MemoryError with
    the numbers where not even four searches fit the room.

    Parameters
    ----------
    distance, predecessor : integers (searches, vertices), or None for one of them.
    resources : what all this may take.

    """
    n = len(row_offsets) - 1
    sources = [int(source) for source in sources]
    refuse_labels((len(sources), n), distance=distance, predecessor=predecessor)
    refuse_sources(sources, n)
    for each in (distance, predecessor):
        if each is not None:
            kind_of(each.dtype)  # refuses what is no integer
    graph = graph_size(row_offsets, column_indices)
    labels = label_size(len(sources), distance, predecessor)
    planned = resources.planned(lambda room: plan_searches(graph, labels, symmetric, room))
    limit = n - 1 if max_depth is None else max_depth
    bounds = SearchBounds(symmetric, is_sorted, limit, deepest=n if max_depth is None else max_depth)
    tree = predecessor is not None
    with Uploads(resources.threads) as uploads:
        blocks = RowBlocks(row_offsets, column_indices, uploads, arcs=planned.arcs)
        vertex, block, width, done = vertex_macro(column_indices.dtype), resources.block, 0, 0
        current: SearchBatch | None = None
        table: LabelTable | None = None
        while done < len(sources):
            if current is None:
                table = LabelTable(vertex, width, planned.words, block, n, bounds, tree=tree)
                at_once = min(table.searches, len(sources))
                current = SearchBatch(table, blocks, uploads, at_once, distance, predecessor, bounds, block)
            last = min(done + current.at_once, len(sources))
            try:
                current.load(done, sources[done:last])
            except TooDeep as deep:
                width = next(each for each in range(3) if deep.level <= (1 << (8 << each)) - 2)
                current = table = None
            if current is None:
                give_free_blocks_back()  # what labels that were too narrow have left is of other sizes
                continue
            current.check_rows()
            for place in range(last - done):
                yield checks_of(current, place)
            done = last
