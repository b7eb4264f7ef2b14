"""What the rules of Graph500 ask, and what a run did, from its record."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from gravel.stages.graph500_parameters import EDGE_FACTOR, KEYS

if TYPE_CHECKING:
    from gravel.stages.artifacts import Measurement

SPECIFICATION = "Graph500 specification 2.0 (20 June 2017, graph500.org/?page_id=12)"

RULE = "input edge tuples within the component traversed, counting any multiple edges and self-loops"
"""What TEPS count (section 9.2)."""


NARROW = 32
"""Bits of the number of a vertex, of graphs with fewer than 2^32 of them."""


def lacking(one: Measurement) -> list[str]:
    """List what differs from a run by the rules."""
    found = []
    if len(one.searches) != KEYS:
        found.append(f"{len(one.searches)} searches, and {KEYS} are asked for")
    if one.benchmark["edge_factor"] != EDGE_FACTOR:
        found.append(f"edgefactor {one.benchmark['edge_factor']}, and {EDGE_FACTOR} is asked for")
    if not one.benchmark["prepared_within_searches"]:
        found.append("what a search builds from degrees was built before the searches, and not in each")
    if one.graph["vertices"] < 1 << NARROW:
        found.append(f"vertices are numbered with {NARROW} bits, and 48 at least are asked for (section 3.2)")
    found.append("the predecessor of the key is -1, and the key itself is asked for (section 6.2)")
    return found


def told_rules(one: Measurement) -> dict[str, str]:
    """Say for each rule what was done."""
    benchmark, searches = one.benchmark, one.searches
    edge_factor = benchmark["edge_factor"]
    return {
        "Edge list (section 3)": (
            f"{benchmark['input_edges']:,} tuples of a Kronecker graph, A 0.57, B 0.19, C 0.19, "
            f"edgefactor {edge_factor}. Other random numbers than the official generator's, so another "
            "graph of the same kind: vertices are scrambled by a bijection, not a shuffled table, and each "
            "tuple is drawn by its number alone, so that their order is random without a shuffle."
        ),
        "Kernel 1 (section 4)": (
            f"{benchmark['construction']} on {one.backend}, from the list in memory to sorted rows in "
            "memory; it also finds the number of vertices. Multiple edges and self-loops are left out of the "
            "rows, as section 3.2 allows. Generation is timed apart."
        ),
        "Search keys (section 5)": (
            f"{len(searches):,}, drawn uniformly among vertices with another neighbour than themselves, "
            "without repeats; not timed."
        ),
        "Kernel 2 (section 6)": (
            f"{one.ran['function']} on {one.hardware}, one search at a time, for predecessors."
        ),
        "Structures from degrees (section 9.1)": _structures(one),
        "Edges of TEPS (section 9.2)": f"{RULE[0].upper()}{RULE[1:]}: counted in the list for each search.",
        "Validation (section 8)": (
            "Each search, on the list itself: 1 the tree has no cycle, 3 edges join levels that differ by at "
            "most one, 4 the tree spans a component, 5 tree edges are in the list. 2 holds by construction, "
            "as levels are counted along the tree."
        ),
        "Processes": f"{benchmark['processes']}, on {one.hardware}.",
        "Not by the rules": "; ".join(lacking(one)),
    }


def _structures(one: Measurement) -> str:
    within = one.benchmark["prepared_within_searches"]
    order = "The vertices keep the generator's numbers: there is no order by degree."
    if within:
        setup = median(search["setup_milliseconds"] for search in one.searches)
        whole = median(search["milliseconds"] for search in one.searches)
        return (
            f"Built within each search: {within:,} searches were prepared anew, all that they keep "
            f"beside the rows, in {setup:.3g} ms of {whole:.3g} (medians). {order}"
        )
    return (
        f"Not built within each search: what the search keeps beside the rows was prepared once, in "
        f"{one.prepare_milliseconds:.3g} ms, which construction_time has. {order}"
    )
