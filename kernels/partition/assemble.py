"""A partitioned graph put together again: the proof that the distributor loses nothing."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial
from gravel.kernels.partition.layout import SUBGRAPHS, PartitionedGraph, local_count, row_lengths
from gravel.kernels.row_blocks import row_blocks, run_blocks


@serial
def _fill(rows, offsets, columns, names, next_place, result):  # type: ignore[no-untyped-def]
    """Append each subgraph row to its global row; `names` turns a column into a global vertex."""
    for row in range(len(rows)):
        v = rows[row]
        place = next_place[v]
        for arc in range(numpy.int64(offsets[row]), numpy.int64(offsets[row + 1])):
            column = numpy.int64(columns[arc])
            result[place] = names[column] if len(names) else column
            place += 1
        next_place[v] = place


@serial
def _sort_rows(first, last, row_offsets, columns):  # type: ignore[no-untyped-def]
    for v in range(first, last):
        row = columns[row_offsets[v] : row_offsets[v + 1]]
        for i in range(1, len(row)):
            if row[i] < row[i - 1]:
                row.sort()
                break


def assemble(graph: PartitionedGraph) -> tuple[NDArray[Any], NDArray[Any]]:
    """Give `row_offsets` (int64) and `column_indices` (uint32 or uint64) of the whole graph, rows sorted.

    Raises ValueError when the subgraphs do not hold `arc_count` arcs.
    """
    n = graph.vertex_count
    delegates = graph.delegates.astype(numpy.int64)
    degrees = numpy.zeros(n, numpy.int64)
    for part in graph.parts:
        for name in SUBGRAPHS:
            lengths = row_lengths(part.subgraph(name))
            if name[0] == "n":
                degrees[part.rank :: graph.ranks] += lengths
            else:
                degrees[delegates] += lengths
    row_offsets = numpy.zeros(n + 1, numpy.int64)
    numpy.cumsum(degrees, out=row_offsets[1:])
    if row_offsets[-1] != graph.arc_count:
        raise ValueError(f"the partition holds {row_offsets[-1]} arcs; it should hold {graph.arc_count}")
    next_place = row_offsets[:-1].copy()
    columns = numpy.empty(graph.arc_count, graph.delegates.dtype)
    everyone = numpy.empty(0, numpy.int64)
    for part in graph.parts:
        owned = numpy.arange(local_count(n, graph.ranks, part.rank), dtype=numpy.int64)
        owned = owned * graph.ranks + part.rank
        meaning = {"nn": everyone, "nd": delegates, "dn": owned, "dd": delegates}
        for name, names in meaning.items():
            rows = owned if name[0] == "n" else delegates
            _fill(rows, *part.subgraph(name), names, next_place, columns)
    run_blocks(lambda a, b: _sort_rows(a, b, row_offsets, columns), row_blocks(row_offsets))
    return row_offsets, columns
