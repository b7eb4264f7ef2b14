"""The Graph500 benchmark in a report: its output block, and which of its rules were kept."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from gravel.stages.artifacts import Measurement
from gravel.stages.graph500_parameters import EDGE_FACTOR, KEYS
from gravel.stages.sections.section import Made, Runs, Section, table

ORDERS = ("min", "firstquartile", "median", "thirdquartile", "max")


def order_statistics(values: Sequence[float]) -> list[float]:
    """Return the least, the quartiles and the greatest; a quartile is the mean of the two nearest."""
    ordered, last = sorted(values), len(values) - 1
    return [
        ordered[0],
        (ordered[last // 4] + ordered[len(values) // 4]) / 2,
        (ordered[last // 2] + ordered[len(values) // 2]) / 2,
        (ordered[last - last // 4] + ordered[last - len(values) // 4]) / 2,
        ordered[last],
    ]


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and the sample's standard deviation, which is no number for a single value."""
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return mean, math.nan
    return mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def harmonic_mean_and_error(slowness: Sequence[float]) -> tuple[float, float]:
    """Return the harmonic mean of rates, given as seconds per edge, and its standard error.

    The error is that of N. Norris, The Annals of Mathematical Statistics 11 (1940), p. 445: s / (m^2
    sqrt(n - 1)) with mean m and standard deviation s of the seconds per edge.
    """
    mean, deviation = mean_and_deviation(slowness)
    error = deviation / (mean**2 * math.sqrt(len(slowness) - 1)) if len(slowness) > 1 else math.nan
    return 1 / mean, error


RANKED = "bfs  harmonic_mean_TEPS"
"""The field that ranks, which the reference code marks."""

UNKNOWN = -1.0
"""What stands for a validation time that is not known, as in the reference code without validation."""


@dataclass(frozen=True)
class Run:
    """Values of a block; times are in seconds, a list has a value for each search."""

    scale: int
    edge_factor: float
    generation: float | None
    processes: int
    construction: float
    times: Sequence[float]
    edges: Sequence[int]
    validations: Sequence[float]  # or none where they were not timed one by one
    mean_validation: float = UNKNOWN


def fields(run: Run) -> dict[str, float]:
    """Give the fields by name, in the order of the reference code."""
    found: dict[str, float] = {"SCALE": run.scale, "edgefactor": run.edge_factor, "NBFS": len(run.times)}
    if run.generation is not None:
        found["graph_generation"] = run.generation
    found |= {"num_mpi_processes": run.processes, "construction_time": run.construction}
    found |= _statistics("bfs  ", "time", run.times)
    found |= _statistics("", "nedge", run.edges)
    slowness = [time / max(count, 1) for time, count in zip(run.times, run.edges, strict=True)]
    rates = [1 / value for value in reversed(order_statistics(slowness))]
    found |= {f"bfs  {name}_TEPS": rate for name, rate in zip(ORDERS, rates, strict=True)}
    found[RANKED], found["bfs  harmonic_stddev_TEPS"] = harmonic_mean_and_error(slowness)
    if run.validations:
        return found | _statistics("bfs  ", "validate", run.validations)
    names = (*ORDERS, "mean", "stddev")
    return found | {
        f"bfs  {name}_validate": run.mean_validation if name == "mean" else UNKNOWN for name in names
    }


def _statistics(label: str, unit: str, values: Sequence[float]) -> dict[str, float]:
    named = zip(
        (*ORDERS, "mean", "stddev"), (*order_statistics(values), *mean_and_deviation(values)), strict=True
    )
    return {f"{label}{name}_{unit}": value for name, value in named}


def lines(found: Mapping[str, float]) -> list[str]:
    """Lay the fields out as the reference code prints them."""
    return [_line(name, value) for name, value in found.items()]


def printed(name: str, value: float) -> str:
    """Print a value with as many digits as the reference code does."""
    return f"{value:.11g}" if name.endswith("_nedge") else f"{value:.6g}"


def _line(name: str, value: float) -> str:
    start = f"{name}:".ljust(32)
    if name == RANKED:
        start = f"{start[:29]}!{start[30:]}"
    return start + printed(name, value)


