"""Searches of many levels in a table: what a picture of so many levels cannot be read for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gravel.stages.charts import MAX_SINGLE_LEVELS
from gravel.stages.sections.rates import quartile

COLUMNS = (
    "run",
    "in a level",
    "levels",
    "first",
    "least",
    "first quartile",
    "median",
    "third quartile",
    "most",
    "in level",
    "last",
)


def level_table(title: str, searches: Mapping[str, Mapping[str, Sequence[float]]]) -> dict[str, Any] | None:
    """Make the table of what levels take and hold, for searches of more levels than a picture tells apart.

    `searches` lead from a run to its quantities, each a value for every level. Returns None where all
    searches are short.
    """
    rows = [
        [run, name, *_summary(values)]
        for run, quantities in searches.items()
        for name, values in quantities.items()
        if len(values) > MAX_SINGLE_LEVELS
    ]
    if not rows:
        return None
    return {
        "kind": "table",
        "title": title,
        "about": (
            f"Searches of more than {MAX_SINGLE_LEVELS} levels: the first level, the last, and the "
            "distribution over all levels. Charts of them show levels at even distances."
        ),
        "columns": list(COLUMNS),
        "rows": rows,
    }


def _summary(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    most = max(range(len(values)), key=values.__getitem__)
    quartiles = [quartile(ordered, place) for place in (1, 2, 3)]
    return [len(values), values[0], ordered[0], *quartiles, ordered[-1], most, values[-1]]
