"""Neighbours of rows on the device, counted without decoding the rows into columns."""

from __future__ import annotations

from typing import Any

from gravel.kernels.layouts import EncodedRows


def row_offsets(rows: EncodedRows) -> Any:
    """Count the neighbours of each row, summed up: CuPy int64 (rows + 1,).

    Raises ValueError for offsets that do not fit the stream, and for a row that ends within a number.
    """
    if rows.layout == "csr":
        return rows.arrays["row_offsets"]
    if rows.layout == "varint":
        from gravel.kernels.layouts.varint import unpad
        from gravel.kernels.varint import cuda

        offsets = rows.arrays["byte_offsets"]
        return cuda.count(offsets, unpad(offsets, rows.arrays["stream"]), rows.dtype)
    from gravel.kernels.layouts.streams_cuda import count_rows

    return count_rows(rows.layout, rows.arrays, rows.dtype, rows.first_row)


def edge_ends(rows: EncodedRows, offsets: Any) -> Any:
    """Count each vertex's ends of edges in a symmetric graph without duplicates: CuPy int64 (rows,).

    A self-loop has both of its own. `offsets` are those of `row_offsets`.
    """
    import cupy

    from gravel.kernels.layouts.checkpoints import find_checkpoints
    from gravel.kernels.layouts.visit import loop_counts

    if rows.layout == "varint" and "checkpoints" not in rows.arrays:
        rows = find_checkpoints(rows)
    return cupy.diff(offsets) + loop_counts(rows).astype(cupy.int64)
