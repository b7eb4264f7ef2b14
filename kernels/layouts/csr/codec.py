"""Rows as they are, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy

from gravel.kernels.layouts import EncodedRows
from gravel.kernels.layouts.streams import check_offsets


class ColumnsCodec:
    """Names the arrays of columns, on either side."""

    rows = None  # kernels take the columns

    def encode(self, row_offsets: Any, column_indices: Any, *, first_row: int, bound: int) -> dict[str, Any]:
        """Name the arrays; see `gravel.kernels.layouts.encode`."""
        check_offsets(row_offsets, len(column_indices), "row_offsets", "arcs")
        return {"row_offsets": row_offsets, "column_indices": column_indices}

    def decode(
        self, arrays: Mapping[str, Any], arc_count: int, dtype: Any, *, first_row: int, bound: int
    ) -> tuple[Any, Any]:
        """Check the arrays and give them back; see `gravel.kernels.layouts.decode`."""
        offsets, columns = arrays["row_offsets"], arrays["column_indices"]
        if columns.dtype != numpy.dtype(dtype) or len(columns) != arc_count:
            raise ValueError(
                f"there are {len(columns)} columns of {columns.dtype}; {arc_count} of {dtype} were expected"
            )
        check_offsets(offsets, arc_count, "row_offsets", "arcs")
        if arc_count and int(columns.max()) >= bound:
            raise ValueError(f"a row names a vertex that is not in the graph: {int(columns.max())}")
        return offsets, columns

    def row_offsets(self, rows: EncodedRows) -> Any:
        """Give the offsets that there are."""
        return rows.arrays["row_offsets"]

    def searchable(self, rows: EncodedRows) -> EncodedRows:
        """Give the rows as they are."""
        return rows


CODEC = ColumnsCodec()
