"""Kernel files with the macros that most graphs need, for whoever names kernels before they are needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

Kernel = tuple[str, "Mapping[str, str]"]
MadeBy = Sequence[tuple[str, Any]]
"""Stages that made an input and what went into it, the last first, with their parameters."""

U32 = {"VERTEX": "u32"}

PATHS = {**U32, "WORD": "u32", "WEIGHT": "u32"}
"""Weights are taken to be integers, of which no path is longer than int32 holds."""


def tree_of(output: str) -> dict[str, str]:
    """Make TREE of a search: with predecessors a label is a key of 64 bits, 32 of them the predecessor's."""
    return {"TREE": "0" if output == "distance" else "32"}


def columns_searched(output: str) -> tuple[Kernel, ...]:
    """Name what a direction-optimizing search of columns loads."""
    # The graph decides: large ones with hubs have deferred rows, small ones have none.
    file = "kernels/bfs/direction_optimizing.cu"
    deferred, none = ((file, {**U32, **tree_of(output), "DEFER_ROWS": each}) for each in ("1", "0"))
    # First neighbours by degree, of distances in another order than by degree.
    by_degree = (("kernels/bfs/by_degree.cu", U32),) if output == "distance" else ()
    return (deferred, ("kernels/bfs/deferred_rows.cu", U32), *by_degree, none)
