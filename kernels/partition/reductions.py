"""Which rank takes whose mask in which round of a reduction (Pan, Pearce, Owens 2018, section V-A).

A reduction is a list of rounds. In a round every rank ORs the masks of some ranks, as they were when the
round began, into its own; after the last round all ranks have the OR of all masks.

==================  =========================================  ====================  ======================
algorithm           rounds of p ranks                          masks that are sent   where it is from
==================  =========================================  ====================  ======================
all_gather          1                                          p (p - 1)             gravel's default
tree                2 ceil(log2 p)                             2 (p - 1)             section V-A: "in a
                                                                                     tree-like manner"
recursive_doubling  log2 p; 2 more unless p is a power of two  p log2 p, or          what MPI libraries do
                                                               k log2 k + 2 (p - k)  for MPI_Allreduce
==================  =========================================  ====================  ======================

for the largest power of two k up to p. With groups a reduction has the paper's two phases: the ranks of a
group send to its first one ("GPU0"), the first ranks reduce among each other by the algorithm, and each hands
the result to its group. NumPy arrays and kernels follow the same rounds (`cuda/staged.cuh`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

Algorithm = Literal["all_gather", "tree", "recursive_doubling"]
ALGORITHMS: tuple[Algorithm, ...] = ("all_gather", "tree", "recursive_doubling")

Round = tuple[tuple[int, ...], ...]
"""For every rank the ranks whose masks it takes."""

_Senders = Mapping[int, tuple[int, ...]]
"""The same for those ranks, or places, that take any."""


def reduction_rounds(algorithm: Algorithm, ranks: int, groups: int = 0) -> tuple[Round, ...]:
    """List the rounds of a reduction among `ranks`, in so many equal groups; 0 for none.

    Raises ValueError for an unknown algorithm and for groups that would not be equal.
    """
    if algorithm not in ALGORITHMS:
        raise ValueError(
            f"reduction_algorithm is {algorithm!r}; it can be {', '.join(map(repr, ALGORITHMS))}"
        )
    if groups < 0 or (groups and ranks % groups):
        raise ValueError(f"{ranks} ranks do not make {groups} equal groups")
    if not groups:
        return _among(algorithm, range(ranks), ranks)
    members = ranks // groups
    leaders = range(0, ranks, members)
    if members == 1:
        return _among(algorithm, leaders, ranks)
    up: _Senders = {leader: tuple(range(leader + 1, leader + members)) for leader in leaders}
    down: _Senders = {mate: (leader,) for leader in leaders for mate in up[leader]}
    return (_round(up, ranks), *_among(algorithm, leaders, ranks), _round(down, ranks))


def receivers(messages: Round, rank: int) -> tuple[int, ...]:
    """Tell who takes the mask of a rank in a round."""
    return tuple(other for other, senders in enumerate(messages) if rank in senders)


def _round(messages: _Senders, ranks: int) -> Round:
    return tuple(messages.get(rank, ()) for rank in range(ranks))


def _among(algorithm: Algorithm, some: Sequence[int], ranks: int) -> tuple[Round, ...]:
    """Reduce among some of the ranks."""
    count = len(some)
    if count < 2:
        return ()
    if algorithm == "all_gather":
        found: list[_Senders] = [
            {place: tuple(other for other in range(count) if other != place) for place in range(count)}
        ]
    else:
        found = _tree(count) if algorithm == "tree" else _recursive_doubling(count)
    return tuple(
        _round({some[place]: tuple(some[other] for other in others) for place, others in each.items()}, ranks)
        for each in found
    )


def _tree(count: int) -> list[_Senders]:
    """Reduce along a binomial tree to the first place, and broadcast along it."""
    steps = [1 << power for power in range((count - 1).bit_length())]
    up: list[_Senders] = [
        {place: (place + step,) for place in range(0, count - step, 2 * step)} for step in steps
    ]
    down: list[_Senders] = [
        {place + step: (place,) for place in range(0, count - step, 2 * step)} for step in reversed(steps)
    ]
    return up + down


def _recursive_doubling(count: int) -> list[_Senders]:
    """Exchange between places that differ in one bit; those beyond a power of two join before and after."""
    power = 1 << count.bit_length() - 1
    beyond = range(power, count)
    steps = [1 << bit for bit in range(power.bit_length() - 1)]
    among: list[_Senders] = [{place: (place ^ step,) for place in range(power)} for step in steps]
    if not beyond:
        return among
    first: _Senders = {place - power: (place,) for place in beyond}
    return [first, *among, {place: (place - power,) for place in beyond}]
