"""Results of conversions: edges or rows of vertices 0, 1, 2, ..., and their ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gravel.conversion.ids import Ids


@dataclass(frozen=True)
class Edges:
    """`source` and `target` are vertices, uint32 below 2^32 vertices, else uint64; NumPy's or CuPy's."""

    source: Any
    target: Any
    ids: Ids
    directed: bool | None = None  # None where the data does not say


@dataclass(frozen=True)
class Rows:
    """Sorted rows without duplicates, an arc v -> w for each entry, in memory of their own."""

    row_offsets: Any
    column_indices: Any
    ids: Ids
    directed: bool | None = None
    symmetric: bool = False  # whether every arc is known to have its reverse
