"""The Graph500 benchmark in a report: its output block, and which of its rules were kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from gravel.stages.graph500_parameters import EDGE_FACTOR, KEYS
from gravel.stages.sections.graph500.block import RANKED, fields, plain, run_of
from gravel.stages.sections.section import Section, table

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


def graph500_sections(members: Sequence[tuple[str, Measurement]]) -> list[dict[str, Any]]:
    """Make the table of the output block, a column for each run, and that of the rules; none without runs."""
    runs = {label: one for label, one in members if one.benchmark.get("name") == "graph500"}
    if not runs:
        return []
    blocks = {
        label: fields(run_of(one.benchmark, one.prepare_milliseconds, one.searches))
        for label, one in runs.items()
    }
    rules = {label: told_rules(one) for label, one in runs.items()}
    return [
        table(
            "Graph500 output",
            f"Fields and statistics of the reference code 3.0 and the {SPECIFICATION}: times in seconds, "
            f"nedge and TEPS of the {RULE}. `gravel report --format graph500` prints the block.",
            ["field", *blocks],
            [
                [name, *(plain(block[name]) for block in blocks.values())]
                for name in next(iter(blocks.values()))
            ],
            result=0,
        ),
        table(
            "Graph500 rules",
            f"What the {SPECIFICATION} asks, and what was done.",
            ["rule", "run", "what was done"],
            [row for name in next(iter(rules.values())) for row in _told(name, rules)],
            result=10,
        ),
    ]


def graph500_facts(members: Sequence[tuple[str, Measurement]]) -> list[list[str]]:
    """Give the figure that ranks, with what it counts, for the answer of a report; none without runs."""
    told = []
    for label, one in members:
        if one.benchmark.get("name") == "graph500":
            rate = fields(run_of(one.benchmark, one.prepare_milliseconds, one.searches))[RANKED] / 1e9
            when = "within each search" if one.benchmark["prepared_within_searches"] else "once before all"
            told.append(f"{label}: {rate:.3g}, with what is built from degrees built {when}")
    if not told:
        return []
    text = f"GTEPS (input list, multiple edges and self-loops included), harmonic means: {'; '.join(told)}."
    return [["Graph500", text]]


def _told(name: str, rules: Mapping[str, Mapping[str, str]]) -> list[list[str]]:
    """Make a row for each run, or one where all runs did the same."""
    texts = {label: told[name] for label, told in rules.items()}
    if len(texts) > 1 and len(set(texts.values())) == 1:
        return [[name, "all", next(iter(texts.values()))]]
    return [[name, label, text] for label, text in texts.items()]


SECTIONS = (Section(rank=20, make=graph500_sections, kinds=("Measurement",)),)
