"""The Graph500 benchmark in a report: its output block, and which of its rules were kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gravel.stages.sections.graph500.block import RANKED, fields, plain, run_of
from gravel.stages.sections.graph500.rules import RULE, SPECIFICATION, told_rules

if TYPE_CHECKING:
    from gravel.stages.artifacts import Measurement

OUTPUT = "Graph500 output"
RULES = "Graph500 rules"


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
        {
            "kind": "table",
            "title": OUTPUT,
            "about": (
                f"Fields and statistics of the reference code 3.0 and the {SPECIFICATION}: times in seconds, "
                f"nedge and TEPS of the {RULE}. `gravel report --format graph500` prints the block."
            ),
            "columns": ["field", *blocks],
            "rows": [
                [name, *(plain(block[name]) for block in blocks.values())]
                for name in next(iter(blocks.values()))
            ],
        },
        {
            "kind": "table",
            "title": RULES,
            "about": f"What the {SPECIFICATION} asks, and what was done.",
            "columns": ["rule", "run", "what was done"],
            "rows": [row for name in next(iter(rules.values())) for row in _told(name, rules)],
        },
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
