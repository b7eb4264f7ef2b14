"""What every search is asked: checked once, and handed whole to whoever searches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gravel.kernels.bfs.buffers import Size, host_labels
from gravel.kernels.buffers import make

DEEPEST = (1 << 31) - 1
"""What kernels take for a depth that is not limited."""


@dataclass(frozen=True, kw_only=True)
class Query:
    """What a search is asked, on one device or over ranks; raises ValueError for what cannot be.

    Parameters
    ----------
    output : "distance", "predecessor" or "both".
    symmetric : whether every arc has its reverse; only then may levels go bottom-up.
    max_depth : do not expand beyond this distance.
    statistics : count the arcs that every level gathers, where the strategy can (`Strategy.counts`).

    """

    output: str = "both"
    symmetric: bool = False
    max_depth: int | None = None
    statistics: bool = False

    def __post_init__(self) -> None:
        if self.output not in ("distance", "predecessor", "both"):
            raise ValueError(f"output is {self.output!r}; it can be 'distance', 'predecessor' or 'both'")
        if self.max_depth is not None and self.max_depth < 0:
            raise ValueError(f"max_depth is {self.max_depth}; it must be 0 or more")

    @property
    def distance(self) -> bool:
        """Whether distances are asked for."""
        return self.output != "predecessor"

    @property
    def tree(self) -> bool:
        """Whether predecessors are asked for."""
        return self.output != "distance"

    @property
    def depth(self) -> int:
        """The depth that no expansion goes beyond, as kernels take it."""
        return DEEPEST if self.max_depth is None else self.max_depth

    def wanted(self, distance: Any, predecessor: Any) -> tuple[Any | None, Any | None]:
        """Give two labels as results have them: None for what was not asked for."""
        return distance if self.distance else None, predecessor if self.tree else None

    def allocate(self, vertices: int, arrays: Any) -> tuple[Any, Any]:
        """Make distances and predecessors with NumPy or CuPy as `arrays`, empty where not asked for."""
        made = make(host_labels(Size(vertices, 0, self.tree, self.distance)), arrays)
        return made["distance"], made["predecessor"]


def check_source(source: int, vertices: int) -> None:
    """Raise ValueError unless the source is a vertex."""
    if not 0 <= source < vertices:
        raise ValueError(f"source {source} is not a vertex; there are {vertices}")
