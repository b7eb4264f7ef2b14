"""Neighbours of rows on the device, counted without decoding the rows into columns."""

from __future__ import annotations

from typing import Any

from gravel.kernels.layouts import EncodedRows
from gravel.kernels.layouts.registry import layout_of


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

    from gravel.kernels.layouts.visit import loop_counts

    rows = layout_of(rows.layout).codec("cuda").searchable(rows)
    return cupy.diff(offsets) + loop_counts(rows).astype(cupy.int64)