def run_of(benchmark: Mapping[str, Any], prepared: float, searches: Sequence[Mapping[str, Any]]) -> Run:
    """Take what a `graph500` stage measured; `prepared` are the milliseconds before its searches."""
    return Run(
        scale=benchmark["scale"],
        edge_factor=benchmark["edge_factor"],
        generation=benchmark["generation_milliseconds"] / 1e3,
        processes=benchmark["processes"],
        construction=(benchmark["construction_milliseconds"] + prepared) / 1e3,
        times=[search["milliseconds"] / 1e3 for search in searches],
        edges=[search["input_edges"] for search in searches],
        validations=[search["validate_milliseconds"] / 1e3 for search in searches],
    )


def plain(value: float) -> float | None:
    """Remove what JSON does not have."""
    return value if math.isfinite(value) else None


SPECIFICATION = "Graph500 specification 2.0 (20 June 2017, graph500.org/?page_id=12)"

RULE = "input edge tuples within the component traversed, counting any multiple edges and self-loops"
"""What TEPS count (section 9.2)."""


NARROW = 32
"""Bits of the number of a vertex, of graphs with fewer than 2^32 of them."""


def lacking(one: Measurement) -> list[str]:
    """List what differs from a run by the rules."""
    found = []
    if len(one.searches) != KEYS:
        found.append(f"{len(one.searches)} searches; {KEYS} are required")
    if one.benchmark["edge_factor"] != EDGE_FACTOR:
        found.append(f"edgefactor {one.benchmark['edge_factor']}; {EDGE_FACTOR} is required")
    if not one.benchmark["prepared_within_searches"]:
        found.append("structures from degrees were built once before the searches, not in each search")
    if one.graph["vertices"] < 1 << NARROW:
        found.append(f"vertices are numbered with {NARROW} bits; at least 48 are required (section 3.2)")
    found.append("the predecessor of the key is -1; the key itself is required (section 6.2)")
    return found


def rule_texts(one: Measurement) -> dict[str, str]:
    """Say for each rule what was done."""
    benchmark, searches = one.benchmark, one.searches
    edge_factor = benchmark["edge_factor"]
    return {
        "Edge list (section 3)": (
            f"{benchmark['input_edges']:,} tuples of a Kronecker graph, A 0.57, B 0.19, C 0.19, edgefactor "
            f"{edge_factor}. Other random numbers than the official generator's, so another graph of the "
            "same kind: vertices are scrambled by a bijection, not a shuffled table, and each tuple is drawn "
            "by its number alone, so that their order is random without a shuffle."
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
            f"Built within each search: {within:,} searches were prepared anew, all that they keep beside "
            f"the rows, in {setup:.3g} ms of {whole:.3g} (medians). {order}"
        )
    return (
        "Not built within each search: what the search keeps beside the rows was prepared once, in "
        f"{one.prepare_milliseconds:.3g} ms, which construction_time has. {order}"
    )


def graph500_sections(members: Runs) -> list[Made]:
    """Make the table of the output block, a column for each run, and that of the rules; none without runs."""
    runs = {label: one for label, one in members if one.benchmark.get("name") == "graph500"}
    if not runs:
        return []
    blocks = {
        label: fields(run_of(one.benchmark, one.prepare_milliseconds, one.searches))
        for label, one in runs.items()
    }
    rules = {label: rule_texts(one) for label, one in runs.items()}
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
            [row for name in next(iter(rules.values())) for row in _rule_rows(name, rules)],
            result=10,
        ),
    ]


def graph500_facts(members: Runs) -> list[list[str]]:
    """Give the figure that ranks, with what it counts, for the answer of a report; none without runs."""
    texts = []
    for label, one in members:
        if one.benchmark.get("name") == "graph500":
            rate = fields(run_of(one.benchmark, one.prepare_milliseconds, one.searches))[RANKED] / 1e9
            when = (
                "within each search"
                if one.benchmark["prepared_within_searches"]
                else "once before all searches"
            )
            texts.append(f"{label}: {rate:.3g}, structures from degrees built {when}")
    if not texts:
        return []
    text = f"GTEPS (input list, multiple edges and self-loops included), harmonic means: {'; '.join(texts)}."
    return [["Graph500", text]]


def _rule_rows(name: str, rules: Mapping[str, Mapping[str, str]]) -> list[list[str]]:
    """Make a row for each run, or one where all runs did the same."""
    texts = {label: texts_by_rule[name] for label, texts_by_rule in rules.items()}
    if len(texts) > 1 and len(set(texts.values())) == 1:
        return [[name, "all", next(iter(texts.values()))]]
    return [[name, label, text] for label, text in texts.items()]


SECTIONS = (Section(rank=20, make=graph500_sections, kinds=("Measurement",)),)
