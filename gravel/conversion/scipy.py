"""Sparse matrices of SciPy: vertex v is row and column v, and each stored entry is an edge or an arc."""

from __future__ import annotations

from typing import Any

from gravel.conversion.converted import Edges, Rows
from gravel.encoded_ids import Integers


def is_sparse(data: Any) -> bool:
    """Say whether data is a sparse matrix or array of SciPy or CuPy."""
    return hasattr(data, "tocoo") and hasattr(data, "format")


def from_sparse(data: Any, *, directed: bool) -> Edges | Rows:
    """Return the rows of a square sparse matrix for a directed graph, else its entries as edges.

    Values are not looked at: entries that are stored as zeros count. Raises ValueError for a matrix that is
    not square or whose indices make no graph.
    """
    from gravel.kernels.arrays import index_dtype
    from gravel.kernels.inputs import csr

    if directed:
        rows = csr(data)
        count = len(rows.row_offsets) - 1
        # The graph has memory of its own: the matrix may change.
        columns = rows.column_indices.astype(index_dtype(count))
        return Rows(rows.row_offsets.copy(), columns, Integers(count), directed=True)
    return from_entries(data)


def from_entries(data: Any) -> Edges:
    """Return the entries of a square sparse matrix as edges, in the order of its COO format."""
    from gravel.kernels.inputs import edges

    source, target = edges(data)
    return Edges(source, target, Integers(int(data.shape[0])))
