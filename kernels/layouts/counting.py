"""Neighbours, units and loops of rows on the device, counted without decoding the rows into columns."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.cuda import load, run_over, vertex_macro
from gravel.kernels.layouts import EncodedRows, device_rows
from gravel.kernels.layouts.registry import layout_of

SOURCE = "kernels/layouts/counting.cu"
MAX_BLOCKS = 1 << 14


def row_offsets(rows: EncodedRows) -> Any:
    """Count the neighbours of each row, summed up: CuPy int64 (rows + 1,).

    Raises ValueError for offsets that do not fit the stream, and for a row that ends within a number.
    """
    return layout_of(rows.layout).codec("cuda").row_offsets(rows)


def edge_ends(rows: EncodedRows, offsets: Any) -> Any:
    """Count each vertex's ends of edges in a symmetric graph without duplicates: CuPy int64 (rows,).

    A self-loop has both of its own. `offsets` are those of `row_offsets`.
    """
    import cupy

    rows = layout_of(rows.layout).codec("cuda").searchable(rows)
    return cupy.diff(offsets) + _loop_counts(rows).astype(cupy.int64)


def unit_counts(rows: EncodedRows) -> tuple[Any, Any]:
    """Count each row's units, and give its weight (neighbours of `csr`, else bytes): two int64 (rows,)."""
    import cupy

    units, weights = (cupy.zeros(rows.vertex_count, cupy.int64) for _ in range(2))
    if rows.vertex_count:
        _run(rows, "count_units", rows.vertex_count, units, weights)
    return units, weights


def list_units(rows: EncodedRows, *, least: int = 1) -> tuple[Any, Any]:
    """List the units of rows that have at least so many: the row and the unit of each, int64 (units,)."""
    import cupy

    units, _ = unit_counts(rows)
    chosen = cupy.flatnonzero(units >= least)
    ends = cupy.cumsum(units[chosen])
    every = cupy.arange(int(ends[-1]) if len(ends) else 0, dtype=cupy.int64)
    at = cupy.searchsorted(ends, every, side="right")
    return chosen[at], every - (ends - units[chosen])[at]


def _loop_counts(rows: EncodedRows) -> Any:
    """Count the neighbours of each row that are the row itself: uint64 (rows,)."""
    import cupy

    loops = cupy.zeros(rows.vertex_count, cupy.uint64)
    if rows.arc_count:
        unit_rows, units = list_units(rows, least=2)
        count = numpy.uint64(len(units))
        _run(rows, "count_loops", rows.vertex_count + len(units), unit_rows, units, count, loops)
    return loops


def _run(rows: EncodedRows, name: str, items: int, *arguments: Any) -> None:
    kernel = load(SOURCE, LAYOUT=rows.layout, VERTEX=vertex_macro(rows.dtype)).get_function(name)
    given = *device_rows(rows), numpy.uint64(rows.vertex_count), *arguments
    run_over(kernel, items, *given, most=MAX_BLOCKS)
