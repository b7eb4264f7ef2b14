"""A degree threshold from the graph itself."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from kernels.partition.census import take_census
from kernels.partition.model import choose_threshold


def suggest_threshold(
    row_offsets: NDArray[Any], column_indices: NDArray[Any], ranks: int, **limits: Any
) -> int:
    """Choose the threshold of a whole graph for p ranks, as `kernels.partition.model.choose_threshold`.

    Parameters
    ----------
    row_offsets, column_indices : int64 and uint32 or uint64.
    limits : those of `choose_threshold`, by name.

    """
    return choose_threshold(take_census(row_offsets, column_indices), ranks, **limits)
