"""Whether most arcs are at about one distance from a source, so that rows in the order of weights pay."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gravel.kernels.sssp.weights import WeightedRows

CONCENTRATED = 0.7
"""Share of arcs in two neighbouring buckets from which on ordered rows pay. On a CPU, with 0.92 to 0.95 on
Kronecker 16 and 18, 0.9 on soc-Slashdot0902 and 0.75 to 0.79 on ego-Twitter a search takes 0.23 to 0.55 of
the time, with 0.32 on cnr-2000 1.8 of it: `python -m tests.benchmarks.measures --only weighted`."""

FEWEST_ARCS = 6
"""Arcs of a vertex, on average, from which on they do: with 4, on a random graph of 2^16 vertices, distances
take 4.4 ms instead of 3.1 on one CPU thread, with 8 on one of 2^17 9.7 ms instead of 20.9:
`python -m tests.benchmarks.sssp random16:2 random17:4 --as-they-are --threads 1 --processor-time`."""

BUCKETS = 1 << 16
"""Counted apart; where there are more, some share a counter, of graphs whose arcs are spread over many."""


def is_share_of_most(rows: WeightedRows, arcs: int, most: int) -> bool | None:
    """Whether `most` arcs of two neighbouring buckets are `CONCENTRATED` of all, in a graph of enough arcs.

    None for a search whose vertices have `arcs`, too few to tell.
    """
    if rows.mean_degree < FEWEST_ARCS:
        return False
    return None if arcs < CONCENTRATED * rows.arcs else bool(most >= CONCENTRATED * rows.arcs)
