"""What can be chosen about a striped search (Merrill, Garland, Grimshaw 2012, sections 4.3 and 6.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from gravel.kernels.bfs.cuda.parts import gather_number
from gravel.kernels.partition.options import BARRIER_SECONDS, check_barrier_seconds


@dataclass(frozen=True)
class StripedOptions:
    """Which neighbours are dropped before they are sent; raises ValueError for what cannot be.

    Nothing here changes distances; predecessors only as the bitmask says.
    """

    bitmask: bool = True
    """Drop vertices that this rank has sent, or found, before: a bit for every vertex of the graph. On GPUs
    whoever sends a vertex first sends its own predecessor, so that any may stand where the smallest would."""
    local_duplicates: bool = True
    """Drop vertices that were among the last gathered, as a hashed history of them tells."""
    history: int = 1024
    """Entries of that history, a power of two; 1,024 take 8 KiB, a quarter of a common L1 cache, and are the
    most on GPUs, where every block has one."""
    warp_duplicates: bool = True
    """On GPUs, with `local_duplicates`: drop also what another lane of the warp gathered at the same time."""
    gather: str = "scan_warp_cta"
    """On GPUs: how rows are read (section 4.1): serial, warp, scan or scan_warp_cta."""

    barrier_seconds: float = BARRIER_SECONDS
    """How long a rank on a GPU waits for the others at a barrier before the search is given up."""

    UNREAD: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "cpu": ("warp_duplicates", "gather", "barrier_seconds")
    }
    """Options without effect, by what the ranks are."""

    def __post_init__(self) -> None:
        if self.history < 1 or self.history & (self.history - 1):
            raise ValueError(f"history is {self.history}; it is a power of two")
        gather_number(self.gather)
        check_barrier_seconds(self.barrier_seconds)
