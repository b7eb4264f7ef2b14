"""What can be chosen about a striped search (Merrill, Garland, Grimshaw 2012, sections 4.3 and 6.1)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StripedOptions:
    """Which neighbours are dropped before they are sent; raises ValueError for what cannot be.

    Neither changes distances or predecessors, only what is sent.
    """

    bitmask: bool = True
    """Drop vertices that this rank has sent, or found, before: a bit for every vertex of the graph."""
    local_duplicates: bool = True
    """Drop vertices that were among the last gathered, as a hashed history of them tells."""
    history: int = 1024
    """Entries of that history, a power of two; 1,024 take 8 KiB, a quarter of a common L1 cache."""

    def __post_init__(self) -> None:
        if self.history < 1 or self.history & (self.history - 1):
            raise ValueError(f"history is {self.history}; it is a power of two")
