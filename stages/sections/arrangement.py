"""In which order a page shows the sections of a report, and which it leaves to `report.json`.

Each section has a `part`: "answer", "results", "details" (folded), or "data", which says in another shape
what a section on the page says already.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gravel.stages.sections.rates import EDGE_RATE

ANSWERING = (
    "Strong scaling with",
    "Weak scaling with",
    "Launch sizes",
    "Strategies side by side",
    "Times by order and layout",
    "Median ms along",
    "Median ms over",
    "Times side by side",
    "Rates over stripes with more ranks",
    "Component sizes of",
    "Distribution of",
    "Rate over sources",
    "Frontiers of each graph",
    "Frontier of",
    "Time of messages",
    "Fused or apart",
    "Degrees of",
    "Sparsity of",
)
"""How titles of figures begin, of which the first that a report has stands beside its answer."""

RESULTS = (
    "Graph500 output",
    "Graph500 rules",
    "Printed in ",
    "Experiments",
    "Times of strong scaling",
    "Times of weak scaling",
    "What is best for each algorithm",
    "auto against the best",
    "Beside ",
    "Claims of the papers",
    "Traversal times and rates",
    "Every strategy on every graph",
    "Batches of searches",
    "Sources over workers",
    "Searches over ranks",
    "Geometric means as the paper takes them",
    "Communication volume by formula",
    "Searches over stripes",
    "Ranks with columns in host memory",
    "Redundant expansion by culling",
    "Launch sizes",
    "What each step of FlexBFS changes",
    "Connected components",
    "Top vertices",
    "Centralities",
    "Batches of centralities",
    "Distribution of",
    "Time by batch",
    "Repeated measurements",
    "Links between ranks",
    "Hardware counters of searches",
    "Parts of a search alone",
    "Repeated probes",
    "Fused or apart",
    f"{EDGE_RATE} along",
    "Bits per arc over",
    "Bits per arc by order and layout",
    "Where searches over ranks spend their time",
    "Rates over stripes",
    "Spread of the repetitions",
    "Rate of messages",
    "Not run on this machine",
)
"""How titles begin of sections that are results, in the order of the page; all others are details."""

SAME = {
    "Every strategy on every graph": ("Experiments",),
    "Arc rates": ("Experiments", "Every strategy on every graph"),
    "Times side by side": ("Strong scaling with", "Weak scaling with", "Times by order and layout"),
    "Strategies side by side": ("Times by order and layout",),
    "Median ms over": ("Strategies side by side", "Times by order and layout"),
    "Bits per arc over": ("Bits per arc by order and layout",),
    "Bits per arc": ("Bits per arc by order and layout", "Bits per arc over"),
    "What an order does": ("Times by order and layout",),
    "Vertex orders": ("Compression by order",),
    "Layouts": ("Compression by order",),
    "Graphs": ("Graphs searched",),
    "Every repetition": ("Spread of the repetitions",),
}
"""Titles, whole or how they begin, of sections that say what one of others says, if the report has it."""

BESIDE = {"Traversal times and rates": ("Experiments", "Every strategy on every graph")}
"""Titles of results that are details where the report has one of others, whose figures they tell further."""

EXACT = ("Bits per arc", "Graphs", "Layouts")
"""Titles of `SAME` that have to be whole."""


def arranged(sections: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give every section its part, and put them in the order of the page; answers come first."""
    titles = [section["title"] for section in sections if not _is_plain(section)]
    figures = [section for section in sections if section["kind"] == "figure" and "chart" in section]
    chart = next(
        (each for start in ANSWERING for each in figures if each["title"].startswith(start)),
        None,
    )
    told = [
        {**section, "part": "answer" if section is chart else _part(section, titles, sections)}
        for section in sections
    ]
    return sorted(told, key=_rank)


def _is_plain(section: dict[str, Any]) -> bool:
    """Tell whether a table of experiments has no comparison, which is then found elsewhere."""
    return section["title"] == "Experiments" and "standing" not in section["columns"]


def _part(section: dict[str, Any], titles: Sequence[str], sections: Sequence[dict[str, Any]]) -> str:
    if section["kind"] == "answer":
        return "answer"
    title = section["title"]
    for start, others in SAME.items():
        same = title == start if start in EXACT else title.startswith(start)
        if same and any(each.startswith(other) and each != title for other in others for each in titles):
            return "data"
    if title == "Experiments" and any(
        each["title"].startswith("Times of ") and len(each["rows"]) == len(section["rows"])
        for each in sections
        if each["kind"] == "table"
    ):
        return "data"
    if any(other in titles for other in BESIDE.get(title, ())):
        return "details"
    # What did not pass is no detail.
    if title == "Checks that did not pass" or "FAILED" in _words(section):
        return "results"
    return "results" if title.startswith(RESULTS) else "details"


def _words(section: dict[str, Any]) -> set[str]:
    return {cell for row in section.get("rows", ()) for cell in row if isinstance(cell, str)}


def _rank(section: dict[str, Any]) -> tuple[int, int, int]:
    part = ("answer", "results", "details", "data").index(section["part"])
    place = next(
        (number for number, start in enumerate(RESULTS) if section["title"].startswith(start)), len(RESULTS)
    )
    return part, 0 if section["kind"] == "answer" else 1, place if section["part"] == "results" else 0
