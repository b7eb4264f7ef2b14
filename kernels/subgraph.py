"""Induced subgraphs: the chosen vertices of a graph, and the arcs between them.

The rows of the parent may lie in any layout, as columns or encoded, and only those of chosen vertices are
read. Here on the CPU; `gravel.kernels.subgraph_cuda` does the same on the GPU.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from gravel.kernels.arrays import index_dtype
from gravel.kernels.buffers import make
from gravel.kernels.jit import serial
from gravel.kernels.layouts import EncodedRows, side_of
from gravel.kernels.layouts.host_parts import PartOfColumns, count_in_part, span_in_part, values_of_part
from gravel.kernels.layouts.units import check_rows, offsets_of
from gravel.kernels.row_blocks import row_blocks, run_blocks
from gravel.kernels.subgraph_buffers import arcs_kept, numbers, row_ends


class InducedRows(NamedTuple):
    """Rows of the chosen vertices, numbered 0, 1, 2, ... in their order.

    `row_offsets` int64 (chosen + 1,), `column_indices` uint32 or uint64 (arcs,), each row ascending,
    `weights` (arcs,) of the parent's dtype or None, and how many of the arcs are self-loops.
    """

    row_offsets: Any
    column_indices: Any
    weights: Any
    loop_count: int


def induced(
    rows: EncodedRows, chosen: NDArray[Any], *, permutation: Any = None, weights: Any = None
) -> InducedRows:
    """Take the rows of chosen vertices, with the arcs that lead to chosen ones, on the side of `rows`.

    Parameters
    ----------
    rows : all rows of the parent, whole in the memory where they are read.
    chosen : vertices, ascending and each once, of any integer type, NumPy.
    permutation : (vertices,), row `permutation[v]` is that of vertex v; None where vertices are rows. NumPy.
    weights : (arcs,) of 4 bytes each, in the order of the parent's arcs, on the side of `rows`.

    Raises ValueError for vertices that do not ascend or are none of the parent, and for damaged rows.

    """
    chosen = numpy.asarray(chosen)
    count = len(chosen)
    if count and (int(chosen[0]) < 0 or int(chosen[-1]) >= rows.vertex_count):
        raise ValueError(f"chosen vertices must be below {rows.vertex_count}, the vertices of the graph")
    if count > 1 and not bool((chosen[1:] > chosen[:-1]).all()):
        raise ValueError("chosen vertices must ascend, each once")
    check_rows(rows)
    at = chosen if permutation is None else numpy.asarray(permutation)[chosen]
    if side_of(rows) == "cuda":
        from gravel.kernels.subgraph_cuda import induced_on_device

        return InducedRows(*induced_on_device(rows, at, is_sorted=permutation is None, weights=weights))
    return _on_host(rows, at.astype(numpy.int64, copy=False), permutation is None, weights)


def _on_host(rows: EncodedRows, at: NDArray[Any], is_sorted: bool, weights: Any) -> InducedRows:
    """Take the rows at these places, in two passes: arcs are counted, then written."""
    count, dtype = len(at), numpy.dtype(rows.dtype)
    vertex, weighted = dtype.str[1:], weights is not None
    number = numbers(rows.vertex_count, vertex).make(numpy)
    number[at] = numpy.arange(count, dtype=dtype)
    read, starts, given = _readable(rows), numpy.empty(0, numpy.int64), numpy.empty(0, numpy.uint32)
    if weighted:
        from gravel.kernels.layouts.readers import count_neighbours

        starts, given = count_neighbours(rows), numpy.asarray(weights).view(numpy.uint32)
    offsets, lengths = row_ends(count).make(numpy), row_ends(count).make(numpy)
    stored = offsets_of(rows)
    numpy.cumsum(stored[at + 1] - stored[at], out=lengths[1:])
    blocks = row_blocks(lengths)
    nothing, none = numpy.empty(0, dtype), numpy.empty(0, numpy.uint32)

    def visit(columns: NDArray[Any], kept: NDArray[Any], *, write: bool) -> int:
        made = run_blocks(
            lambda low, high: _take(
                read, at, number, offsets, columns, starts, given, kept, low, high, write
            ),
            blocks,
        )
        if broken := [row for row, _ in made if row >= 0]:
            raise ValueError(f"row {min(broken)} of the graph is damaged")
        return sum(loops for _, loops in made)

    loops = visit(nothing, none, write=False)
    numpy.cumsum(offsets, out=offsets)
    columns, kept = make(arcs_kept(int(offsets[-1]), vertex, weighted), numpy).values()
    visit(columns, kept, write=True)
    if not is_sorted:
        run_blocks(lambda low, high: _sort(offsets, columns, kept, low, high), row_blocks(offsets))
    columns = columns.astype(index_dtype(count), copy=False)
    return InducedRows(offsets, columns, None if weights is None else kept.view(weights.dtype), int(loops))


def _readable(rows: EncodedRows) -> Any:
    """Bring rows into the form of `gravel.kernels.layouts.host_parts`: all of them as one part."""
    if rows.layout == "csr":
        return PartOfColumns(rows.arrays["row_offsets"], rows.arrays["column_indices"], 0)
    from gravel.kernels.layouts.readers import rows_class
    from gravel.kernels.layouts.streams import largest_vertex

    dtype, kind = numpy.dtype(rows.dtype), rows_class(rows.layout)
    stream = numpy.ascontiguousarray(rows.arrays["stream"]).view(kind.word)
    largest = largest_vertex(max(rows.vertex_count, 1), dtype)
    return kind(rows.arrays["byte_offsets"], stream, numpy.empty(0, dtype), 0, largest, 0)


@serial
def _take(
    rows: Any,
    at: NDArray[numpy.int64],
    number: NDArray[Any],
    offsets: NDArray[numpy.int64],
    columns: NDArray[Any],
    starts: NDArray[numpy.int64],
    given: NDArray[numpy.uint32],
    kept: NDArray[numpy.uint32],
    low: int,
    high: int,
    write: bool,
) -> tuple[Any, Any]:
    """Count the arcs of chosen rows `low` to below `high` into `offsets[1:]`, or write what was counted.

    Returns the parent's first row that is damaged, or -1, and how many arcs are self-loops.
    """
    values = values_of_part(rows)
    none = number.dtype.type(numpy.int64(-1))
    loops = numpy.int64(0)
    for i in range(low, high):
        row = at[i]
        expected = count_in_part(rows, row)
        if expected < 0:
            return row, loops
        if expected > len(values):
            values = numpy.empty(expected, values.dtype)
        begin, end = span_in_part(rows, row, values)
        if end - begin < expected:
            return row, loops
        to = offsets[i] if write else numpy.int64(0)
        for k in range(begin, end):
            if values[k] >= len(number):
                return row, loops
            found = number[numpy.int64(values[k])]
            if found == none:
                continue
            if write:
                columns[to] = found
                if len(kept) > 0:
                    kept[to] = given[starts[row] + k - begin]
            elif numpy.int64(found) == i:
                loops += 1
            to += 1
        if not write:
            offsets[i + 1] = to
    return numpy.int64(-1), loops


@serial
def _sort(
    offsets: NDArray[numpy.int64], columns: NDArray[Any], weights: NDArray[Any], low: int, high: int
) -> None:
    """Sort rows by their columns; equal ones stay in their order."""
    for row in range(low, high):
        begin, end = offsets[row], offsets[row + 1]
        order = numpy.argsort(columns[begin:end], kind="mergesort")
        columns[begin:end] = columns[begin:end][order]
        if len(weights) > 0:
            weights[begin:end] = weights[begin:end][order]
