"""The arrays that a CUDA search writes: distances alone, or keys of distance and predecessor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gravel.kernels.bfs import buffers
from gravel.kernels.bfs.buffers import NARROW
from gravel.kernels.bfs.query import Query
from gravel.kernels.buffers import make

WIDEST = (1 << 33) - 1
"""Vertices that a key of 31 bits of distance and 33 of predecessor tells apart."""


def tree_bits(vertices: int, query: Query) -> int:
    """Give the bits of a predecessor in a key, 0 where none are asked for; raises ValueError for too many."""
    if not query.tree:
        return 0
    if vertices >= WIDEST:
        raise ValueError(f"predecessors can be found for up to {WIDEST - 1} vertices; found {vertices}")
    return 32 if vertices < NARROW else 33


@dataclass(frozen=True)
class Labels:
    """Results of the latest search on the device.

    With predecessors, `keys` (vertices,) uint64 holds distance << tree | predecessor, all ones for the
    unreached. For tree = 32 the two int32 results are views of it; for tree = 33 the kernel writes them out.
    """

    tree: int  # bits of the predecessor in a key: 0 (distances alone), 32 or 33
    distance: Any
    predecessor: Any
    keys: Any

    @classmethod
    def allocate(cls, vertices: int, query: Query, *, within: int | None = None) -> Labels:
        """Make the arrays, all unreached.

        `within` counts the vertices that may be predecessors; as many as have labels by default. Raises
        ValueError for more than a key tells apart.
        """
        import cupy

        tree = tree_bits(vertices if within is None else within, query)
        made = make(buffers.labels(vertices, tree), cupy)
        if tree == 32:
            halves = made["keys"].view(cupy.int32).reshape(vertices, 2)
            return cls(32, halves[:, 1], halves[:, 0], made["keys"])
        return cls(tree, **made)

    def distance_argument(self) -> Any:
        """What the kernel gets as its distance array; keys stand in for views, which it does not write."""
        return self.keys if self.tree == 32 else self.distance

    def predecessor_argument(self) -> Any:
        """What the kernel gets as its predecessor array."""
        return self.keys if self.tree == 32 else self.predecessor
