"""What can be chosen about a search over ranks (Pan, Pearce, Owens 2018, sections IV-B, V and VI)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from gravel.kernels.partition.reductions import ALGORITHMS, Algorithm

OPTIMIZED = ("nd", "dn", "dd")
"""Subgraphs whose direction a rank decides; nn is expanded forward.

On GPUs that read each other's memory nn has a direction too, the same for all ranks: backward where the
frontier has more vertices with nn arcs than what is not seen."""


BARRIER_SECONDS = 20.0
"""Ranks wait at most for a level of the slowest one. One that reads 140 GB of columns over a link of 51 GB/s
takes 3 s; the rest is for a host that is busy."""

MAX_BARRIER_SECONDS = 3600.0
"""A GPU that waits keeps all its multiprocessors busy: nobody wants that for longer than an hour."""


TWO_WAYS = {
    "reduction": ("blocking", "overlapped"),
    "predecessors": ("any", "smallest"),
    "bitmask": ("exact", "best_effort"),
    "bins": ("atomic", "prefix_sum"),
}
"""Options that are one of two words."""

CULLING = ("local_duplicates", "bitmask", "bins")
"""Options by which nn arcs are culled and sorted as Merrill, Garland and Grimshaw do, and counted."""


@dataclass(frozen=True)
class SearchOptions:
    """Options by the names of the paper's section VI, and the direction-switching factors.

    A visit turns backward when its counted forward work is above `*_backward` times the estimated backward
    work, and forward again when it is below `*_forward` times that. The estimate takes parents to be anywhere
    in a row; on GPUs delegates with most arcs come first, and a parent is found soon. So
    the factors are small; docs/tuning.md has what supports them. A turn back takes a
    tenth of what a turn there takes, so that no visit swings.

    Raises ValueError for what cannot be.
    """

    direction_optimized: bool = True
    """DO; a graph that is not symmetric is searched forward in any case."""
    local_all_to_all: bool = False
    """L: vertices for a rank of another group go there by way of the member with its place in this group."""
    uniquify: bool = False
    """U: no vertex is sent to a rank twice in a level."""
    bitmask: Literal["exact", "best_effort"] = "exact"
    """How GPUs set the bits by which `uniquify` tells: by atomics, or by reading and writing bytes (Merrill,
    Garland, Grimshaw 2012, section 6.1), so that some are lost and vertices sent again. On CPUs a rank is one
    thread: it sorts each level by itself, or with `best_effort` has a bit for each vertex, and loses none."""
    bins: Literal["atomic", "prefix_sum"] = "atomic"
    """How GPUs find places for what they send: by an atomic of each warp, or by a prefix sum over a block's
    counts by owner, as that paper's radix sort does, and an atomic of each block. CPUs always count first."""
    local_duplicates: bool = False
    """Drop ends of nn arcs that were gathered shortly before in the same level, as a history of 1,024 tells;
    on GPUs each block has one, and also drops what another lane of the warp gathered at the same time."""
    reduction: Literal["blocking", "overlapped"] = "overlapped"
    """BR waits for the delegates before it visits normal vertices; IR does so after they are exchanged."""
    reduction_algorithm: Algorithm = "all_gather"
    """How masks are joined (`gravel.kernels.partition.reductions`): every rank takes all others', or along a
    tree, as section V-A assumes, or by recursive doubling, as MPI libraries do. NCCL ranks choose by size."""
    changed_only: bool = True
    """Send only those words of a mask that changed, and nothing where none did."""
    nn_directed: bool = True
    """Whether nn has a direction too, on GPUs that read each other's memory; in the paper it has none."""
    predecessors: Literal["any", "smallest"] = "any"
    """Any that there is, or the smallest delegate, the same for all ranks and options. GPUs that read each
    other's memory are faster with any; all else takes the smallest in any case."""
    groups: int = 0
    """Hosts that the ranks are taken to be on, for L and a reduction in two phases; 0 for neither."""
    message_bytes: int = 0
    """Bytes of normal vertices that a message has at most; longer lists go in several. 0 sends each whole.
    Section VI-A1 found about 4 MB the best for data of more than 2 MB."""
    barrier_seconds: float = BARRIER_SECONDS
    """How long a rank on a GPU waits for the others at a barrier, over NCCL within a level, before the search
    is given up."""
    nd_backward: float = 0.01
    dn_backward: float = 0.01
    dd_backward: float = 0.01
    nd_forward: float = 0.001
    dn_forward: float = 0.001
    dd_forward: float = 0.001

    UNREAD: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "cpu": ("nn_directed", "predecessors", "barrier_seconds", "bins"),
        "peer": ("reduction", "changed_only", "message_bytes"),
        "nccl": ("reduction_algorithm", "nn_directed", "predecessors", "bitmask", "bins", "local_duplicates"),
    }
    """Options without effect between CPUs, between GPUs that read each other's memory, and over NCCL."""

    def __post_init__(self) -> None:
        for name, both in TWO_WAYS.items():
            if getattr(self, name) not in both:
                one, other = both
                raise ValueError(f"{name} is {getattr(self, name)!r}; it can be {one!r} or {other!r}")
        if self.reduction_algorithm not in ALGORITHMS:
            known = ", ".join(map(repr, ALGORITHMS))
            raise ValueError(f"reduction_algorithm is {self.reduction_algorithm!r}; it can be {known}")
        if self.message_bytes < 0 or self.message_bytes % 4:
            raise ValueError(
                f"message_bytes is {self.message_bytes}; it is a multiple of the 4 bytes of a vertex, "
                "or 0 for messages of any size"
            )
        if self.bitmask != "exact" and not self.uniquify:
            raise ValueError(f"bitmask {self.bitmask} says how uniquify tells; set uniquify, too")
        if self.groups < 0:
            raise ValueError(f"groups is {self.groups}; it is a number of hosts, or 0 for none")
        if self.local_all_to_all and not self.groups:
            raise ValueError("local_all_to_all exchanges within groups first; say how many `groups`")
        check_barrier_seconds(self.barrier_seconds)
        for name in OPTIMIZED:
            if not 0 <= self.forward(name) <= self.backward(name):
                raise ValueError(f"{name}_forward lies between 0 and {name}_backward")

    @property
    def culls(self) -> bool:
        """Whether any of `CULLING` is chosen."""
        return self.local_duplicates or self.bitmask != "exact" or self.bins != "atomic"

    def backward(self, name: str) -> float:
        """Give the factor from which on a subgraph is visited backward."""
        factor: float = getattr(self, f"{name}_backward")
        return factor

    def forward(self, name: str) -> float:
        """Give the factor under which a subgraph is visited forward again."""
        factor: float = getattr(self, f"{name}_forward")
        return factor


def check_barrier_seconds(seconds: float) -> None:
    """Raise ValueError for a limit that cannot be."""
    if not 0 < seconds <= MAX_BARRIER_SECONDS:
        raise ValueError(
            f"barrier_seconds is {seconds}; it is above 0 and at most {MAX_BARRIER_SECONDS:g}, and "
            f"{BARRIER_SECONDS:g} by default"
        )


def given_up(seconds: float) -> str:
    """Say that ranks gave up after so many seconds, and what to do."""
    return (
        f"a rank waited for the others at a barrier for {seconds:g} s, and the search was given up: if they "
        "are only slow, as under a debugger, allow more by tuning: {barrier_seconds: SECONDS}; else a GPU or "
        "its process has failed, which its log says"
    )


@dataclass(frozen=True)
class PathOptions:
    """Options of a search by weights over ranks on CPUs. Raises ValueError for what cannot be."""

    UNREAD: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Every option has an effect wherever such ranks are."""

    width: float = 0.0
    """How many mean weights a bucket is wide; 0 chooses by the mean degree, as on one machine."""

    def __post_init__(self) -> None:
        """Check the width."""
        if not self.width >= 0:
            raise ValueError(f"width is {self.width}; it must be above 0, or 0 for a choice by the graph")
