"""How large what is to be checked is."""

from __future__ import annotations

from typing import Any

from gravel.kernels.strategy import backend_of
from gravel.kernels.verify.cuda.memory import GraphSize, LabelSize


def graph_size(row_offsets: Any, column_indices: Any) -> GraphSize:
    """Say how large a graph is, and whether it is on the device."""
    return GraphSize(
        vertices=len(row_offsets) - 1,
        arcs=len(column_indices),
        width=column_indices.dtype.itemsize,
        resident=backend_of(column_indices) == "cuda",
    )


def label_size(searches: int, distance: Any, predecessor: Any) -> LabelSize:
    """Say how large the labels of one search are."""
    each = [0 if array is None else array.dtype.itemsize for array in (distance, predecessor)]
    return LabelSize(searches, *each)
