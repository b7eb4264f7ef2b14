"""Rows of predecessors from those of successors."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.csr import build
from gravel.kernels.csr.tails import tails_of


def reversed_rows(row_offsets: Any, column_indices: Any, weights: Any = None) -> tuple[Any, Any, Any]:
    """Turn all arcs round: row offsets, ascending columns, and the arcs' weights if there are any.

    Rows are reversed where they are; with weights they are NumPy arrays.
    """
    n = len(row_offsets) - 1
    tails = tails_of(row_offsets, len(column_indices)).astype(column_indices.dtype, copy=False)
    if weights is None:
        kept = {"keep_duplicates": True, "keep_loops": True}
        built = build(tails, column_indices, n, direction="reverse", **kept)
        return built.row_offsets, built.column_indices, None
    order = numpy.argsort(column_indices, kind="stable")
    offsets = numpy.zeros(n + 1, numpy.int64)
    numpy.cumsum(numpy.bincount(column_indices, minlength=n), out=offsets[1:])
    return offsets, tails[order], weights[order]
