"""What every search is asked: the parameters, how they are checked, and how kernels take them."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict


class Asked(TypedDict):
    """What every search is asked, as `gravel.kernels.bfs.prepare` describes it."""

    output: str
    symmetric: NotRequired[bool]
    max_depth: NotRequired[int | None]
    statistics: NotRequired[bool]


def check_output(output: str) -> None:
    """Raise ValueError unless the output is one that a search can have."""
    if output not in ("distance", "predecessor", "both"):
        raise ValueError(f"output is {output!r}; it can be 'distance', 'predecessor' or 'both'")


def check_source(source: int, vertices: int) -> None:
    """Raise ValueError unless the source is a vertex."""
    if not 0 <= source < vertices:
        raise ValueError(f"source {source} is not a vertex; there are {vertices}")


def depth_limit(max_depth: int | None) -> int:
    """Give the depth that no expansion goes beyond, as kernels take it; raises ValueError for one below 0."""
    if max_depth is None:
        return (1 << 31) - 1
    if max_depth < 0:
        raise ValueError(f"max_depth is {max_depth}; it must be 0 or more")
    return max_depth


def predecessor_dtype(vertices: int) -> Any:
    """Give the type of predecessors: int32 below 2^31 vertices, else int64."""
    import numpy

    return numpy.int32 if vertices < 1 << 31 else numpy.int64
